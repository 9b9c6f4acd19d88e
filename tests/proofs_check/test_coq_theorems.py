"""Theorems in Coq: the statement says what the theorem says, and a theorem with a wrong constant is refused."""

import json
import shutil
from dataclasses import replace
from functools import cache
from itertools import accumulate

import pytest

from dpproof.proofs_check.coq import record
from dpproof.proofs_check.coq.claims import EXTRA, HEADS, Claims
from dpproof.proofs_check.coq.compiler import Lemma
from dpproof.proofs_check.coq.files import Part, built, packed
from dpproof.proofs_check.coq.formula import stated
from dpproof.proofs_check.coq.script import needs_extra
from dpproof.proofs_check.coq.theorem import TEMPLATES, written
from dpproof.proofs_check.kernel import check, goal_hash
from dpproof.proofs_check.kernel.certificate import DERIVATIONS
from dpproof.proofs_check.kernel.instances import theorem
from dpproof.proofs_check.registry import certificate_id, lookup, statements

needs_coq = pytest.mark.skipif(
    shutil.which("coqc") is None, reason="not cross-checked: coqc is not installed"
)
SMALL = [
    "classic.one_of_sum.goal", "classic.lebesgue_shift.goal", "classic.positive_part.goal", "eval.lemma15.goal",
    "classic.triangle.goal",
]  # fmt: skip
"""Small theorems that together use every rule."""

WHOLE = ["n", "integers [1, inf)"]
F, G, BOTH = (["nu", "y", x] for x in (["f", "y"], ["g", "y"], ["+", ["f", "y"], ["g", "y"]]))
COEFFICIENTS = {"arith": [], "proof": {"leaf": "positive"}}
EQUATION = {"arith": [], "proof": {"leaf": "identity"}}
MADE = {
    "first": (
        {
            "functions": {"f": {"takes": ["integers"], "gives": "real"}},
            "goal": {
                "all": [WHOLE],
                "then": [
                    "==",
                    ["sum", "i", "1", "n", ["f", "i"]],
                    ["+", ["f", "1"], ["sum", "i", "2", "n", ["f", "i"]]],
                ],
            },
        },
        {
            "fix": ["n"], "assume": [], "sub": {
                "sum": ["sum", "i", "1", "n", ["f", "i"]], "kind": "first", "as": "parts",
                "proofs": [COEFFICIENTS, {"same": {}}], "sub": {"exact": "parts"},
            },
        },
        ("\"2\"", "\"3\""),
    ),
    "absurd": (
        {"goal": {"all": [["x", "[2, inf)"]], "if": [[">=", "1", "x"]], "then": ["==", "x", "5"]}},
        {
            "fix": ["x"], "assume": ["small"],
            "sub": {"absurd": {"arith": ["small"], "proof": {"leaf": "positive", "multipliers": [["1", 0]]}}},
        },
        ("\"1\"", "\"3\""),
    ),
    "linear": (
        {
            "sets": ["Y"],
            "functions": {x: {"takes": ["Y"], "gives": "[0, inf)"} for x in "fg"},
            "integrals": {"nu": {"takes": [], "over": "Y"}},
            "given": {"one": [">=", "2", F], "two": [">=", "1", G]},
            "goal": [">=", "3", BOTH],
        },
        {
            "dominated": BOTH, "by": ["+", F, G], "index": "z", "below": COEFFICIENTS, "above": EQUATION, "as": "on",
            "sub": {
                "integrate": [">=", ["+", F, G], BOTH], "over": ["nu"], "index": "z", "conditions": [],
                "proof": EQUATION, "as": "sum", "sub": {
                    "arith": ["one", "two", "sum"],
                    "proof": {"leaf": "positive", "multipliers": [["1", 0], ["1", 1], ["1", 2]]},
                },
            },
        },
        ("\"3\"", "\"2\""),
    ),
}  # fmt: skip
"""Theorems that together use the rules that the small ones do not, with proofs, and what makes them false."""
REFUTED = "ucb.lemma5_1.privacy.levels.base_two"
"""A small theorem that an instance refutes."""


@cache
def claims():
    return Claims()


def text(data, line=False):
    return " ".join(stated(theorem(data), line).text.split())


