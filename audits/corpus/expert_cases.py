"""Test cases of expert-level offline learning: a release and a training step, with and without faults.

For the release, the two inputs are experts with equal policies, with and without one of them. For the training step,
the inputs are one gradient, of 0 or of negative sign, with and without a second gradient of the clipping norm.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import ApproxDP, PureDP
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.published import published
from dpproof.accountant.rl.expert.design import Design, Rounds, printed_design, round_losses
from dpproof.accountant.rl.expert.selective_dpsgd import SelectiveDPSGDParameters, account
from dpproof.audits.corpus.case import Case
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.scores.atoms import tokens
from dpproof.audits.engine.scores.protocol import Projection
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.rl.expert.release import PrefixRound, one_expert_more
from dpproof.mechanisms.rl.expert.release import stable_lengths

PLACE = 11
PAPER = "expert"

Floats = NDArray[np.float64]


class Batch(enum.Enum):
    """The rule by which the batch of a training step is drawn."""

    POISSON = "each expert by a coin of its own"
    EXACT = "exactly b experts"


@dataclass(frozen=True)
class TrainingStep:
    """A mechanism that runs one step of selective DP-SGD with one parameter, perhaps with a fault.

    An input is the experts' gradients, one number each. An output is two numbers: whether the step is noisy, and the
    noisy sum of gradients.

    Attributes:
        rate: the probability that an expert is in the batch of a noisy step.
        probability: the probability that the step is noisy.
        noise_multiplier, clip: the standard deviation of the noise is their product.
        batch: the rule by which the batch is drawn.
        transitions: the number of transitions of each expert in the batch; 1 is correct.
        noise_unit: in a faulty step, the number that replaces ``clip`` in the standard deviation of the noise; else
            None.
    """

    rate: float
    probability: float
    noise_multiplier: float
    clip: float = 1.0
    batch: Batch = Batch.POISSON
    transitions: int = 1
    noise_unit: float | None = None

    def __call__(self, gradients: Floats, n: int, rng: np.random.Generator) -> Floats:
        """Return coin and sum of ``n`` steps, ``(n, 2)``; the sum of a step without noise is known, here 0."""
        clipped = np.clip(gradients, -self.clip, self.clip) * self.transitions
        sums = _DRAWN[self.batch](clipped, self.rate, n, rng)
        scale = self.noise_multiplier * (self.clip if self.noise_unit is None else self.noise_unit)
        coin = rng.random(n) < self.probability
        moved = np.where(coin, sums + rng.normal(0.0, scale, n), 0.0)
        return np.stack([coin.astype(np.float64), moved], axis=1)


def _poisson(clipped: Floats, rate: float, n: int, rng: np.random.Generator) -> Floats:
    found: Floats = (rng.random((n, len(clipped))) < rate) @ clipped
    return found


def _exact(clipped: Floats, rate: float, n: int, rng: np.random.Generator) -> Floats:
    """Return the gradient of one random expert in each run; the rate is not used."""
    return clipped[rng.integers(0, len(clipped), n)]


_DRAWN = {Batch.POISSON: _poisson, Batch.EXACT: _exact}


PASS, FAIL = Finding.CONSISTENT, Finding.VIOLATION
LEAST, STEPS = 0.002, 6
DESIGN = Design(threshold_scale=4.0, count_scale=1.0, least_count=5.0, cutoff=2556.0)
"""Settings of the release for which the counts of four steps are at the cutoff. The ratio c_min/pmin is 2500, and the
margin is 14 threshold scales."""


def _alike(experts: int, least: float = LEAST, steps: int = STEPS) -> Any:
    return np.tile(np.array([1 - least, least]), (experts, steps, 1))


def _agreeing(experts: int, least: float = LEAST, steps: int = STEPS) -> Neighbours:
    table = _alike(experts, least, steps)
    described = f"{experts} experts who play alike, and one less"
    return Neighbours(table, table[:-1], Adjacency.EXPERT, described, one_expert_more)


PREFIXES = _agreeing(2577)


def claimed_of(design: Design, least: float, experts: int) -> Rounds:
    """Return the guarantee of one round of the release with the settings ``design``."""
    return Rounds(1, *(Fraction(bound.upper) for bound in round_losses(design, least, experts)))


def _release(name: str, design: Design, pair: Neighbours, claim: Profile, delta: float, reason: str) -> Case:
    return Case(
        name=f"expert release, {name}",
        mechanism=PrefixRound(design),
        pair=pair,
        claim=claim,
        delta=delta,
        expected=PASS,
        truth=None,
        reason=reason,
        scores=(tokens(),),
        budget=100_000,
    )


_EPSILON, _DELTA, _ROUNDS = 8.0, 1e-3, 4
PRINTED = printed_design(_EPSILON, _DELTA, _ROUNDS, STEPS, LEAST)


def _once() -> ApproxDP:
    """Return the claim for one iteration in Theorem 5.3: (2 epsilon', delta_1/(2T))."""
    each = published("expert.each_epsilon").formula.float(E=_EPSILON, delta=_DELTA, T=float(_ROUNDS))
    return ApproxDP(2 * each, _DELTA / (2 * _ROUNDS))


def _releases() -> tuple[Case, ...]:
    claim = claimed_of(DESIGN, LEAST, 2576)
    edge = _agreeing(round(PRINTED.cutoff * 1.005))
    return (
        _release("least noise", DESIGN, PREFIXES, claim, 1e-5, "at most its claim"),
        _release("printed", PRINTED, edge, _once(), _DELTA / (2 * _ROUNDS), "its claim has room"),
    )


COUNTED = Design(threshold_scale=4.0, count_scale=2.0, least_count=2.0, cutoff=100.0)
"""Settings of the release that are private only if all counts move in the same direction."""


def _lengths(counts: NDArray[np.float64], n: int, rng: np.random.Generator, *, design: Design) -> Any:
    return stable_lengths(design, counts, n, rng).astype(np.float64)[:, None]


def _moved_by_one(first: NDArray[np.float64], second: NDArray[np.float64]) -> None:
    if first.shape != second.shape or not np.abs(first - second).max() <= 1:
        raise ValueError("counts must differ by at most 1")


def _counts(name: str, last: float, expected: Finding, reason: str, design: Design = COUNTED) -> Case:
    base = np.full(11, COUNTED.cutoff + 1.0)
    moved = base + 1.0
    moved[-1] = base[-1] + last
    return Case(
        name=f"expert release, {name}",
        mechanism=partial(_lengths, design=design),
        pair=Neighbours(
            moved, base, "counts that differ by at most 1", "ten counts up, and one", _moved_by_one
        ),
        claim=PureDP(Fraction(3, 4)),
        expected=expected,
        truth=None,
        reason=reason,
        scores=(tokens(),),
        budget=400_000 if expected is FAIL else 100_000,
    )


ONE, OPPOSITE = np.array([0.0, 1.0]), np.array([-1.0, 1.0])
RATE, COIN, NOISE = 0.5, 0.5, 1.0


def _training(coin: str = "visible", batch: str = "poisson", probability: float = COIN) -> Profile:
    parameters = SelectiveDPSGDParameters(RATE, probability, NOISE, 1, coin, batch)
    return account(parameters, Adjacency.EXPERT).guarantee


def _step(
    name: str,
    step: TrainingStep,
    claim: Profile,
    expected: Finding,
    reason: str,
    gradients: NDArray[np.float64] = ONE,
) -> Case:
    return Case(
        name=f"selective DP-SGD, {name}",
        mechanism=step,
        pair=Neighbours(
            gradients, gradients[:-1], Adjacency.EXPERT, "an expert of gradient 1, or none", one_expert_more
        ),
        claim=claim,
        delta=0.02,
        expected=expected,
        truth=None,
        reason=reason,
        scores=(Projection((0.0, 1.0)),),
        known_ratio=True,
        budget=1_000_000 if expected is FAIL else 100_000,
    )


def _steps() -> tuple[Case, ...]:
    right = TrainingStep(RATE, COIN, NOISE)
    fixed = replace(right, batch=Batch.EXACT)
    four = replace(right, clip=4.0)
    doubled = "the sum moves by 2: another expert gives way"
    return (
        _step("coin seen", right, _training(), PASS, "attains its claim"),
        _step("coin not accounted", right, _training("independent"), FAIL, "the printed rate p b/m"),
        _step("batch of one", fixed, _training(batch="exact"), PASS, "attains its claim", OPPOSITE),
        _step("batch of one, as if Poisson", fixed, _training(), FAIL, doubled, OPPOSITE),
        _step("two transitions of an expert", replace(right, transitions=2), _training(), FAIL, "moves by 2"),
        _step("clip 4", four, _training(), PASS, "attains its claim", 4 * ONE),
        _step(
            "noise without the clip",
            replace(four, noise_unit=1.0),
            _training(),
            FAIL,
            "a quarter of it",
            4 * ONE,
        ),
    )


CASES: tuple[Case, ...] = (
    *_releases(),
    _counts("counts that move one way", 1.0, PASS, "at most its claim"),
    _counts("counts that move both ways", -1.0, FAIL, "the noise is that of monotone counts"),
    _counts(
        "threshold without noise", 1.0, FAIL, "every answer costs", replace(COUNTED, threshold_scale=1e-9)
    ),
    *_steps(),
)
