"""The audit benchmarks: limits against published ones, levels nested, campaigns that stop and go on."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from benchmarks.audits import __main__ as command
from benchmarks.audits import alarms, beside, boundary, limits, page, peers, power, rows, tables
from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP, PureDP
from dpproof.audits.corpus.case import Case
from dpproof.audits.corpus.laplace_cases import counts_pair
from dpproof.audits.data.neighbours import Distance
from dpproof.audits.engine.sampling.callables import MechanismError
from dpproof.audits.recording.evidence import Finding

SIGMA = 3.730632


@pytest.mark.parametrize(
    ("limit", "published"),
    [
        (limits.laplace_limit(1, 1.1), 5921),
        (limits.laplace_limit(1, 1.5), 279),
        (limits.laplace_limit(1, 2), 86),
        (limits.laplace_limit(0.1, 0.11), 322_820),
        (limits.response_limit(1, 1.05), 15_791),
        (limits.response_limit(1, 2), 57),
    ],
)
def test_limits_of_pure_claims_are_the_published_ones(limit, published):
    assert round(limit) == published


@pytest.mark.slow
@pytest.mark.parametrize(("share", "published"), [(0.25, 214), (0.5, 7618)])
def test_limits_of_a_gaussian_point_are_near_the_published_ones(share, published):
    assert limits.gaussian_limit(ApproxDP(1, 1e-5), 1 / (SIGMA * share), (1.0,)) == pytest.approx(
        published, rel=0.02
    )


@pytest.mark.slow
def test_the_limit_of_a_curve_is_far_below_that_of_its_point():
    found = limits.gaussian_limit(GaussianDP(1 / SIGMA), 4 / SIGMA, tuple(np.linspace(0, 1.2, 7).tolist()))
    assert found == pytest.approx(54, rel=0.03)


@pytest.mark.slow
def test_at_least_ten_mechanisms_are_exactly_on_their_claims():
    found = alarms.cases()
    assert len(found) >= 10
    for case in found.values():
        if isinstance(case, Case):
            assert case.truth().upper == pytest.approx(case.claim.epsilon(case.delta).upper, rel=1e-6)
    assert "laplace, 1.1 times the loss" not in found
    assert "sparse vector 1" not in found


def _case(true, sampler=None):
    def laplace(value, n, rng):
        return np.asarray(value) + rng.laplace(0, 1 / true, (n, 1))

    return Case(
        name="test",
        mechanism=sampler or laplace,
        pair=counts_pair([0.0], [1.0], Distance.ONE),
        claim=PureDP(1),
        expected=Finding.VIOLATION,
        truth=None,
        reason="",
    )


@pytest.mark.slow
def test_the_verdict_at_a_small_level_is_that_of_an_audit_at_it():
    case, budget, several = _case(1.5), 400, set()
    for seed in range(20):
        found = alarms._one(case, seed, budget)["violations"]
        for alpha in alarms.ALPHAS:
            own = case.audit(seed=seed, alpha=alpha, budget=budget).verdict is Finding.VIOLATION
            assert found[str(alpha)] == own
        several.add(tuple(found.values()))
    assert {(False, False), (True, False), (True, True)} <= several


@pytest.mark.slow
def test_a_refused_run_is_told_from_a_valid_one_and_replaced():
    def nan(value, n, rng):
        return np.full((n, 1), np.nan)

    with pytest.raises(MechanismError):
        _case(1, nan).audit(seed=0)
    assert "NaN" in alarms._one(_case(1, nan), 0, 100)["refused"]
    name = alarms.UNIT.name
    known = [{"case": name, "seed": seed, "refused": "why" if seed == 3 else None} for seed in range(10)]
    assert [task[1] for task in alarms.tasks(known, 10) if task[0] == name] == [(10,)]


def _work(name, seeds):
    return [{"trial": name, "seed": seed, "samples": seed} for seed in seeds]


def test_a_campaign_goes_on_where_it_stopped(tmp_path):
    path = tmp_path / "rows.jsonl"
    with ThreadPoolExecutor(2) as executor:
        rows.collect(path, _work, [("a", (0, 1)), ("a", (2,))], executor, engine="one")
    with path.open("a") as file:
        file.write(json.dumps({"engine": "one", "trial": "a", "seed": 2, "samples": 2}) + "\n")
        file.write('{"engine": "one", "trial": "a", "se')
    assert sorted(row["seed"] for row in rows.read(path, engine="one")) == [0, 1, 2]
    assert rows.read(path, engine="two") == []


def test_only_missing_seeds_are_measured():
    trial = next(iter(power.TRIALS.values()))
    known = [{"trial": trial.name, "seed": seed} for seed in range(trial.runs - 3)]
    assert [seeds for name, seeds in power.tasks(known) if name == trial.name] == [(197, 198, 199)]


def test_a_peer_that_is_missing_is_skipped_visibly(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(command, "say", said.append)
    command._peers(tmp_path / "peers.jsonl", {"jax-privacy": sys.executable, "dp-sniper": "no such python"})
    assert len(said) == len(peers.PEERS)
    assert all("skipped" in line for line in said)
    assert rows.read(tmp_path / "peers.jsonl") == []


def test_a_tool_refutes_with_a_size_only_if_it_does_with_all_larger_ones():
    claim = peers.CLAIMS[2]
    sizes = {100: (True, True), 200: (True, False), 400: (True, True)}
    found = [
        {"samples": size, "refutes": refutes, "epsilon_lower": 1.2, "cpu": 0.1}
        for size, several in sizes.items()
        for refutes in several
    ]
    assert tables._peer(claim, "a tool", found)[2] == "400"


def test_only_the_measured_rows_of_other_tools_change_on_the_page(tmp_path):
    """Only the rows of the measured tool change; a row of another tool and another section stay on the page."""
    claim = peers.CLAIMS[2].name
    row = {"peer": "MMD e-process", "claim": claim, "per_side": 2_000, "cpu": 0.5, "epsilon_lower": None}
    now = [
        {**row, "seed": seed, "samples": 100, "refutes": True, "version": "new", "date": "d"}
        for seed in (0, 1)
    ]
    kept = [claim, "statdp", "4,000", "0.01", "400,000", "5 of 5", "", "0.35"]
    old = [beside.TITLE, "", *tables.table(beside.TOOLS, [["statdp", "0.1", "c", "5"]]), ""]
    old += [*tables.table(tables.HEADS, [kept]), "", "## The next section", "", "It stays."]
    path = tmp_path / "audits.md"
    path.write_text("# The page\n\n" + "\n".join(old))
    beside.rewrite(path, beside.section(now, [], [], path.read_text()))
    text = path.read_text()
    assert text.startswith("# The page\n")
    assert text.endswith("\n## The next section\n\nIt stays.")
    assert f"| {' | '.join(kept)} |" in text
    assert f"| {claim} | MMD e-process | 100 (90 %: 100) | 0.50 | 4,000 | 2 of 2 |  | 0.50 |" in text
    assert [line for line in text.splitlines() if "| 0.1 |" in line or "| new |" in line] == [
        "| statdp | 0.1 | c | 5 |",
        "| MMD e-process | new | d | 10 |",
    ]


def test_the_largest_mmd_of_a_gaussian_is_that_of_the_closed_form():
    claim = peers.CLAIMS[5]
    spread = 2 * claim.scale**2
    widths = (claim.scale * np.geomspace(0.1, 4, 2000)) ** 2
    squared = 2 * np.sqrt(widths / (widths + spread)) * (1 - np.exp(-1 / (2 * (widths + spread))))
    assert beside.largest_mmd(claim) == pytest.approx(math.sqrt(squared.max()), rel=3e-4)


def test_a_section_that_was_not_measured_stays_as_it_is_on_the_page(tmp_path):
    (tmp_path / "docs").mkdir()
    text = page.write(tmp_path, tmp_path, "none")[0].read_text()
    assert text.count("Not measured yet") == 6
    (tmp_path / "docs" / "audits.md").write_text(text.replace("Not measured yet", "Measured long ago", 1))
    again = page.write(tmp_path, tmp_path, "none")[0].read_text()
    assert (again.count("Measured long ago"), again.count("Not measured yet")) == (1, 5)


def test_a_target_that_was_missed_is_called_so():
    trial = power.TRIALS["Laplace 1 -> 2"]
    spent = [{"trial": trial.name, "samples": 1000 + seed, "refuted": True} for seed in range(4)]
    assert tables.power_table(spent)[-1].endswith("180: missed |")


def test_words_do_not_change_the_engine_and_code_does():
    text = 'def f():\n    """Once."""\n    return 1  # said\n'
    assert rows.code(text) == rows.code(text.replace("Once", "Twice").replace("said", "unsaid"))
    assert rows.code(text) != rows.code(text.replace("return 1", "return 2"))


def test_sixty_sound_mechanisms_of_six_kinds_differ_and_are_measured_in_turn():
    kinds = Counter(case.name.split()[0] for case in boundary.CASES)
    assert (len({case.name for case in boundary.CASES}), set(kinds.values())) == (60, {10})
    known = [{"case": "number 1, laplace 1", "seed": seed} for seed in range(10)]
    assert "number 1, laplace 1" not in dict(list(boundary.tasks(known))[:59])
    (row,) = boundary.measured("text cat, 3 letters, epsilon 1", (0,))
    assert "| text | 1 | 1 | 0 | 1 | 0 | none |" in tables.boundary_table([row])
