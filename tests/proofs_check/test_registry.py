"""Statements, the derivation of verdicts, and the contract of the JSON answer."""

from dataclasses import replace

import pytest

from dpproof.accountant.published import published, published_ids
from dpproof.accountant.published.sources import Source
from dpproof.proofs_check import certificates, registry
from dpproof.proofs_check.kernel import Outcome, Rejected, check, load
from dpproof.proofs_check.registry import as_json, lookup, statement_ids, statements, verify
from dpproof.proofs_check.search import certificate
from dpproof.proofs_check.statement import DEFINITION, Obligation, Statement, formula
from dpproof.proofs_check.verdict import Verdict, derive
from tests.proofs_check.hints import make_goal
from tests.verified import results

TWELVE = [
    "definition3", "definition4", "lemma6", "lemma7", "lemma8", "lemma9", "remark10", "eq2", "lemma11",
    "lemma12", "theorem13", "corollary14",
]  # fmt: skip
KEYS = {
    "id", "verdict", "method", "certificate", "depends_on", "assumptions", "domain", "point", "corrected_by",
    "not_covered", "coq", "kind", "title", "parts", "read_as",
    "coq_own", "coq_all", "conjuncts", "severity", "severity_why", "readings_own", "readings_all", "laws_all",
    "changed",
}  # fmt: skip
EXPECTED = {
    "rlsvi.definition3": "ASSUMED",
    "rlsvi.definition4": "ASSUMED",
    "rlsvi.lemma6": "REFUTED",
    "rlsvi.lemma6.divergence": "PROVED",
    "rlsvi.lemma6.bound": "PROVED",
    "rlsvi.lemma6.specifically": "REFUTED",
    "rlsvi.lemma6.variance": "PROVED",
    "rlsvi.lemma6.printed_domain": "PROVED ON A SUBDOMAIN",
    "rlsvi.lemma7": "PROVED",
    "rlsvi.lemma7.densities": "PROVED",
    "rlsvi.lemma8": "PROVED",
    "rlsvi.lemma9": "PROVED",
    "rlsvi.remark10": "PROVED",
    "rlsvi.eq2": "PROVED",
    "rlsvi.lemma11": "PROVED",
    "rlsvi.lemma11.equality": "REFUTED",
    "rlsvi.lemma12": "PROVED",
    "rlsvi.theorem13": "PROVED",
    "rlsvi.corollary14": "PROVED",
    "rlsvi.tight": "PROVED GIVEN",
    "rlsvi.tight_joint": "PROVED GIVEN",
    "rlsvi.tight_renyi": "PROVED",
    "rlsvi.printed_gaussian": "PROVED GIVEN",
    "rlsvi.state_neighbours": "PROVED",
    "rlsvi.state_neighbours.cell": "PROVED",
}


def test_recorded_verdicts_come_out_again():
    assert {x.id: x.verdict.value for x in results().values() if x.id.startswith("rlsvi.")} == EXPECTED


@pytest.mark.parametrize("name", TWELVE)
def test_every_item_of_the_paper_is_stated(name):
    assert f"rlsvi.{name}" in statement_ids("rlsvi.")


def test_answers_keep_the_contract():
    for result in results().values():
        data = as_json(result)
        assert data.keys() == KEYS
        assert data["coq"] in ("cross-checked by Coq", "not cross-checked")
        assert data["not_covered"]
        assert (data["verdict"] == "REFUTED") == (data["point"] is not None)


def test_references_resolve():
    known = set(statement_ids())
    for entry in statements():
        assert {*entry.parts, *entry.rests_on, *([entry.corrected_by] if entry.corrected_by else [])} <= known
    assert {published(x).source.statement for x in published_ids() if x.startswith("rlsvi")} - {None} <= known


def test_nothing_proved_rests_on_something_refuted():
    found = results()
    for entry in statements():
        if found[entry.id].verdict.decided and found[entry.id].verdict is not Verdict.REFUTED:
            below = {found[x].verdict for x in entry.rests_on}
            assert not below & {Verdict.REFUTED, Verdict.OPEN}


