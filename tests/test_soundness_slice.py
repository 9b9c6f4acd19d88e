"""A slice of the soundness campaign, and the points at which it once found an end on the wrong side."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.soundness import __main__ as runner
from benchmarks.soundness import attacks, rounded_noise
from benchmarks.soundness import references as reference
from benchmarks.soundness.asking import against, composed, point
from benchmarks.soundness.attack import Attack, judged
from benchmarks.soundness.attacks import ATTACKS
from benchmarks.soundness.cases import Box, Case, Outcome, judge
from benchmarks.soundness.checks import CASES
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.pairs.atoms import Atoms
from dpproof.accountant.pairs.base import Cells
from dpproof.accountant.pairs.binomial import ShiftedBinomial
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.pairs.spherical_gaussians import SphericalGaussians
from dpproof.accountant.pairs.unequal_gaussians import UnequalGaussians
from dpproof.accountant.privacy_loss.by_grid import epsilon_by_grid
from dpproof.accountant.privacy_loss.by_inversion import epsilon_by_inversion
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.privacy_loss.single import delta_by_masses

SLOW = {
    "spherical Gaussians, one",
    "DP-SGD",
    "DP-SGD, both routes",
    "other pairs, monotone",
    "truncated Poisson, both bounds",
    "Gaussian sparse vector, lower bound",
}
"""The cases and attacks that may take seconds for one point."""


@pytest.mark.parametrize(
    "case", [pytest.param(c, id=c.name, marks=[pytest.mark.slow] * (c.name in SLOW)) for c in CASES]
)
def test_no_end_is_on_the_wrong_side(case: Case) -> None:
    rng = np.random.default_rng(20)
    outcomes = [case.outcome(rng) for _ in range(4)]
    assert [o.detail for o in outcomes if o.status == "violation"] == []


def test_a_grid_without_any_mass_of_q_is_no_zero() -> None:
    """Q's masses underflow: the splitting was 0 times infinity, and the upper law vanished."""
    low, high = epsilon_by_grid([(SubsampledGaussian(1.0, 0.006717834273064365), 7)], Fraction(5.638e-8))
    with precision(400):
        mu = point(7.0).sqrt() / point(0.006717834273064365)
        assert reference.gaussian(mu, point(high)) <= point(5.638e-8) < reference.gaussian(mu, point(low))


def test_the_logarithm_of_a_small_probability_is_charged() -> None:
    """The true deltas at the ends are from mpmath, 80 digits: 1.4306607e-30 at what was the upper end."""
    pair = SphericalGaussians(0, -0.020369654062606726, 3)
    assert delta_by_masses(pair, Fraction(0.061108962187550055))[1] >= 1.43066070479e-30
    assert delta_by_masses(pair, Fraction(0.061108962187542))[0] <= 1.53972680313e-30


@pytest.mark.parametrize(
    ("log_ratio", "dimension", "epsilon"),
    [
        (0.0011361379894680522, 10, 0.011361347768837207),
        (0.014091883504557897, 10, 0.14091883503551195),
        (0.00849050029537299, 17, 0.1443385006228681),
    ],
)
def test_a_delta_near_the_largest_loss_is_enclosed(log_ratio: float, dimension: int, epsilon: float) -> None:
    """The reference is regularised incomplete gamma functions in Arb. Each upper bound was too low before."""
    low, high = delta_by_masses(SphericalGaussians(0, -log_ratio, dimension), Fraction(epsilon))
    with precision(600):
        truth = reference.spheres(point(0.0), -point(log_ratio), dimension, point(epsilon))
    assert low <= truth <= high


@pytest.mark.parametrize(
    ("shift", "log_ratio", "dimension", "edge", "truth"),
    [(1, -0.3, 12, 4.2081839954133615, 4.1348374e-39), (1, -0.3, 13, 4.508184607558869, 2.1028306e-71)],
)
def test_a_mass_that_is_hardly_known_is_enclosed(
    shift: float, log_ratio: float, dimension: int, edge: float, truth: float
) -> None:
    """The true masses above the edges are Poisson mixtures of chi squares, at 900 bits."""
    cells = SphericalGaussians(shift, log_ratio, dimension).cells(np.array([edge]))
    mass, error = cells.p[1], np.asarray(cells.p_error)[1]
    assert mass * (1 - error) <= truth * (1 + 1e-7)
    assert truth * (1 - 1e-7) <= mass * (1 + error)