def test_a_hypothesis_says_that_its_integral_is_defined():
    said = text(
        {
            "sets": ["Y"],
            "functions": {"f": {"takes": ["Y"], "gives": "(0, 1]"}},
            "integrals": {"nu": {"takes": [], "over": "Y"}},
            "given": {"mean": [">=", "1", ["nu", "y", ["log", ["f", "y"]]]]},
            "goal": [">=", "1", "0"],
        }
    )
    assert "forall (S_Y : Type) (P_Y : S_Y -> Prop), (exists x, P_Y x) ->" in said
    assert "(forall b_0 : S_Y, (P_Y b_0) -> 0 < (f_f b_0)) ->" in said
    assert "(lawful (I_nu)) -> (forall y, pts (I_nu) y -> P_Y y) ->" in said
    assert "(on (I_nu) (fun i_0 : S_Y => (ln (f_f i_0)))) /\\" in said
    assert "(forall i_0 : S_Y, pts (I_nu) i_0 -> (0 < (f_f i_0))) /\\" in said


def test_a_sum_is_defined_between_its_ends_and_whole_numbers_stay_whole():
    said = text(
        {
            "functions": {"x": {"takes": ["integers"], "gives": "integers [0, 3]"}},
            "goal": {
                "all": [["n", "integers [1, inf)"]],
                "then": [">", "9", ["sum", "i", "1", "n", ["/", "1", ["x", "i"]]]],
            },
        }
    )  # fmt: skip
    assert "(forall b_0 : R, (whole b_0) -> whole (f_x b_0)) ->" in said
    assert "forall b_0 : R, (whole b_0) -> (1 <= b_0) ->" in said
    assert "(forall i_0 : R, whole i_0 -> 1 <= i_0 -> i_0 <= b_0 -> ((f_x i_0) <> 0)) /\\" in said
    assert said.endswith("((sumR 1 b_0 (fun i_0 : R => (1 / (f_x i_0)))) < 9)")


def test_the_line_is_quantified_and_has_only_the_laws_of_the_kernel():
    assert "lebesgue" not in text({"goal": [">=", "1", "0"]})
    said = text({"goal": [">=", "1", "0"]}, line=True)
    assert said.startswith("forall I_lebesgue : functional R, lawful I_lebesgue ->")
    assert said.count("val (I_lebesgue)") == 3 + 4  # three laws, and the shift with its hypothesis


@pytest.mark.slow
def test_a_refuted_theorem_is_exported_as_its_negation():
    found = claims()
    known = [x for entry in statements() if not entry.reason for x in found.own[entry.id]]
    refuted = [
        x for x in known if not found.is_arithmetic(x) and found.certificate(x)["verdict"] == "REFUTED"
    ]
    assert REFUTED in refuted
    for identity in refuted[:3]:
        held = {found.key(x): "part" for x in found.used(identity)}
        last = found.theorem(identity, held).lemmas[-1].statement
        plain = stated(theorem(found.all[identity]), lebesgue=False).text
        assert last.endswith(f"~ ({plain})")
        assert last.startswith("forall I_lebesgue" if found.line(identity) else "~")


@pytest.mark.slow
@needs_coq
def test_coq_refutes_a_theorem_and_not_a_true_one(coq_folder):
    found = claims()
    part = found.theorem(REFUTED, {})
    claim = {**found.all[REFUTED], "goal": {**found.all[REFUTED]["goal"], "then": [">=", "4", "1"]}}
    *arithmetic, last = part.lemmas
    true = replace(last, statement=f"~ ({stated(theorem(claim), lebesgue=False).text})")
    wrong = replace(part, name="wrong", lemmas=(*arithmetic, true), claims={})
    assert built([part, wrong], coq_folder, 200).keys() == {"wrong"}


def below(identity):
    """A theorem and all that its proof uses."""
    return {identity}.union(*map(below, claims().used(identity)))


def parts():
    found = claims()
    wanted = set().union(*map(below, SMALL))
    made, reasons = found.parts({found.key(x) for x in wanted if found.is_arithmetic(x)}, wanted)
    assert not reasons
    return made


def rules(node):
    if isinstance(node, dict):
        return (DERIVATIONS.keys() & node.keys()).union(*map(rules, node.values()))
    return set().union(*map(rules, node)) if isinstance(node, list) else set()


def mutated(part):
    """The file of a theorem with a false statement and the same proof."""
    identity = next(x for x in SMALL if claims().key(x) in part.claims)
    entry = next(e for e in [lookup(identity.rpartition(".")[0])])
    obligation = next(x for x in entry.obligations if certificate_id(entry, x) == identity)
    *arithmetic, last = part.lemmas
    wrong = stated(theorem(obligation.mutation), claims().line(identity)).text
    assert wrong != last.statement
    return replace(
        part, name=f"{part.name}_moved", lemmas=(*arithmetic, replace(last, statement=wrong)), claims={}
    )


