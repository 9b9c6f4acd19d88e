"""The export to Coq: what it writes is the claim, and a false claim, an axiom or a missing coqc is noticed.

Coq's text is read back by a small reader of its own and evaluated by mpmath; the kernel's enclosures are the
other route. Tests that run coqc are skipped where it is absent; `make coq` compiles the whole record.
"""

import math
import re
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest

from dpproof.proofs_check.certificates import stored
from dpproof.proofs_check.coq import __main__ as command
from dpproof.proofs_check.coq import compiler, expectations, export, record
from dpproof.proofs_check.coq.claims import ERFC, EXPECTED, EXTRA, HEADS
from dpproof.proofs_check.coq.compiler import CoqError, Lemma
from dpproof.proofs_check.coq.files import Part, built
from dpproof.proofs_check.coq.script import proof
from dpproof.proofs_check.kernel import arithmetic, goal_hash, load
from dpproof.proofs_check.kernel.expressions import evaluate, read
from dpproof.proofs_check.registry import as_json, certificate_id, lookup, statements, verify
from dpproof.proofs_check.statement import DEFINITION
from tests.proofs_check.hints import make_goal
from tests.verified import results

ROOT = Path(__file__).resolve().parents[2]
needs_coq = pytest.mark.skipif(
    shutil.which("coqc") is None, reason="not cross-checked: coqc is not installed"
)
POSITIVE = {"leaf": "positive"}
TABLE = {x.id: x for x in statements()}


def value(text, at):
    """A Coq term over the reals, evaluated by mpmath."""
    text = re.sub(r"\bln\b", "mpmath.log", re.sub(r"\b(exp|sqrt|erfc)\b", r"mpmath.\1", text))
    text = text.replace("PI", "mpmath.pi").replace("(/ ", "(1 / ").replace("^", "**")
    text = re.sub(r"(?<![\w.])(\d+)(?![\w.])", r"mpmath.mpf(\1)", text)
    text = re.sub(r"\*\* mpmath\.mpf\((\d+)\)", r"** \1", text)
    text = re.sub(r"mpmath\.(log|exp|sqrt|erfc) (?=\S)", r"mpmath.\1 @ ", text)
    return eval(_calls(text), {"mpmath": mpmath}, at)  # the text comes from the export under test


def _calls(text):
    """``f @ x`` as ``f(x)``: the argument is a bracketed term or one word."""
    while (start := text.rfind(" @ ")) >= 0:
        rest, depth, end = text[start + 3 :], 0, 0
        for end, sign in enumerate(rest, 1):
            depth += (sign == "(") - (sign == ")")
            if depth == 0 and (sign == ")" or end == len(rest) or rest[end] in " )"):
                break
        text = f"{text[:start]}({rest[:end]}){rest[end:]}"
    return text


def inside(interval, k):
    """A rational point inside an interval, another one for each k."""
    low, high = interval[1:-1].split(", ")
    step = Fraction(2 * k % 7 + 1, 9)
    if low == "-inf":
        return step if high == "inf" else Fraction(high) - step
    return Fraction(low) + (step if high == "inf" else step * (Fraction(high) - Fraction(low)))


def exportable():
    for entry in statements():
        for obligation in entry.obligations:
            if "vars" not in obligation.goal or "'sum'" in str(obligation.goal):
                continue
            try:
                export.proved(obligation.goal)
            except export.UntranslatableError:
                continue
            yield entry, obligation