def test_assumptions_are_inherited():
    own = verify(["classic.kahane"])[0].assumptions
    assert any("Kahane" in text for text in own)
    assert set(own) <= set(verify(["classic.group_sampled_gaussian"])[0].assumptions)
    assert not verify(["rlsvi.corollary14"])[0].assumptions


CLAIM = make_goal({"x": "[0, 1]"}, "x >= 0")
BASE = Statement(
    "t.a", "project", "t", Source("p", "v1", "i"), "s", obligations=(Obligation("o", CLAIM, "n"),)
)
WHOLE = replace(BASE, obligations=(), parts=("t.b", "t.c"))
DONE = [("file", Outcome("PROVED", frozenset({"range"}), None))]
BROKEN = [("file", Outcome("REFUTED", frozenset({"point"}), {"x": "1"}))]


def below(entry=BASE, outcomes=DONE, **changes):
    return derive(replace(entry, **changes), outcomes, {})


PROVED, REFUTED, OPEN = below(), below(outcomes=BROKEN), below(outcomes=[("file", None)])
SUBDOMAIN, GIVEN = below(domain="x < 1"), below(rules=("r",))
ASSUMED = below(outcomes=[], obligations=(), reason="because")
DEFINED = below(outcomes=[], obligations=(), reason=DEFINITION, kind="definition")


def test_verdicts_follow_from_outcomes():
    assert PROVED.verdict is Verdict.PROVED
    assert OPEN.verdict is Verdict.OPEN
    assert GIVEN.verdict is Verdict.GIVEN
    assert SUBDOMAIN.verdict is Verdict.SUBDOMAIN
    assert ASSUMED.verdict is Verdict.ASSUMED
    assert below(outcomes=[], obligations=()).verdict is Verdict.OPEN
    assert REFUTED.verdict is Verdict.REFUTED
    assert REFUTED.point == {"x": "1"}


def test_a_missing_outcome_leaves_the_statement_open():
    two = (*BASE.obligations, Obligation("p", CLAIM, "n"))
    assert below(obligations=two).verdict is Verdict.OPEN
    assert below(obligations=two, outcomes=[*DONE, ("file", None)]).verdict is Verdict.OPEN
    assert below(obligations=two, outcomes=[*BROKEN, ("file", None)]).verdict is Verdict.OPEN
    assert below(outcomes=[]).verdict is Verdict.OPEN
    assert below(outcomes=DONE * 2).verdict is Verdict.OPEN
    assert below(obligations=two, outcomes=DONE * 2).verdict is Verdict.STEPS
    assert OPEN.method is OPEN.point is ASSUMED.method is None


@pytest.mark.slow
def test_every_certificate_is_needed(monkeypatch):
    """A refutation stood when the steps that make its argument had lost their certificates."""
    outcome, lost = registry._outcome, None
    known = {
        (x.id, y.name): outcome(x, y, registry.lemmas(x), certificates.stored)
        for x in statements()
        for y in (() if x.reason else x.obligations)
    }

    def without(entry, obligation, *_):
        path, found = known[entry.id, obligation.name]
        return path, None if (entry.id, obligation.name) == lost else found

    monkeypatch.setattr(registry, "_outcome", without)
    for lost in known:
        assert verify([lost[0]])[0].verdict is Verdict.OPEN, lost


def test_what_another_process_said_counts_only_while_the_lemmas_are_proved(monkeypatch):
    """The processes ask the kernel as if every lemma were proved."""
    lost = "rlsvi.lemma12.run"
    assert lost in load(certificates.stored("rlsvi.theorem13.goal").text)["uses"]
    said = registry._checked_of(["rlsvi.theorem13"])
    monkeypatch.setattr(registry, "_CHECKED", dict(said))
    monkeypatch.setattr(registry, "stored", lambda name: certificates.stored(name if name != lost else ""))
    assert verify(["rlsvi.theorem13"])[0].verdict is Verdict.OPEN
    monkeypatch.undo()
    assert verify(["rlsvi.theorem13"])[0].verdict is Verdict.PROVED


