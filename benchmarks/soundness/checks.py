"""The campaign's cases: closed forms, internal consistency of compositions, and independent references."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from accountant.enclosures import arb_of, exact, precision
from accountant.pairs.base import Pair
from accountant.pairs.discrete_gaussian import DiscreteGaussian
from accountant.pairs.gaussian import SubsampledGaussian
from accountant.pairs.geometric import Geometric
from accountant.pairs.laplace import Laplace
from accountant.pairs.randomised_response import RandomisedResponse
from accountant.pairs.unequal_gaussians import UnequalGaussians
from accountant.privacy_loss.by_grid import epsilon_by_grid
from accountant.privacy_loss.inverting import epsilon_by_inversion
from accountant.privacy_loss.notion import PrivacyLoss
from accountant.privacy_loss.saddle import Inapplicable, saddle_for_epsilon
from benchmarks.soundness import references as reference
from benchmarks.soundness.cases import Box, Case, Outcome, judge

__all__ = ["CASES"]

DELTA = (1e-30, 0.5)
_WIDE, _FINE = 1e-2, 1e-6


def _point(value: float) -> arb:
    return arb_of(exact(value))


def _one_sided(
    loss: PrivacyLoss,
    delta: float,
    profile: Callable[[arb], arb],
    detail: str,
    region: str = "all",
    bits: int = 300,
) -> Outcome:
    """Ask for epsilon; the reference profile at both ends must be on the right sides of delta."""
    try:
        found = loss.epsilon(delta)
    except (ArithmeticError, MemoryError) as refused:
        return Outcome("no answer", math.inf, region, f"{detail}: {refused}")
    if math.isinf(found.upper):
        return Outcome("no answer", math.inf, region, detail)
    with precision(bits):
        goal = _point(delta)
        wrong = profile(_point(found.upper)) > goal or (
            found.lower > 0 and profile(_point(found.lower)) < goal
        )
    if wrong:
        return Outcome("violation", math.inf, region, f"{detail}: [{found.lower!r}, {found.upper!r}]")
    width = 0.0 if found.lower == found.upper else (found.upper - found.lower) / found.upper
    return Outcome("ok", width, region)


def _pair_loss(pair: Pair, count: int) -> PrivacyLoss:
    return PrivacyLoss([[(pair, count)]])


GAUSSIAN = Box({"sigma": (1e-3, 1e8), "count": (1, 1e7), "delta": DELTA}, frozenset({"count"}))


def gaussian(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = GAUSSIAN.draw(rng)

    def truth(epsilon: arb) -> arb:
        return reference.gaussian(arb(at["count"]).sqrt() / _point(at["sigma"]), epsilon)

    loss = _pair_loss(SubsampledGaussian(1.0, at["sigma"]), at["count"])
    mu = math.sqrt(at["count"]) / at["sigma"]
    region = (
        "one" if at["count"] == 1 else f"mu {'below' if mu < 1e-3 else 'above' if mu > 1e3 else 'within'}"
    )
    return _one_sided(loss, at["delta"], truth, f"gaussian {at}", region, bits=_bits(mu))


def _bits(mu: float) -> int:
    """Enough for differences of tails that far out, and that close to each other."""
    return 300 + int(min(abs(4 * math.log2(mu)), 4000)) if mu else 300


LAPLACE = Box({"scale": (1e-2, 1e6), "delta": DELTA})


def laplace(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = LAPLACE.draw(rng)
    return _one_sided(
        _pair_loss(Laplace(at["scale"]), 1),
        at["delta"],
        lambda epsilon: reference.laplace_single(_point(at["scale"]), epsilon),
        f"laplace {at}",
    )


SAMPLED = Box({"rate": (1e-6, 1.0), "sigma": (1e-2, 1e6), "delta": DELTA})


def sampled_gaussian(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = SAMPLED.draw(rng)
    removes = bool(rng.integers(2))
    return _one_sided(
        _pair_loss(SubsampledGaussian(at["rate"], at["sigma"], removes), 1),
        at["delta"],
        lambda epsilon: reference.sampled_gaussian_single(
            _point(at["rate"]), _point(at["sigma"]), epsilon, removes
        ),
        f"sampled gaussian {at} {removes}",
        bits=2000,
    )


UNEQUAL = Box({"mean": (1e-3, 1e2), "sigma_p": (0.1, 10), "sigma_q": (0.1, 10), "delta": DELTA})


def unequal_gaussians(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = UNEQUAL.draw(rng)
    values = [_point(at[name]) for name in ("mean", "sigma_p", "sigma_q")]
    return _one_sided(
        _pair_loss(UnequalGaussians(at["mean"], at["sigma_p"], at["sigma_q"]), 1),
        at["delta"],
        lambda epsilon: reference.unequal_gaussians(*values, epsilon),
        f"unequal gaussians {at}",
        bits=1500,
    )


RESPONSE = Box(
    {"epsilon0": (1e-3, 5), "categories": (2, 50), "count": (1, 60), "delta": DELTA},
    frozenset({"categories", "count"}),
)


def response(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = RESPONSE.draw(rng)
    return _one_sided(
        _pair_loss(RandomisedResponse(at["epsilon0"], at["categories"]), at["count"]),
        at["delta"],
        lambda e: reference.randomised_response(_point(at["epsilon0"]), at["categories"], at["count"], e),
        f"response {at}",
        "one" if at["count"] == 1 else "several",
    )


GEOMETRIC = Box(
    {"scale": (0.3, 100), "shift": (1, 5), "count": (1, 40), "delta": DELTA}, frozenset({"shift", "count"})
)


def geometric(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = GEOMETRIC.draw(rng)
    return _one_sided(
        _pair_loss(Geometric(at["scale"], at["shift"]), at["count"]),
        at["delta"],
        lambda e: reference.geometric(_point(at["scale"]), at["shift"], at["count"], e),
        f"geometric {at}",
        "one" if at["count"] == 1 else "several",
    )


DISCRETE = Box({"sigma": (0.5, 8), "count": (1, 12), "delta": DELTA}, frozenset({"count"}))


def discrete_gaussian(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = DISCRETE.draw(rng)
    variance = exact(at["sigma"]) ** 2
    reach = int(16 * at["sigma"]) + 4
    return _one_sided(
        _pair_loss(DiscreteGaussian(variance), at["count"]),
        at["delta"],
        lambda e: reference.discrete_gaussian(arb_of(variance), 1, at["count"], e, reach),
        f"discrete gaussian {at}",
        "one" if at["count"] == 1 else "several",
    )


LAPLACES = Box({"scale": (0.5, 100), "count": (2, 60), "delta": DELTA}, frozenset({"count"}))


def laplaces(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = LAPLACES.draw(rng)
    return _one_sided(
        _pair_loss(Laplace(at["scale"]), at["count"]),
        at["delta"],
        lambda e: reference.laplace_composed(_point(at["scale"]), at["count"], e),
        f"laplaces {at}",
        bits=800,
    )


TRAINING = Box(
    {"rate": (1e-3, 0.99), "sigma": (0.4, 100), "count": (30, 1e6), "delta": (1e-30, 0.1)},
    frozenset({"count"}),
)


def training(rng: np.random.Generator) -> Outcome:
    """DP-SGD against the integral in Arb, on another line; compared as delta at the middle of the answer."""
    at: dict[str, Any] = TRAINING.draw(rng)
    removes = bool(rng.integers(2))
    pair, detail = SubsampledGaussian(at["rate"], at["sigma"], removes), f"training {at} {removes}"
    loss = _pair_loss(pair, at["count"])
    try:
        found = loss.epsilon(at["delta"])
    except (ArithmeticError, MemoryError) as refused:
        return Outcome("no answer", math.inf, "all", f"{detail}: {refused}")
    if found.upper == 0:
        return Outcome("ok", 0.0, "epsilon 0")
    try:
        c = 1.15 * saddle_for_epsilon([(pair.characteristic(), at["count"])], found.upper).c  # type: ignore[list-item]
    except Inapplicable:
        return Outcome("ok", found.relative_width, "no reference")
    with precision(120):
        at_ends = [
            reference.training(_point(at["rate"]), _point(at["sigma"]), at["count"], _point(end), c, removes)
            for end in (found.lower, found.upper)
        ]
    (low, low_gap), (high, high_gap) = at_ends
    if max(low_gap, high_gap) > 1e-9:
        return Outcome("ok", found.relative_width, "no reference")
    doubt = 1e-8
    wrong = float(high) > at["delta"] * (1 + doubt) or (
        found.lower > 0 and float(low) < at["delta"] * (1 - doubt)
    )
    if wrong:
        return Outcome("violation", math.inf, "all", f"{detail}: {found} has {float(low)!r}, {float(high)!r}")
    return Outcome("ok", found.relative_width)


CONSISTENT = Box(
    {"rate": (1e-6, 1.0), "sigma": (0.05, 1e4), "count": (1, 1e7), "delta": (1e-30, 0.5)},
    frozenset({"count"}),
)


def consistency(rng: np.random.Generator) -> Outcome:
    """DP-SGD: ends in order, and monotone in rate, noise, steps and delta, as certified answers."""
    at: dict[str, Any] = CONSISTENT.draw(rng)
    route, detail = _route(at), f"dp-sgd {at}"
    try:
        here = _training_loss(at).epsilon(at["delta"])
        change = ("rate", "sigma", "count", "delta")[int(rng.integers(4))]
        more = at | {change: _riskier(at[change], change)}
        there = _training_loss(more).epsilon(more["delta"])
    except (ArithmeticError, MemoryError) as refused:
        return Outcome("no answer", math.inf, route, f"{detail}: {refused}")
    if math.isinf(here.upper):
        return Outcome("no answer", math.inf, route, detail)
    if here.lower > there.upper:
        return Outcome("violation", math.inf, route, f"{detail}: {here} but {there} with more {change}")
    return Outcome("ok", here.relative_width, route)


def _riskier(value: float, name: str) -> float:
    factor = 1.3
    if name == "count":
        return int(value * factor) + 1
    return min(value * factor, 1.0) if name == "rate" else value / factor


def _training_loss(at: dict[str, Any]) -> PrivacyLoss:
    pair = SubsampledGaussian(at["rate"], at["sigma"])
    return PrivacyLoss([[(pair, at["count"])], [(pair.reversed(), at["count"])]])


def _route(at: dict[str, Any]) -> str:
    pair = SubsampledGaussian(at["rate"], at["sigma"])
    if at["count"] == 1:
        return "single"
    try:
        epsilon_by_inversion([(pair.characteristic(), at["count"])], Fraction(at["delta"]))  # type: ignore[list-item]
    except (Inapplicable, ArithmeticError):
        return "grid"
    return "inversion"


OVERLAP = Box(
    {"rate": (1e-3, 1.0), "sigma": (0.3, 100), "count": (50, 1e5), "delta": (1e-20, 0.1)},
    frozenset({"count"}),
)


def overlap(rng: np.random.Generator) -> Outcome:
    """Both routes, where both answer: their intervals must meet."""
    at: dict[str, Any] = OVERLAP.draw(rng)
    removes = bool(rng.integers(2))
    pair, delta = SubsampledGaussian(at["rate"], at["sigma"], removes), Fraction(at["delta"])
    try:
        first = epsilon_by_inversion([(pair.characteristic(), at["count"])], delta)  # type: ignore[list-item]
        second = epsilon_by_grid([(pair, at["count"])], delta)
    except (ArithmeticError, MemoryError) as refused:
        return Outcome("no answer", math.inf, "one route only", f"{at}: {refused}")
    return judge(*first, *second, f"overlap {at} {removes}")


CASES: tuple[Case, ...] = (
    Case("Gaussian", "closed form", 100_000, 500, gaussian, f"{GAUSSIAN.ends}, width {_FINE:g}"),
    Case("Laplace, one", "closed form", 100_000, 500, laplace, f"{LAPLACE.ends}, width {_FINE:g}"),
    Case(
        "sampled Gaussian, one",
        "closed form",
        100_000,
        500,
        sampled_gaussian,
        f"{SAMPLED.ends}, width {_FINE:g}",
    ),
    Case(
        "unequal Gaussians, one",
        "closed form",
        100_000,
        500,
        unequal_gaussians,
        f"{UNEQUAL.ends}, width {_FINE:g}",
    ),
    Case("randomised response", "reference", 4_000, 50, response, f"{RESPONSE.ends}, width {_WIDE:g}"),
    Case("geometric", "reference", 4_000, 50, geometric, f"{GEOMETRIC.ends}, width {_WIDE:g}"),
    Case("discrete Gaussian", "reference", 2_000, 20, discrete_gaussian, f"{DISCRETE.ends}, width {_WIDE:g}"),
    Case("Laplace, composed", "reference", 2_000, 20, laplaces, f"{LAPLACES.ends}, width {_WIDE:g}"),
    Case("DP-SGD", "reference", 2_000, 10, training, f"{TRAINING.ends}, width {_FINE:g}"),
    Case(
        "DP-SGD, monotone",
        "consistency",
        100_000,
        200,
        consistency,
        f"{CONSISTENT.ends}, widths {_FINE:g} and {_WIDE:g}",
    ),
    Case("DP-SGD, both routes", "consistency", 10_000, 50, overlap, f"{OVERLAP.ends}"),
)