def test_a_mass_between_tails_of_the_odd_dimensions_beside_it_is_enclosed() -> None:
    """The true mass is 7.16386e-6, from a rigorous integral over one coordinate in Arb."""
    cells = SphericalGaussians(10, 1e-4, 4).cells(np.array([55.0, 55.0 * (1 + 3.7e-6)]))
    mass, error = cells.p[1], np.asarray(cells.p_error)[1]
    assert mass * (1 - error) <= 7.16387e-6
    assert mass * (1 + error) >= 7.16385e-6


class MovedEdges(Atoms):
    """A pair whose slack depends on the number of edges: it moves two edges, and does not move a single one."""

    def cells(self, edges: NDArray[np.float64]) -> Cells:
        moved = 5e-4 * (len(edges) > 1)
        return replace(super().cells(edges + moved), slack=2 * moved)


def test_the_slack_of_the_edges_that_are_used_is_charged() -> None:
    pair = MovedEdges(["0.5", "0.4", "0.1"], ["0.49985", "0.1", "0.40015"])
    losses = math.log(0.5 / 0.49985), math.log(4)
    epsilon = losses[0] - 2e-4
    truth = 0.9 - math.exp(epsilon) * 0.59985
    low, high = delta_by_masses(pair, Fraction(epsilon))
    assert low <= truth <= high


def test_a_tail_raised_to_the_smallest_mass_is_charged() -> None:
    at = 0.11688123163810402, 2.648416404021869, 0.8252801365746807
    epsilon = 588.572135995767
    low, high = delta_by_masses(UnequalGaussians(*at), Fraction(epsilon))
    with precision(2000):
        truth = reference.unequal_gaussians(*(point(x) for x in at), point(epsilon))
        assert point(low) <= truth <= point(high)


@pytest.mark.parametrize(
    ("rate", "sigma", "steps", "delta"),
    [
        (0.4038314975370604, 0.5559918107973848, 14134, 7.222e-13),
        (0.07202153705626704, 0.30696798366636296, 3716, 1.107e-05),
    ],
)
def test_no_surplus_is_given_twice_on_the_grid(rate: float, sigma: float, steps: int, delta: float) -> None:
    """The lower end of the grid's route was above the other route's upper end."""
    pair = SubsampledGaussian(rate, sigma)
    characteristic = pair.characteristic()
    assert characteristic is not None
    first = epsilon_by_inversion([(characteristic, steps)], Fraction(delta))
    second = epsilon_by_grid([(pair, steps)], Fraction(delta))
    assert first[0] <= second[1]
    assert second[0] <= first[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "sigma", "steps", "delta", "width"),
    [
        (1e-6, 200.0, 10**6, 1e-22, 1e-2),
        (3.42e-6, 6660.0, 2, 1.5e-20, 1e-3),
        (2.2e-5, 121.0, 5648, 2e-23, 1e-3),
        (7.66e-3, 87.8, 3, 1e-30, 1e-6),
    ],
)
def test_small_rates_are_answered(rate: float, sigma: float, steps: int, delta: float, width: float) -> None:
    pair = SubsampledGaussian(rate, sigma)
    for direction in (pair, pair.reversed()):
        found = composed(direction, steps).epsilon(delta)
        assert 0 < found.lower <= found.upper <= found.lower * (1 + width)


def test_more_mass_at_infinity_than_delta_is_an_infinite_epsilon() -> None:
    for count in (1, 2):
        assert composed(ShiftedBinomial(4, "1/2"), count).epsilon(1e-3).lower == math.inf


def test_a_wrong_answer_is_seen() -> None:
    class Better:
        """Claims a smaller epsilon than the truth."""

        def delta(self, epsilon: object) -> object:
            raise NotImplementedError

        def epsilon(self, delta: float) -> object:
            return composed(Laplace(1.01), 1).epsilon(delta)

    seen = against(Better(), 1e-3, lambda e: reference.laplace_single(point(1.0), e), "known bad")
    assert seen.status == "violation"
    assert judge(1.0, 2.0, 2.5, 3.0, "").status == "violation"
    assert judge(0.0, math.inf, 1.0, 1.0, "").status == "no answer"