@pytest.mark.parametrize("found", [{}, {"t.b": PROVED}, {"t.b": PROVED, "t.c": PROVED, "t.d": PROVED}])
def test_results_below_must_be_exactly_those_it_rests_on(found):
    with pytest.raises(ValueError, match=r"t\.a: the results are those of"):
        derive(WHOLE, [], found)
    with pytest.raises(ValueError, match=r"t\.a: the results are those of"):
        derive(replace(BASE, rests_on=("t.b", "t.c")), DONE, found)


@pytest.mark.parametrize(
    ("support", "expected"),
    [(PROVED, "STEPS PROVED"), (GIVEN, "PROVED GIVEN"), (ASSUMED, "PROVED GIVEN"), (DEFINED, "STEPS PROVED"),
     (SUBDOMAIN, "PROVED ON A SUBDOMAIN"), (OPEN, "OPEN"), (REFUTED, "OPEN")],
)  # fmt: skip
def test_what_a_statement_rests_on_lowers_it(support, expected):
    result = derive(replace(BASE, rests_on=("t.b",)), DONE, {"t.b": support})
    assert result.verdict.value == expected
    assert (result.domain == "x < 1") == (support is SUBDOMAIN)
    whole = derive(replace(WHOLE, rests_on=("t.d",)), [], {"t.b": PROVED, "t.c": PROVED, "t.d": support})
    assert whole.verdict.value == expected
    assert (whole.domain == "x < 1") == (support is SUBDOMAIN)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [((PROVED, PROVED), "STEPS PROVED"), ((PROVED, GIVEN), "PROVED GIVEN"),
     ((PROVED, ASSUMED), "PROVED GIVEN"),
     ((PROVED, DEFINED), "PROVED GIVEN"), ((ASSUMED, ASSUMED), "ASSUMED"),
     ((SUBDOMAIN, GIVEN), "PROVED ON A SUBDOMAIN"),
     ((PROVED, OPEN), "OPEN"), ((PROVED, REFUTED), "REFUTED"), ((OPEN, REFUTED), "REFUTED")],
)  # fmt: skip
def test_a_whole_is_its_worst_part(parts, expected):
    assert derive(WHOLE, [], {"t.b": parts[0], "t.c": parts[1]}).verdict.value == expected


def test_a_whole_is_lowered_by_its_own_rules_and_domain():
    parts = {"t.b": PROVED, "t.c": PROVED}
    assert derive(replace(WHOLE, rules=("r",)), [], parts).verdict is Verdict.GIVEN
    assert derive(replace(WHOLE, domain="x > 0"), [], parts).verdict is Verdict.SUBDOMAIN
    both = derive(replace(WHOLE, domain="x > 0"), [], {"t.b": SUBDOMAIN, "t.c": GIVEN})
    assert both.domain == "x > 0; x < 1"
    assert both.assumptions == ("r",)


@pytest.mark.parametrize("support", [OPEN, REFUTED])
def test_a_refutation_that_rests_on_nothing_sound_is_open(support):
    result = derive(replace(BASE, rests_on=("t.b",)), BROKEN, {"t.b": support})
    assert (result.verdict, result.point) == (Verdict.OPEN, None)
    whole = replace(WHOLE, parts=("t.b",), rests_on=("t.c",))
    assert derive(whole, [], {"t.b": REFUTED, "t.c": support}).verdict is Verdict.OPEN
    assert derive(whole, [], {"t.b": REFUTED, "t.c": GIVEN}).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("leaves", "method"),
    [({"positive"}, "SYMBOLIC-EXACT"), ({"positive+atoms"}, "KERNEL-CERTIFIED"),
     ({"range"}, "KERNEL-CERTIFIED"),
     ({"subst", "identity"}, "SYMBOLIC-EXACT"), ({"subst", "identity+atoms"}, "KERNEL-CERTIFIED")],
)  # fmt: skip
def test_method_follows_from_the_leaves(leaves, method):
    assert below(outcomes=[("file", Outcome("PROVED", frozenset(leaves), None))]).method.value == method