def test_the_text_says_what_the_kernel_reads():
    compared = 0
    for _, obligation in exportable():
        claim = obligation.goal
        point = {v: inside(interval, k) for k, (v, interval) in enumerate(claim["vars"].items())}
        box = {v: arithmetic.point(q) for v, q in point.items()}
        at = {export.name(v): mpmath.mpf(q.numerator) / q.denominator for v, q in point.items()}
        for r in [claim["goal"], *claim.get("given", [])]:
            small, sign, large = re.fullmatch(r"(.*) (<=|<|=) (.*)", export.relation(r)).groups()
            assert sign == {">=": "<=", ">": "<", "==": "="}[r[0]]
            for text, side in ((large, r[1]), (small, r[2])):
                try:
                    enclosed = evaluate(read(side, set(claim["vars"])), box, 80)
                except arithmetic.Rejected:
                    continue  # undefined at this point
                if enclosed.lo[0] or enclosed.hi[0] or abs(enclosed.hi[1]) > 10**100:
                    continue
                low, high = float(enclosed.lo[1]), float(enclosed.hi[1])
                assert math.isclose(float(value(text, at)), (low + high) / 2, rel_tol=1e-9, abs_tol=1e-9)
                compared += 1
    assert compared > 500


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        ("(0, 1]", ["0 < v_x", "v_x <= 1"]),
        ("[0, 1)", ["0 <= v_x", "v_x < 1"]),
        ("(-inf, 1/2]", ["v_x <= (1 / 2)"]),
        ("[-1, inf)", ["(- 1) <= v_x"]),
    ],
)
def test_ends_stay_open_or_closed(interval, expected):
    assert export.bounds("x", interval) == expected


def test_a_lemma_says_that_its_formulas_are_defined():
    claim = make_goal({"x": "[0, 1]", "y": "[0, 1]"}, "log(x)/sqrt(y) + x**-2 >= 0")
    assert export.conditions(claim["goal"]) == ["0 < v_x", "0 <= v_y", "(sqrt v_y) <> 0", "v_x <> 0"]


def test_whole_numbers_and_hypotheses_are_kept():
    text = export.proved(make_goal({"n": "[1, inf)", "x": "[0, 1]"}, "n >= x", "n > 2*x", integers=["n"]))
    assert "(exists z : Z, v_n = IZR z) ->" in text
    assert "((2 * v_x) < v_n) ->" in text


UNION = make_goal(
    {}, "E(a) + E(b) >= E(u)", "a + b >= u", random={"a": "[0, 1]", "b": "[0, 1]", "u": "[0, 1]"}
)
"""The chance that one of two events happens, u, is at most the sum of their chances."""
UNION_PROOF = {
    "expect": [[["-", ["+", "a", "b"], "u"], {"leaf": "positive", "multipliers": [["1", 0]]}]],
    "sub": {"leaf": "positive", "multipliers": [["1", 1]]},
}
PRODUCT = make_goal(
    {}, "E(a*b) == E(a)*E(b)", random={"a": "[0, 1]", "b": "(-inf, inf)"}, independent=[["a"], ["b"]]
)
PRODUCT_PROOF = {"expect": [], "sub": {"leaf": "identity"}}


def expected(name, claim, node):
    return expectations.lemmas(name, claim, {"proof": node, "prec": 80})


def test_an_expectation_is_a_positive_linear_functional_with_the_value_one_at_one():
    text = " ".join(expected("union", UNION, UNION_PROOF)[-1].statement.split())
    assert text.startswith(
        "forall (W : Type) (P : functional W), lawful P -> on P (fun _ : W => 1) -> val P (fun _ : W => 1) = 1 ->"
    )
    assert "(forall w : W, pts P w -> 0 <= (v_u w)) ->" in text
    assert "(forall w : W, pts P w -> (v_u w) <= ((v_a w) + (v_b w))) ->" in text
    assert text.count("(on P (fun w : W => (v_u w)))") == 1  # the goal's expectation exists
    assert text.endswith(
        "((val P (fun w : W => (v_u w))) <= ((val P (fun w : W => (v_a w))) + (val P (fun w : W => (v_b w)))))"
    )


def test_independence_is_about_products_of_functions_of_the_groups():
    text = " ".join(expected("product", PRODUCT, PRODUCT_PROOF)[-1].statement.split())
    assert (
        "(forall (f : R -> R) (g : R -> R), on P (fun w => f (v_a w)) -> on P (fun w => g (v_b w)) ->" in text
    )
    assert "independent" not in UNION
    assert "(f : R" not in expected("union", UNION, UNION_PROOF)[-1].statement


