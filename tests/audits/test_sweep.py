"""Sweeps of packages: one error probability for all claims, smallest pairs, records that replay, and what they say."""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import mpmath
import numpy as np
import pytest
from click.testing import CliRunner

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.sweep import record as records
from dpproof.audits.sweep import sweeping
from dpproof.audits.sweep.coverage import answer_on
from dpproof.audits.sweep.table import Entry, Meaning, Package, known_packages, package_named
from dpproof.cli import app
from dpproof.report import sweeps

DOCS = Path(__file__).resolve().parents[2] / "docs"
RECORDED = sorted(path.stem for path in records.RECORDS.glob("*.json"))
ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE


@dataclass(frozen=True)
class Sum:
    """A noisy sum of records in [0, 1], rounded so that its low bits show nothing."""

    scale: float

    def __call__(self, data, n, rng):
        return np.round(np.sum(data) + rng.laplace(0, self.scale, n), 3)


def entry(name, scale, bases):
    return Entry(
        name=name, sampler=Sum(scale), epsilon=1.0, bases=bases, records=(0.0, 1.0), budget=4_000, power=False
    )


@pytest.fixture
def package(monkeypatch):
    """A package with a sound sum, and a sum with a quarter of its noise, on a data set with records to leave out."""
    sound, faulty = entry("sound", 1.0, ([0.0],)), entry("faulty", 0.25, ([0.5] * 4,))
    table = Package("numpy", (sound, faulty), "It says nothing.")
    for module in (sweeping, records):
        monkeypatch.setattr(module, "package_named", lambda _name: table)
    return table


@pytest.fixture
def swept(package):
    found = list(sweeping.sweep("numpy", alpha=0.04))
    return records.begun("numpy", 0, 0.04).with_answers(found), found


def test_a_sweep_refutes_the_faulty_mechanism_only_on_the_smallest_pair_and_all_claims_share_alpha(swept):
    record, found = swept
    verdicts = {(one.mechanism, one.relation): one.verdict for one in found}
    assert verdicts == {
        ("sound", ADD): "inconclusive",
        ("sound", REPLACE): "inconclusive",
        ("faulty", ADD): "violation",
        ("faulty", REPLACE): "violation",
    }
    pairs = {one.relation: one.evidence.pair for one in found if one.mechanism == "faulty"}
    assert pairs == {ADD: "[0.5] and [0.5, 1.0]", REPLACE: "[0.5] and [1.0]"} or pairs[ADD].count("0.5") == 2
    shares = {one.evidence.alpha for one in found}
    assert shares <= {0.04 / 4 / 2, 0.04 / 4 / 2 / 6}
    assert "No single neighbouring relation covers numpy" in answer_on(record)[0]


def test_a_record_keeps_its_witnesses_and_a_changed_witness_does_not_replay(swept, tmp_path):
    record, _ = swept
    path = tmp_path / "record.json"
    path.write_text(record.text(), encoding="utf-8")
    again = records.read(path)
    assert again.text() == record.text()
    row = again.violations[0]
    assert records.replayed(row) == ""
    changed = json.loads(json.dumps(row))
    changed["evidence"]["witness"]["counts"]["won"] += 1
    assert "counts" in records.replayed(changed)


def test_a_relation_without_a_violation_is_named():
    rows = {
        ("f", relation.value): {"verdict": verdict.value}
        for relation, verdict in ((ADD, Finding.VIOLATION), (REPLACE, Finding.FLOATING_POINT))
    }
    about = {"package": "p", "version": "1", "alpha": 0.01, "claims": 2}
    said = answer_on(records.Record(about, rows))[0]
    assert said.endswith("under: replace. This says little, because 0 of these 1 audits were consistent.")
    rows["f", REPLACE.value] = {"verdict": Finding.CONSISTENT.value}
    assert answer_on(records.Record(about, rows))[0].endswith("found under: replace.")


def test_an_unknown_package_and_an_unknown_mechanism_are_refused():
    for arguments, word in ((["nothing"], "diffprivlib"), (["opendp", "--only", "?"], "only")):
        done = CliRunner().invoke(app, ["audit", "sweep", *arguments])
        assert isinstance(done.exception, ValueError)
        assert word in str(done.exception)


@pytest.mark.parametrize("name", known_packages())
def test_a_table_names_each_claim_once_and_its_pairs_are_neighbours(name):
    claims = package_named(name).claims
    keys = [(entry.name, relation) for entry, relation in claims]
    assert len(set(keys)) == len(keys)
    assert set(package_named(name).meanings) <= set(keys)
    for one, relation in claims:
        assert one.neighbours(relation)