def test_statements_that_enclose_a_logarithm_are_not_called_symbolic():
    methods = {x.id: x.method.value for x in results().values() if x.method}
    for name in ("lemma11", "lemma12", "theorem13", "corollary14", "tight", "printed_gaussian"):
        assert methods[f"rlsvi.{name}"] == "KERNEL-CERTIFIED"
    for name in ("remark10", "eq2"):
        assert methods[f"rlsvi.{name}"] == "SYMBOLIC-EXACT"


def test_a_certificate_with_anothers_id_counts_for_nothing(tmp_path, monkeypatch):
    text = (certificates.FOLDER / "classic.jsonl").read_text(encoding="utf-8")
    for folder, kept, verdict in (
        ("whole", text, Verdict.PROVED),
        ("foreign", text.replace('"classic.triangle.', '"classic.triangles.'), Verdict.OPEN),
        ("damaged", text.replace('"id": "classic.triangle.', '"id": ["classic.triangle.'), Verdict.OPEN),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "classic.jsonl").write_text(kept, encoding="utf-8")
        monkeypatch.setattr(certificates, "FOLDER", tmp_path / folder)
        assert verify(["classic.triangle"])[0].verdict is verdict


def test_refuting_points_can_occur():
    """A cell of episode k has been met at most k - 1 times."""
    point = verify(["rlsvi.lemma11.equality"])[0].point
    assert int(point["k"]) - 1 >= int(point["N"]) >= 1
    claim = lookup("rlsvi.lemma11.equality").obligations[0].goal
    assert claim["integers"] == ["A", "H", "N", "S", "k"]
    too_early = certificate("x", claim, "REFUTED", {"point": dict(point) | {"k": "1"}})
    with pytest.raises(Rejected):
        check(too_early, claim)


@pytest.mark.parametrize(
    ("name", "words"),
    [("tight", "actions alone"), ("printed_gaussian", "larger"),
     ("lemma9", "densities"), ("definition3", "convention")],
)  # fmt: skip
def test_what_is_not_covered_is_said(name, words):
    assert words in lookup(f"rlsvi.{name}").not_covered


def test_assumptions_that_carry_a_verdict_are_named():
    found = results()
    for name in ("tight", "tight_joint", "printed_gaussian"):
        assert found[f"rlsvi.{name}"].assumptions == found["classic.adaptive_normal_gdp"].assumptions != ()
    for name in ("lemma12", "theorem13", "corollary14"):
        assert found[f"rlsvi.{name}"].assumptions == ()


def test_bad_statements_are_refused():
    with pytest.raises(ValueError, match="kind 'theorem'"):
        replace(BASE, kind="theorem")
    with pytest.raises(ValueError, match="parts and obligations"):
        replace(BASE, parts=("t.b",))
    for entry in (BASE, WHOLE):
        with pytest.raises(ValueError, match="cannot have a reason"):
            replace(entry, reason="because")
    with pytest.raises(ValueError, match="two obligations have the same name"):
        replace(BASE, obligations=BASE.obligations * 2)
    with pytest.raises(ValueError, match="must contain >=, > or =="):
        make_goal({}, "1 < 2")
    with pytest.raises(KeyError):
        lookup("rlsvi.lemma99")
    with pytest.raises(KeyError):
        verify(["rlsvi.lemma99"])


def test_formula_replaces_whole_names_only():
    assert "log(2*H*S*A)" in formula("rlsvi.lemma12", K="3")
    assert "(3)" in formula("rlsvi.lemma12", K="3")


def test_a_goal_without_a_false_version_is_open():
    """Its hypotheses might be impossible."""
    entry = lookup("classic.triangle")
    bare = tuple(replace(x, mutation=None) for x in entry.obligations)
    assert registry.verify_page(entry, {}).verdict is Verdict.PROVED
    assert registry.verify_page(replace(entry, obligations=bare), {}).verdict is Verdict.OPEN