@pytest.mark.slow
@needs_coq
def test_coq_tells_true_claims_about_expectations_from_false_ones(coq_folder):
    free = {k: x for k, x in PRODUCT.items() if k != "independent"}
    less = make_goal({}, "E(a) + E(b) >= 2*E(u)", "a + b >= u", random=UNION["random"])
    cases = {
        "union": (UNION, UNION_PROOF),
        "less": (less, UNION_PROOF),
        "product": (PRODUCT, PRODUCT_PROOF),
        "free": (free, PRODUCT_PROOF),
    }
    parts = [Part(name, tuple(expected(name, *case)), (EXPECTED,)) for name, case in cases.items()]
    assert built([*heads(), *parts], coq_folder, 200).keys() == {"less", "free"}


def heads():
    """The files with more tactics."""
    return [Part(name, (), head=path.read_text(encoding="utf-8")) for name, path in HEADS.items()]


def refused(lemmas, wrong, head, folder):
    """The files that do not compile: one for each wrong lemma, and one of all others, as each loads the libraries."""
    right = tuple(x for name, x in lemmas.items() if name not in wrong)
    parts = [Part("right", right, (head,)), *(Part(name, (lemmas[name],), (head,)) for name in wrong)]
    return built([*heads(), *parts], folder, 200).keys()


SUM = {
    "telescope": ["sum", "i", "1", "n", ["*", "2", "i"]],
    "antidifference": ["*", "i", ["-", "i", "1"]],
    "sign": "==",
    "proof": {"leaf": "identity"},
    "sub": {"leaf": "identity", "multipliers": [["-1", 0]]},
}
WITH_EXTRA = {
    "telescope": (make_goal({"n": "[0, inf)"}, "sum(i, 1, n, 2*i) == n*(n + 1)", integers=["n"]), SUM),
    "telescope_false": (make_goal({"n": "[0, inf)"}, "sum(i, 1, n, 2*i) == n*(n + 2)", integers=["n"]), SUM),
    "enumerated": (
        make_goal({"n": "[0, 3]"}, "n**2 >= n", integers=["n"]),
        {"enumerated": "n", "sub": {"leaf": "positive"}},
    ),
    "enumerated_false": (
        make_goal({"n": "[0, 3]"}, "n**2 >= n + 1", integers=["n"]),
        {"enumerated": "n", "sub": {"leaf": "positive"}},
    ),
    "bernstein": (
        make_goal({"x": "[0, 1]"}, "x**2 - x + 1 >= 1/2"),
        {"leaf": "bernstein", "var": "x", "degree": 2},
    ),
    "bernstein_false": (
        make_goal({"x": "[0, 1]"}, "x**2 - x + 1 >= 4/5"),
        {"leaf": "bernstein", "var": "x", "degree": 2},
    ),
    "normal": (
        make_goal({"u": "[0, inf)", "w": "[0, 2]"}, "(2 - w)*exp(2*u) >= (2 - w)*exp(u*(2 - w))"),
        POSITIVE,
    ),
    "normal_false": (
        make_goal({"u": "[0, inf)", "w": "[0, 2]"}, "(2 - w)*exp(u*(2 - w)) >= (2 - w)*exp(2*u)"),
        POSITIVE,
    ),
}


@pytest.mark.slow
@needs_coq
def test_coq_tells_true_claims_from_false_ones_with_more_tactics(coq_folder):
    lemmas = {
        name: Lemma(name, export.proved(claim), proof(claim, node, extra=True))
        for name, (claim, node) in WITH_EXTRA.items()
    }
    false = {x for x in WITH_EXTRA if x.endswith("_false")}
    assert refused(lemmas, false, EXTRA, coq_folder) == false


@pytest.mark.slow
@needs_coq
def test_coq_refutes_a_false_bound_of_erfc_and_not_a_true_one(coq_folder):
    cases = {
        "integral": "erfc(1/2) >= 479500122186954/1000000000000000",
        "integral_true": "erfc(1/2) >= 479500122186953/1000000000000000",
        "negative": "1 > erfc(-1/2)",
        "negative_true": "erfc(-1/2) > 1",
        "tail": "exp(110)*erfc(21/2) >= 1/20",
        "tail_true": "1/20 >= exp(110)*erfc(21/2)",
        "sum": "erfc(1/3) + erfc(-1/3) > 2 + 1/10**9",
        "sum_true": "erfc(1/3) + erfc(-1/3) >= 2 - 1/10**9",
    }
    lemmas = {
        name: Lemma(name, export.refuted(make_goal({}, text)), "refuted.") for name, text in cases.items()
    }
    true = {x for x in cases if x.endswith("_true")}
    assert refused(lemmas, true, ERFC, coq_folder) == true