@pytest.mark.parametrize("name", RECORDED)
def test_every_recorded_violation_keeps_its_share_of_alpha_and_says_what_it_means(name):
    record, table = records.recorded(name), package_named(name)
    draft = (DOCS / "sweep" / f"{name}.md").read_text(encoding="utf-8") if record.violations else ""
    sections = {int(number) for number in re.findall(r"^## (\d+)\. ", draft, re.MULTILINE)}
    assert record.about["claims"] == len(table.claims)
    for row in record.violations:
        evidence = Evidence.from_json(json.dumps(row["evidence"]))
        assert evidence.alpha <= record.about["alpha"] / record.about["claims"] / 2 * (1 + 1e-12)
        meaning = sweeps.meaning_of(row, table)
        assert meaning is not None, (row["mechanism"], row["relation"])
        assert meaning.draft in sections
        if meaning.exact is not None and row["verdict"] == Finding.VIOLATION.value:
            assert evidence.epsilon_lower <= meaning.exact, (row["mechanism"], meaning)


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDED)
def test_recorded_violations_replay(name):
    record = records.recorded(name)
    try:
        same = records.files_of(package_named(name).name) == record.about["files"]
    except metadata.PackageNotFoundError:
        same = False
    if not same:
        pytest.skip("the recorded version is not installed")
    for row in record.violations:
        assert records.replayed(row) == "", (row["mechanism"], row["relation"])


def test_opendp_computes_the_claims_of_its_table_itself():
    dp = pytest.importorskip("opendp.prelude")
    from dpproof.audits.sweep.packages.opendp import DELTA, ENTRIES, measurement_of

    for one in ENTRIES:
        made = measurement_of(one.sampler.what, one.sampler.scale)
        (relation,) = one.claims
        d_in = 2 if relation is REPLACE else 1
        if "gaussian" in one.name:
            distance = float(d_in) if "floats" in one.name else d_in
            computed = dp.c.make_zCDP_to_approxDP(made).map(distance).epsilon(DELTA)
        elif "threshold" in one.name:
            computed = made.map((1, 1, 1))
        else:
            computed = made.map(float(d_in) if "floats" in one.name or "canonical" in one.name else d_in)
        epsilon, delta = computed if isinstance(computed, tuple) else (computed, one.delta)
        assert (epsilon, delta) == (one.epsilon, one.delta), one.name


def test_statuses_are_checked():
    with pytest.raises(ValueError, match="status"):
        Meaning("probably", "")


def _tail(q, k):
    """P[noise >= k] of the two-sided geometric noise with ratio q, for a whole number k."""
    return q**k / (1 + q) if k >= 1 else 1 - q ** (1 - k) / (1 + q)


def test_exact_epsilons_of_the_counts_of_diffprivlib():
    """Enumerated from the published laws: GeometricTruncated with ratio exp(-epsilon), clipped to [0, n]."""
    with mpmath.workdps(30):
        q = mpmath.exp(-1)
        reach = {n: [_tail(q, 2 - value) if n >= 2 else 0 for value in (0, 1)] for n in (1, 2)}
        assert reach[1] == [0, 0]
        assert 0.26 < reach[2][1] < 0.27  # count_nonzero: "the output is 2" needs two records
        stays = _tail(q, 0)  # histogram: a count of 1 is reported as at least 1, and a count of 0 as 0
        moves = _tail(q, 1)
        assert mpmath.almosteq(mpmath.log(stays**2 / moves**2), 2, 1e-25)
        assert mpmath.almosteq(sum(_tail(q, k) - _tail(q, k + 1) for k in range(-60, 60)), 1, 1e-20)


def test_exact_epsilon_of_the_mean_of_diffprivlib_under_add_remove():
    """LaplaceTruncated has scale 1 / n: on [0] and [0, 1] the densities at 1/2 have a ratio above e."""
    ratio = (1 / (2 * 0.5)) / (math.exp(-0.5) / 2)
    assert math.log(ratio) == pytest.approx(0.5 + math.log(2))
    assert math.log(ratio) > 1


def test_exact_probability_of_the_mean_of_integers_of_pydp():
    """The noisy sum minus n / 2 is 0 only for even n; for n = 2 and zeros, if rounded Laplace noise of scale 1 is 1."""
    with mpmath.workdps(30):
        event = mpmath.quad(lambda x: mpmath.exp(-x) / 2, [0.5, 1.5])
        assert mpmath.nstr(event, 4) == "0.1917"
    assert [n for n in range(1, 5) if (n / 2).is_integer()] == [2, 4]


