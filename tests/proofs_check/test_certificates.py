"""Every certificate: it re-checks, and neither a moved claim nor a damaged file passes.

The points at which wrong claims fail are stored; ``python -m benchmarks.counterexamples`` found them.
"""

import json
import math
from fractions import Fraction

import pytest

from benchmarks.counterexamples import POINTS, proves, widened
from dpproof.proofs_check import certificates
from dpproof.proofs_check.kernel import Rejected, check, load
from dpproof.proofs_check.kernel import arithmetic as ia
from dpproof.proofs_check.kernel.expressions import evaluate
from dpproof.proofs_check.kernel.goals import task
from dpproof.proofs_check.registry import certificate_id, folder_of, statements
from dpproof.proofs_check.search import certificate, prove, refute, satisfiable
from dpproof.proofs_check.search import main as search
from tests.proofs_check.hints import make_goal
from tests.rows import rows

PAIRS = [(entry, x) for entry in statements() for x in entry.obligations if "vars" in x.goal]
THEOREMS = [(entry, x) for entry in statements() for x in entry.obligations if "vars" not in x.goal]
IDS = [f"{entry.id}.{x.name}" for entry, x in PAIRS]
each = rows(("entry", "obligation"), PAIRS, ids=IDS)
STORED = json.loads(POINTS.read_text(encoding="utf-8"))


def stored(entry, obligation):
    return load(certificates.stored(certificate_id(entry, obligation)).text)


def rejected(data, claim):
    try:
        check(data, claim)
    except Rejected:
        return True
    return False


@each
def test_certificate_is_accepted_for_the_registrys_claim(entry, obligation):
    data = stored(entry, obligation)
    assert check(data, obligation.goal).verdict == data["verdict"]
    assert data["id"] == f"{entry.id}.{obligation.name}"


def sides(claim, point):
    """Both sides of the goal at a point, to far more digits than are needed."""
    t = task(claim, 200)
    box = {v: ia.point(Fraction(point[v])) for v in t.domain}
    return [evaluate(x, box, 200).lo[1] for x in (t.goal.left, t.goal.right)]


def agree(claim, point):
    """Do both sides agree within 0.1% of their size, which is not zero?"""
    left, right = sides(claim, point)
    return 0 < 1000 * abs(left - right) < abs(right) or left == right != 0


def with_factor(claim, side, factor):
    goal = list(claim["goal"])
    goal[side] = ["*", factor, goal[side]]
    return {**claim, "goal": goal}


LESS, MORE = "999/1000", "1001/1000"


def moved(claim, point):
    """Every claim that comes from a tight one by moving one side by 0.1% past the truth."""
    positive = sides(claim, point)[0] > 0
    yield with_factor(claim, 1, LESS if positive else MORE)
    yield with_factor(claim, 2, MORE if positive else LESS)
    if claim["goal"][0] == "==":
        yield with_factor(claim, 1, MORE if positive else LESS)
        yield with_factor(claim, 2, LESS if positive else MORE)


TIGHT = [(e, x) for e, x in PAIRS if x.witness is not None]
OTHERS = [(e, x) for e, x in PAIRS if x.witness is None]


def names(pairs):
    return [f"{entry.id}.{x.name}" for entry, x in pairs]


@each
def test_every_obligation_says_whether_it_is_tight(entry, obligation):
    assert (obligation.witness is None) != (obligation.mutation is None)
    if obligation.witness is None:
        assert stored(entry, obligation)["verdict"] == "REFUTED" or obligation.goal["goal"][0] != "=="


@pytest.mark.slow
@rows(("entry", "obligation"), TIGHT, ids=names(TIGHT))
def test_tight_claim_moved_past_the_truth_is_rejected(entry, obligation):
    claim, data = obligation.goal, stored(entry, obligation)
    assert data["verdict"] == "PROVED"
    assert agree(claim, obligation.witness)
    for false in moved(claim, obligation.witness):
        assert proves(false, {"point": obligation.witness}, "REFUTED")
        assert not proves(false, data["proof"])
        assert rejected(data, false)
        assert rejected(certificate(data["id"], false, "PROVED", data["proof"]), claim)


@rows(("entry", "obligation"), TIGHT, ids=names(TIGHT))
def test_a_claim_loose_by_a_thousand_would_be_noticed(entry, obligation):
    for factor in ("1000", "1/1000"):
        assert not agree(with_factor(obligation.goal, 1, factor), obligation.witness)