@pytest.mark.slow
@needs_coq
def test_coq_tells_true_claims_from_false_ones():
    cases = {
        "open_end": (make_goal({"x": "(0, 1]"}, "x > 0"), True),
        "closed_end": (make_goal({"x": "[0, 1]"}, "x > 0"), False),
        "defined": (make_goal({"x": "(0, 1]"}, "2/x >= 1/x"), True),
        "undefined": (make_goal({"x": "[0, 1]"}, "2/x >= 1/x"), False),
        "root": (make_goal({"x": "[-1, 1]"}, "sqrt(x) >= 0"), False),
        "logarithm": (make_goal({"x": "[-1, 1]"}, "log(x) + 1 >= log(x)"), False),
    }
    found = compiler.accepted(
        (Lemma(k, export.proved(c), proof(c, POSITIVE)) for k, (c, _) in cases.items()), 5
    )
    assert found == {k for k, (_, true) in cases.items() if true}


@pytest.mark.slow
@needs_coq
def test_falsified_claims_do_not_compile_with_the_same_tactics():
    """Recorded claims about numbers alone that need no more tactics: Coq refuses each once it is made false."""
    true, false = [], []
    known = record.recorded().keys() - record.extra()
    for entry in map(lookup, ["ucb.lemma4_1", "sdp.lemma10.privacy.ratio", "classic.advanced_corollary"]):
        numbers = [x for x in entry.obligations if "vars" in x.goal and not x.goal.get("random")]
        asked = [x for x in numbers if goal_hash(x.goal) in known]
        assert asked
        for k, obligation in enumerate(asked, len(true)):
            node = load(stored(certificate_id(entry, obligation)).text)["proof"]
            wrong = moved(obligation)
            true.append(Lemma(f"true_{k}", export.proved(obligation.goal), proof(obligation.goal, node)))
            false.append(Lemma(f"false_{k}", export.proved(wrong), proof(wrong, node)))
    assert compiler.accepted(true + false, 15) == {x.name for x in true}


def moved(obligation):
    """The obligation's mutation, or its claim with the larger side made less by 1 %."""
    if obligation.mutation is not None:
        return obligation.mutation
    rel, large, small = obligation.goal["goal"]
    return {**obligation.goal, "goal": [rel, ["*", "99/100", large], small]}


@pytest.mark.slow
@needs_coq
@pytest.mark.parametrize(
    ("text", "stranger"),
    [
        ("Axiom wrong : 1 = 2.\nLemma a : 2 = 1.\nProof. symmetry. apply wrong. Qed.\n", "wrong"),
        ("Lemma a : 1 = 2.\nProof. Admitted.\n", "a"),
        ("Lemma a : 1 = 1.\nProof. reflexivity. Qed.\n", None),
    ],
)
def test_axioms_and_admitted_lemmas_are_noticed(text, stranger):
    imports = "From Coq Require Import Reals.\nOpen Scope R_scope.\n"
    printed = compiler.compiled(imports + text + "Print Assumptions a.\n", 60)
    assert compiler.strangers(compiler.foundations(printed)) == ([stranger] if stranger else [])


def test_unknown_axioms_are_strangers():
    assert compiler.strangers(["Classical_Prop.classic", "Uint63.add_spec", "Mine.classic"]) == [
        "Mine.classic"
    ]


@pytest.mark.slow
@needs_coq
def test_a_lemma_that_does_not_compile_fails_the_target(monkeypatch, capsys):
    monkeypatch.setattr(
        command, "_recorded", lambda _labelled: [Part("part", (Lemma("wrong", "1 = 2", "lra."),))]
    )
    assert command.main([]) == 1
    assert "FAILED: part: in lemma wrong" in capsys.readouterr().out