def test_exact_epsilon_of_the_leaves_of_diffprivlib_under_replace():
    """Permute-and-flip with epsilon 1 on the counts (0, 1) and (1, 0), and in the limit of large counts."""

    def label_0(zeros, ones):
        """The first label in a random order is accepted with exp(its count - the largest); else the other is."""
        accepted = [math.exp(one - max(zeros, ones)) for one in (zeros, ones)]
        return (
            accepted[0] / 2 + (1 - accepted[1]) * accepted[0] / 2
            if zeros < ones
            else 1 - label_0(ones, zeros)
        )

    ratio = label_0(1, 0) / label_0(0, 1)
    assert math.log(ratio) == pytest.approx(math.log(2 * math.e - 1))
    assert math.log(label_0(1, 9) / label_0(0, 10)) == pytest.approx(2, abs=1e-6)


def test_exact_ratio_of_the_slopes_of_diffprivlib_has_no_bound():
    """A product with Laplace noise of scale 3, divided by the exact sum of squares: 1, or 2 with one more record."""

    def density(t, scale):
        return math.exp(-abs(t) / scale) / (2 * scale)

    for t in (0.0, 6.0, 30.0, 90.0):
        assert density(t, 3.0) / density(t, 1.5) == pytest.approx(math.exp(t / 3) / 2)