@pytest.mark.slow
@pytest.mark.parametrize(("shrunk", "status"), [(0.0, "ok"), (1e-9, "violation")])
def test_a_wrong_end_of_a_training_is_seen(
    monkeypatch: pytest.MonkeyPatch, shrunk: float, status: str
) -> None:
    """The integral that DP-SGD is compared with shows an upper end that is too small by so much of its value."""

    def smaller(loss: PrivacyLoss, delta: float) -> Bound:
        found = asked(loss, delta)
        upper = found.upper * (1 - shrunk)
        return Bound(min(found.lower, upper), upper)

    asked = PrivacyLoss.epsilon
    monkeypatch.setattr(PrivacyLoss, "epsilon", smaller)
    case = next(case for case in CASES if case.name == "DP-SGD")
    outcome = case.outcome(np.random.default_rng(11))
    assert (outcome.status, outcome.region) == (status, "all")


def test_a_campaign_resumes_where_it_stopped(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    box = Box({"x": (1.0, 2.0)})

    def check(rng: np.random.Generator) -> Outcome:
        return Outcome("ok", box.draw(rng)["x"] - 1)

    monkeypatch.setattr(runner, "CASES", (Case("one", "consistency", 40, 10, check, "x"),))
    folder = tmp_path / "campaign"
    with ThreadPoolExecutor(2) as executor:
        runner.campaign(folder, 1.0, None, executor)
        path = folder / "chunks.jsonl"
        whole = path.read_text().splitlines()
        path.write_text("\n".join([*whole[:2], whole[2][:20]]) + "\n")
        runner.campaign(folder, 1.0, None, executor)
    rows = runner.read(path)
    timeless = [{k: v for k, v in row.items() if k != "seconds"} for row in rows]
    before = [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in whole]
    assert sorted(timeless, key=lambda r: r["chunk"]) == sorted(before, key=lambda r: r["chunk"])
    assert "| one | consistency | all | 40 | 0 | 0 |" in runner.page(rows, folder)


def test_draws_of_rounded_noise_are_compared_with_exact_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alpha 1e-6, 200,000 draws a case. A scale that is 10 % larger is rejected."""
    monkeypatch.setattr(rounded_noise, "CONTROL", Fraction(11, 10))
    rows = [rounded_noise.checked(noise, 200_000) for noise in rounded_noise.CASES]
    assert all(row.passed for row in rows), rows
    assert rounded_noise.section(tmp_path) == []
    (tmp_path / rounded_noise.FILE).write_text(json.dumps([asdict(row) for row in rows]))
    assert sum(line.endswith("| yes |") for line in rounded_noise.section(tmp_path)) == len(rows)


@pytest.mark.parametrize(
    "attack", [pytest.param(a, id=a.name, marks=[pytest.mark.slow] * (a.name in SLOW)) for a in ATTACKS]
)
def test_no_attack_succeeds(attack: Attack) -> None:
    """One instance of each family. The page docs/soundness.md has the others."""
    found = attacks.seen(attack, 0)
    assert not found.wrong, found.detail


def test_a_successful_attack_is_seen() -> None:
    assert judged(Bound(0.0, 0.5), 0.51, "above the upper bound").wrong
    assert judged(Bound(0.3, 0.5), 0.4, "below the lower bound", least=0.29).wrong
    assert not judged(Bound(0.3, 0.5), 0.4, "between", least=0.31).wrong


def test_attacks_resume_and_replace_their_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Attack("one", "by hand", 3, lambda rng, fine: judged(Bound(0.0, 0.5), rng.uniform(0, 0.5), "drawn"))
    monkeypatch.setattr(attacks, "ATTACKS", (one,))
    assert attacks.section(tmp_path) == []
    attacks.run(tmp_path, 1.0, None)
    attacks.run(tmp_path, 1.0, None)
    assert [row["number"] for row in attacks.read(tmp_path)] == [0, 1, 2]
    page = tmp_path / "page.md"
    page.write_text("# Page\n", encoding="utf-8")
    for _ in range(2):
        attacks.write(page, tmp_path)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Page\n\n## Attacked")
    assert text.count("| one | by hand | 3 |") == 1