def test_without_coqc_the_target_fails(monkeypatch, capsys):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv(command.OPTIONAL, raising=False)
    assert command.main([]) == 3
    assert "FAILED, coqc or its Interval library is not installed" in capsys.readouterr().out


@pytest.mark.parametrize(("value", "code"), [("1", 0), ("0", 3), ("", 3)])
def test_without_coqc_the_target_is_skipped_where_that_is_asked_for(monkeypatch, capsys, value, code):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv(command.OPTIONAL, value)
    assert command.main([]) == code
    assert ("SKIPPED" in capsys.readouterr().out) == (code == 0)


def test_continuous_integration_does_not_ask_for_that():
    for name in (".ci/run", "Makefile", "tools/fresh_machine.sh"):
        text = (ROOT / name).read_text(encoding="utf-8") if (ROOT / name).is_file() else ""
        assert f"{command.OPTIONAL}=1 make" not in text
        assert f"export {command.OPTIONAL}" not in text


def test_the_status_is_the_records_with_or_without_coqc(monkeypatch):
    names = [checked_steps()[0].id, "classic.kairouz_oh_viswanath", "sdp.corollary11.regret"]
    before = [as_json(x)["coq_all"] for x in verify(names)]
    monkeypatch.setenv("PATH", "")
    assert [as_json(x)["coq_all"] for x in verify(names)] == before == [True, False, False]


def test_the_claims_behind_labels_are_those_of_cross_checked_statements():
    needed, known = record.labelled(statements(), lookup), record.recorded().keys()
    assert needed < known
    for entry in statements():
        own = {goal_hash(x.goal) for x in entry.obligations if not entry.goals or x.name in entry.goals}
        assert own <= needed or record.status(entry, lookup) != record.CHECKED


def checked_steps():
    """Statements without goals of which Coq has checked everything."""
    done = (x for x in TABLE.values() if record.status(x, TABLE.__getitem__) == record.CHECKED)
    return [x for x in done if x.obligations and not x.goals]


def test_checked_follows_what_a_statement_rests_on():
    assert len(checked_steps()) > 20
    for entry in checked_steps():
        if entry.rests_on or entry.parts:
            below = [TABLE[name] for name in (*entry.parts, *entry.rests_on)]
            assert all(record.accepted(x, TABLE.__getitem__) or x.reason == DEFINITION for x in below), (
                entry.id
            )


def test_a_quoted_theorem_below_was_not_checked():
    entry = replace(checked_steps()[0], rests_on=("classic.kairouz_oh_viswanath",))
    assert record.status(entry, TABLE.__getitem__) == record.NOT_CHECKED


@pytest.mark.slow
def test_a_named_rule_was_not_checked():
    first, second = [x for x in checked_steps() if not x.rests_on and not x.parts][:2]
    entry = replace(first, rules=("a theorem with a name",))
    assert record.status(entry, TABLE.__getitem__) == record.NOT_CHECKED
    above = replace(second, rests_on=(entry.id,))
    assert record.status(above, {entry.id: first}.__getitem__) == record.CHECKED
    assert record.status(above, {entry.id: entry}.__getitem__) == record.NOT_CHECKED
    for found in results().values():
        assert not (as_json(found)["coq_all"] and found.assumptions), found.id


def test_at_least_thirty_statements_are_cross_checked():
    done = [x for x in TABLE.values() if record.status(x, TABLE.__getitem__) == record.CHECKED]
    assert len(done) >= 30
    assert sum("log" in str(x.obligations) or "exp" in str(x.obligations) for x in done) >= 15


def test_a_changed_claim_is_no_longer_cross_checked():
    entry = checked_steps()[0]
    changed = replace(entry.obligations[0], goal=make_goal({"x": "[0, 1]"}, "x >= 0"))
    assert record.status(replace(entry, obligations=(changed,)), TABLE.__getitem__) == record.NOT_CHECKED


def test_a_statement_without_claims_is_not_cross_checked():
    assert record.status(lookup("rlsvi.definition3"), TABLE.__getitem__) == record.NOT_CHECKED


def test_what_coqc_prints_must_be_an_answer_about_axioms():
    with pytest.raises(CoqError, match="unexpected"):
        compiler.foundations("something else\n")