@pytest.mark.slow
@rows(("entry", "obligation"), OTHERS, ids=names(OTHERS))
def test_mutation_past_the_truth_is_rejected(entry, obligation):
    data, mutation = stored(entry, obligation), obligation.mutation
    assert mutation["vars"] == obligation.goal["vars"]
    assert mutation != obligation.goal
    assert rejected(data, mutation)
    assert not proves(mutation, data["proof"], data["verdict"])
    if (
        data["verdict"] == "PROVED" and "random" not in mutation
    ):  # a law is no point: that it is rejected must do
        assert proves(mutation, STORED[certificate_id(entry, obligation)]["mutation"], "REFUTED")


@pytest.mark.slow
@each
def test_the_hypotheses_of_a_step_can_hold_together(entry, obligation):
    """Where random variables must not be constant, people look at the hypotheses."""
    if obligation.goal.get("given") and not obligation.goal.get("random"):
        assert stored(entry, obligation)["verdict"] == "REFUTED" or satisfiable(obligation)


@pytest.mark.slow
@rows(("entry", "obligation"), OTHERS, ids=names(OTHERS))
def test_a_search_refutes_the_mutations_of_what_is_proved_only(entry, obligation):
    verdict = stored(entry, obligation)["verdict"]
    if verdict == "REFUTED":
        assert refute(obligation.mutation, tries=200) is None
    elif "random" not in obligation.mutation:
        assert refute(obligation.mutation) is not None


def negated(pair):
    return [["neg", pair[0]], *pair[1:]]


def without(items, i):
    return [*items[:i], *items[i + 1 :]]


def damaged_options(node):
    """Copies of a leaf with one sign flipped or one entry of a list gone."""
    if "dir" in node:
        yield node | {"dir": -node["dir"]}
    if "over" in node:
        yield node | {"over": ["neg", node["over"]]}
    for i, pair in enumerate(node.get("terms", [])):
        flipped = [str(-Fraction(pair[0])), pair[1]]
        yield node | {"terms": [*node["terms"][:i], flipped, *node["terms"][i + 1 :]]}
        yield node | {"terms": without(node["terms"], i)}
    for i, pair in enumerate(node.get("multipliers", [])):
        flipped = negated(pair)
        yield node | {"multipliers": [*node["multipliers"][:i], flipped, *node["multipliers"][i + 1 :]]}
        yield node | {"multipliers": without(node["multipliers"], i)}
    for i in range(len(node.get("reflect", []))):
        yield node | {"reflect": without(node["reflect"], i)}
    if "telescope" in node:
        yield node | {"sign": "=>"}
        yield node | {"antidifference": ["neg", node["antidifference"]]}
    if "subst" in node:
        yield node | {"subst": {v: ["neg", e] for v, e in node["subst"].items()}}
    for v in node.get("point", {}):
        yield {"point": node["point"] | {v: "-1000000"}}
        yield {"point": {w: x for w, x in node["point"].items() if w != v}}


def damaged(node):
    """Copies of a proof with one thing broken."""
    yield {}
    yield None
    for key in node:
        yield {k: v for k, v in node.items() if k != key}
        yield {(k + "x" if k == key else k): v for k, v in node.items()}
    yield from damaged_options(node)
    if "leaf" in node:
        yield node | {"leaf": "guess"}
    for key in ("sub", "proof", "base", "step", "nonnegative", "nonpositive"):
        yield from (node | {key: part} for part in (damaged(node[key]) if key in node else ()))
    for i, (formula, proof) in enumerate(node.get("expect", [])):
        facts = node["expect"]
        yield node | {"expect": without(facts, i)}
        yield from (
            node | {"expect": [*facts[:i], [formula, part], *facts[i + 1 :]]} for part in damaged(proof)
        )
    for i in (2, 3) if "split" in node else ():
        halves = node["split"]
        yield from ({"split": [*halves[:i], part, *halves[i + 1 :]]} for part in damaged(halves[i]))


def kinds(node):
    """Which rules a proof is made of: the keys of its nodes, and the names of its leaves."""
    if isinstance(node, dict):
        return {*node, *filter(lambda x: isinstance(x, str), [node.get("leaf")])}.union(
            *map(kinds, node.values())
        )
    return set().union(*map(kinds, node)) if isinstance(node, list) else set()


def representatives():
    """Short certificates that together have every kind of node that any certificate has."""
    found, seen = [], set()
    for entry, x in sorted(PAIRS, key=lambda pair: len(json.dumps(stored(*pair)["proof"]))):
        data = stored(entry, x)
        if not {data["verdict"], *kinds(data["proof"])} <= seen:
            seen |= {data["verdict"], *kinds(data["proof"])}
            found.append((entry, x))
    return found