@pytest.mark.slow
@needs_coq
def test_coq_proves_theorems_with_every_rule_and_refuses_them_with_a_wrong_constant(coq_folder):
    made = parts()
    proofs = [*(claims().certificate(x)["proof"] for x in SMALL), *(x[1] for x in MADE.values())]
    assert set().union(*map(rules, proofs)) >= TEMPLATES.keys()
    false = [mutated(x) for x in made if {*x.claims} & {claims().key(y) for y in SMALL}]
    assert len(false) == len(SMALL)
    wrong = built([*made, *false], coq_folder, 200)
    assert wrong.keys() == {x.name for x in false}


def made(name, claim, proof):
    """The file of a theorem with a proof that the kernel accepts."""
    certificate = {
        "v": 1, "id": name, "claim": claim, "claim_sha256": goal_hash(claim), "verdict": "PROVED", "prec": 80,
        "proof": proof,
    }  # fmt: skip
    assert check(certificate, claim).verdict == "PROVED"
    return Part(name, tuple(written(name, claim, certificate, {}, {}, {"": False}, extra=True)), (EXTRA,))


@pytest.mark.slow
@needs_coq
def test_rules_that_need_more_tactics_prove_a_theorem_and_not_a_false_one(coq_folder):
    heads, _ = claims().parts((), ())
    true, false = [], []
    for name, (claim, proof, (old, new)) in MADE.items():
        assert needs_extra(proof) or name == "absurd"
        true.append(made(name, claim, proof))
        wrong = stated(theorem(json.loads(json.dumps(claim).replace(old, new, 1))), lebesgue=False).text
        *arithmetic, last = true[-1].lemmas
        false.append(
            replace(true[-1], name=f"{name}_moved", lemmas=(*arithmetic, replace(last, statement=wrong)))
        )
    assert built([*heads, *true, *false], coq_folder, 200).keys() == {x.name for x in false}


def test_an_instance_may_name_a_function_like_a_node():
    assert not needs_extra({"apply": "demo.goal", "functions": {"leaf": {"is": "1"}}})
    assert needs_extra({"arith": [], "proof": {"leaf": "bernstein"}})


def test_packed_files_have_the_same_lemmas_and_need_only_earlier_files():
    head = Part("head", (), head="Definition x := 0.")
    few = [
        Part(
            f"p__{level}_{k}",
            (Lemma(f"l{level}{k}", "0 = 0", "lra."),),
            needs,
            {f"{level}{k}": f"l{level}{k}"},
        )
        for level, needs in enumerate([("head",), ("p__0_1",), ("p__1_2", "head")])
        for k in range(3)
    ]
    for size, files in ((10**6, 4), (1, 10)):
        found = packed([head, *few], size)
        assert len(found) == files
        assert sorted(x for part in found for x in part.claims.items()) == sorted(
            x for part in few for x in part.claims.items()
        )
        assert {x for part in found for x in part.lemmas} == {x for part in few for x in part.lemmas}
        before = list(accumulate(({x.name} for x in found), set.union, initial=set()))
        assert all({*part.needs} <= known for part, known in zip(found, before, strict=False))
        assert found[-1].needs[-1] == "head", "the tactics of a head must be imported last"


@pytest.mark.slow
@needs_coq
def test_a_file_that_did_not_change_is_not_compiled_again(coq_folder):
    first = Part("first", ())
    assert built([first, Part("second", (), ("first",))], coq_folder, 60) == {}
    before = {x.name: x.stat().st_mtime_ns for x in coq_folder.glob("*.vo")}
    assert before.keys() == {f"{x}.vo" for x in ("base", *HEADS, "first", "second")}
    assert built([first, Part("second", (), ("first",))], coq_folder, 60) == {}
    assert {x.name: x.stat().st_mtime_ns for x in coq_folder.glob("*.vo")} == before
    assert "it needs lost" in built([Part("third", (), ("lost",))], coq_folder, 60)["third"]


def test_a_statement_with_goals_needs_what_its_proofs_use(monkeypatch):
    entry, found = lookup("classic.adaptive_renyi"), claims()
    needed = {found.key(x) for x in below("classic.adaptive_renyi.goal")}
    assert len(needed) == 2
    monkeypatch.setattr(record, "recorded", lambda: dict.fromkeys(needed, "lemma"))
    assert record.status(entry, lookup) == record.CHECKED
    for missing in needed:
        monkeypatch.setattr(record, "recorded", lambda lost=missing: dict.fromkeys(needed - {lost}, "lemma"))
        assert record.status(entry, lookup) == record.NOT_CHECKED