def test_exact_epsilon_of_the_forest_of_diffprivlib_under_add_remove():
    """Two left leaves: counts (1, 0) twice, or (2, 0) and (0, 1) after the borders between the trees have moved."""

    def wrong(apart):
        """The label with fewer records is selected if it comes first and is accepted."""
        return math.exp(-apart) / 2

    before, after = wrong(1) * (1 - wrong(1)), wrong(2) * wrong(1)
    assert math.log(before / after) == pytest.approx(1 + math.log(2 * math.e - 1))
    assert [[i // (n / 2) for i in range(n)] for n in (4, 5)] == [[0, 0, 1, 1], [0, 0, 0, 1, 1]]


def test_exact_epsilon_of_the_forest_of_diffprivlib_on_two_records_and_three():
    """The possible labels of the four leaves: left and right of the first tree, then of the second."""

    def chances(counts):
        """The probabilities of the labels 0 and 1, by permute-and-flip with epsilon 1, or of a fair coin."""
        wrong = math.exp(-1) / 2
        return {(0, 0): (0.5, 0.5), (1, 0): (1 - wrong, wrong), (0, 1): (wrong, 1 - wrong)}[counts]

    def law(*leaves):
        return [math.prod(labels) for labels in itertools.product(*map(chances, leaves))]

    before, after = law((1, 0), (0, 0), (0, 0), (0, 1)), law((1, 0), (0, 1), (0, 1), (0, 0))
    epsilon = max(abs(math.log(one / other)) for one, other in zip(before, after, strict=True))
    assert epsilon == pytest.approx(1 + math.log(2 * math.e - 1))
    assert [[i // (n / 2) for i in range(n)] for n in (2, 3)] == [[0, 1], [0, 0, 1]]


def test_a_run_of_diffprivlib_begins_with_an_empty_list_of_uses():
    """The package keeps one list for the process, and fits read it: after 400,000 uses one took 300 times longer."""
    accountant = pytest.importorskip("diffprivlib.accountant").BudgetAccountant
    from dpproof.audits.sweep.packages.diffprivlib import Run

    run = Run("tools.mean", {"epsilon": 1.0, "bounds": (0.0, 1.0)})
    for _ in range(3):
        run([0.0, 1.0], 5, np.random.default_rng(0))
    assert len(accountant.load_default(None)) == 5


def test_tumult_core_computes_the_claims_of_its_table_itself():
    pytest.importorskip("tmlt.core")
    from tmlt.core.measurements.converters import RhoZCDPToApproxDP

    from dpproof.audits.sweep.packages.tmlt_core import DISTANCES, ENTRIES

    for one in ENTRIES:
        made = one.sampler.made()
        if one.delta:
            assert RhoZCDPToApproxDP(made).privacy_relation(1, (str(one.epsilon), str(one.delta))), one.name
        else:
            distance = int(DISTANCES.get(one.claims[0], 1))
            assert made.privacy_function(distance).to_float(round_up=True) == one.epsilon, one.name


def test_smartnoise_computes_the_epsilon_of_its_queries_itself():
    pytest.importorskip("snsql")
    from dpproof.audits.sweep.packages.smartnoise_sql import BASES, ENTRIES, Query

    for one in ENTRIES:
        if isinstance(one.sampler, Query):
            epsilon, delta = one.sampler.reader(BASES[0]).get_privacy_cost(one.sampler.select)
            assert epsilon == one.epsilon, one.name
            assert one.delta == 0 or one.delta <= delta * 1.3, one.name


def test_exact_probabilities_of_the_second_place_in_a_subset_of_multi_freq_ldpy():
    """Enumerated from the published code: the true value is written to place 0, or it is not in the array."""

    def second(k, size, truth, place_1):
        p = size * math.e / (size * math.e + k - size)
        others = [one for one in range(k) if one != truth]
        within = [array[0] == place_1 for array in itertools.permutations(others, size - 1)]
        without = [array[1] == place_1 for array in itertools.permutations(others, size)]
        return p * sum(within) / len(within) + (1 - p) * sum(without) / len(without)

    assert round(10 / (math.e + 1)) == 3
    assert round(4 / (math.exp(0.5) + 1)) == 2
    assert second(10, 3, truth=1, place_1=1) == 0
    assert second(10, 3, truth=0, place_1=1) == pytest.approx(1 / 9)
    assert second(4, 2, truth=0, place_1=1) == pytest.approx(1 / 3)


def test_exact_epsilon_of_random_sampling_plus_fake_data_for_one_attribute_and_for_all():
    """All reports of two attributes with k values, by generalised randomised response with the larger epsilon."""
    k, amplified = 4, math.log(2 * (math.e - 1) + 1)
    p = math.exp(amplified) / (math.exp(amplified) + k - 1)

    def report(values, seen):
        kept = [p if value == one else (1 - p) / (k - 1) for value, one in zip(values, seen, strict=True)]
        return sum(kept) / 2 / k

    def epsilon(first, second):
        reports = itertools.product(range(k), repeat=2)
        return max(abs(math.log(report(first, seen) / report(second, seen))) for seen in reports)

    assert epsilon((0, 0), (1, 0)) == pytest.approx(1)
    assert epsilon((0, 0), (1, 1)) == pytest.approx(amplified)
    assert amplified == pytest.approx(math.log(2 * math.e - 1))


@pytest.mark.parametrize(("random_fake", "one_attribute"), [(False, 1.0), (True, 1.182)])
def test_exact_epsilon_of_fake_data_by_unary_encoding(random_fake, one_attribute):
    """All reports of two attributes with k bits each. The fake data are zeros or a random value, both with noise."""
    k, amplified = 4, math.log(2 * (math.e - 1) + 1)
    p, q = 1 / 2, 1 / (math.exp(amplified) + 1)

    def unary(value, bits):
        on = [p if place == value else q for place in range(k)]
        return math.prod(one if bit else 1 - one for one, bit in zip(on, bits, strict=True))

    def fake(bits):
        return sum(unary(one, bits) for one in range(k)) / k if random_fake else unary(None, bits)

    def report(values, seen):
        return sum(unary(values[one], seen[one]) * fake(seen[1 - one]) for one in (0, 1)) / 2

    def epsilon(first, second):
        reports = itertools.product(itertools.product((0, 1), repeat=k), repeat=2)
        return max(abs(math.log(report(first, seen) / report(second, seen))) for seen in reports)

    assert epsilon((0, 0), (1, 0)) == pytest.approx(one_attribute, abs=1e-3)
    assert epsilon((0, 0), (1, 1)) == pytest.approx(amplified)


def test_exact_epsilon_of_the_variance_of_pipeline_dp():
    """Three Laplace noises at a third of epsilon each, for the bounds -1 and 1 and a further record with value 1."""
    lower, upper, value = -1.0, 1.0, 1.0
    middle = (lower + upper) / 2
    given = (1.0, (upper - lower) / 2, max(lower**2, upper**2) / 2)
    changed = (1.0, abs(value - middle), (value - middle) ** 2)
    epsilon = sum(change / noise / 3 for change, noise in zip(changed, given, strict=True))
    assert epsilon == pytest.approx(4 / 3)
    below = math.prod(math.exp(-change / noise / 3) / 2 for change, noise in zip(changed, given, strict=True))
    assert math.log((1 / 8) / below) == pytest.approx(epsilon)