def refuse_damage(entry, obligation, most=None):
    """Every damaged proof is rejected; of a long list of them, evenly spread, ``most`` are checked."""
    data = stored(entry, obligation)
    found = list(damaged(data["proof"]))
    for proof in found[:: math.ceil(len(found) / most) if most else 1]:
        assert rejected(data | {"proof": proof}, obligation.goal), proof
    for change in ({"claim_sha256": "0" * 64}, {"v": 0}, {"verdict": "OPEN"}):
        assert rejected(data | change, obligation.goal)
    flipped = "REFUTED" if data["verdict"] == "PROVED" else "PROVED"
    assert rejected(data | {"verdict": flipped}, obligation.goal)
    for key in data:
        assert rejected({k: v for k, v in data.items() if k != key}, obligation.goal)


@rows(("entry", "obligation"), representatives())
def test_every_kind_of_proof_is_rejected_when_damaged(entry, obligation):
    refuse_damage(entry, obligation)


@pytest.mark.slow
@each
def test_damaged_certificate_is_rejected(entry, obligation):
    """The test above damages every kind of proof in every place."""
    refuse_damage(entry, obligation, most=50)


def test_proof_that_splits_is_damaged_leaf_by_leaf():
    claim = make_goal({"x": "[0, 1]"}, "1 >= x*(1-x)*3")
    leaf = {"leaf": "range"}
    proof = {"split": ["x", "1/2", {"split": ["x", "1/4", leaf, leaf]}, {"split": ["x", "3/4", leaf, leaf]}]}
    assert not proves(claim, proof)
    proof = prove(claim)
    assert "split" in proof
    assert proves(claim, proof)
    assert not any(proves(claim, part) for part in damaged(proof))


def test_certificate_for_another_claim_is_stale():
    (first, a), (second, b) = PAIRS[0], PAIRS[1]
    assert rejected(stored(first, a), b.goal)
    assert rejected(stored(second, b), a.goal)


def test_files_hold_the_certificates_of_the_statements_once_in_order_and_nothing_else():
    found = []
    for path in sorted(certificates.FOLDER.glob("*.jsonl")):
        lines = path.read_text(encoding="utf-8").splitlines()
        names = [load(line)["id"] for line in lines]
        assert names == sorted(names)
        assert {folder_of(name) for name in names} == {path.stem}
        assert lines == [json.dumps(load(line), sort_keys=True) for line in lines]
        found += names
    theorems = [(certificate_id(entry, x), x) for entry, x in THEOREMS if not entry.reason]
    changed = [f"{name}.moved" for name, x in theorems if x.mutation]
    names = [certificate_id(entry, x) for entry, x in PAIRS] + [name for name, _ in theorems] + changed
    assert sorted(found) == sorted(names)


def test_a_paper_is_written_without_touching_other_certificates(tmp_path, monkeypatch):
    monkeypatch.setattr(certificates, "FOLDER", tmp_path)
    certificates.keep("p", {"b": '{"id": "b"}', "a": '{"id": "a"}'})
    certificates.keep("p", {"b": '{"id": "b", "v": 2}'})
    assert (tmp_path / "p.jsonl").read_text() == '{"id": "a"}\n{"id": "b", "v": 2}\n'
    assert certificates.stored("b").place == "proofs_check/certificates/p.jsonl:2"
    with pytest.raises(LookupError):
        certificates.stored("c")


@pytest.mark.slow
@each
def test_no_proof_holds_on_a_wider_domain_where_the_claim_fails(entry, obligation):
    data = stored(entry, obligation)
    number, point = STORED.get(certificate_id(entry, obligation), {}).get("wide", (None, None))
    for index, wide in enumerate(widened(obligation.goal) if data["verdict"] == "PROVED" else ()):
        assert rejected(data, wide)
        if index == number:
            assert proves(wide, point, "REFUTED")
            assert not proves(wide, data["proof"])


@pytest.mark.slow
@each
def test_no_search_finds_a_wider_domain_that_a_proof_should_not_hold_on(entry, obligation):
    data = stored(entry, obligation)
    for wide in widened(obligation.goal) if data["verdict"] == "PROVED" else ():
        if proves(wide, data["proof"]):
            assert refute(wide, tries=30) is None


def test_an_unknown_id_is_refused_before_any_search(capsys):
    assert search(["rlsvi.lemma66"]) == 2
    told = capsys.readouterr().err
    assert "id ('rlsvi.lemma66') must be a statement id: rlsvi.definition3" in told
    assert "did you mean 'rlsvi.lemma6'" in told
