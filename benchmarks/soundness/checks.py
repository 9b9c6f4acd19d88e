"""The campaign's cases: closed forms, internal consistency of compositions, and independent references."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from flint import arb

from benchmarks.soundness import references as reference
from benchmarks.soundness.asking import DELTA, Truth, against, composed, masses_against, point
from benchmarks.soundness.cases import Box, Case, Outcome, judge
from benchmarks.soundness.notion_checks import NOTION_CASES
from benchmarks.soundness.pair_checks import PAIR_CASES
from dpproof.accountant.numbers.enclosures import arb_of, exact
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.discrete_gaussian import DiscreteGaussian
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.geometric import Geometric
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.pairs.randomised_response import RandomisedResponse
from dpproof.accountant.pairs.unequal_gaussians import UnequalGaussians
from dpproof.accountant.privacy_loss.by_grid import epsilon_by_grid
from dpproof.accountant.privacy_loss.by_inversion import epsilon_by_inversion
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.privacy_loss.saddle import Inapplicable
from dpproof.accountant.privacy_loss.saddle_search import saddle_for_epsilon

_WIDE, _FINE = 1e-2, 1e-6


GAUSSIAN = Box({"sigma": (1e-3, 1e8), "count": (1, 1e7), "delta": DELTA}, frozenset({"count"}))


def gaussian(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = GAUSSIAN.draw(rng)

    def truth(epsilon: arb) -> arb:
        return reference.gaussian(arb(at["count"]).sqrt() / point(at["sigma"]), epsilon)

    loss = composed(SubsampledGaussian(1.0, at["sigma"]), at["count"])
    mu = math.sqrt(at["count"]) / at["sigma"]
    region = (
        "one" if at["count"] == 1 else f"mu {'below' if mu < 1e-3 else 'above' if mu > 1e3 else 'within'}"
    )
    return against(loss, at["delta"], truth, f"gaussian {at}", region)


LAPLACE = Box({"scale": (1e-2, 1e6), "delta": DELTA})


def laplace(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = LAPLACE.draw(rng)
    return against(
        composed(Laplace(at["scale"]), 1),
        at["delta"],
        lambda epsilon: reference.laplace_single(point(at["scale"]), epsilon),
        f"laplace {at}",
    )


SAMPLED = Box({"rate": (1e-6, 1.0), "sigma": (1e-2, 1e6), "delta": DELTA})


def sampled_gaussian(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = SAMPLED.draw(rng)
    removes = bool(rng.integers(2))
    return against(
        composed(SubsampledGaussian(at["rate"], at["sigma"], removes), 1),
        at["delta"],
        lambda epsilon: reference.sampled_gaussian_single(
            point(at["rate"]), point(at["sigma"]), epsilon, removes
        ),
        f"sampled gaussian {at} {removes}",
    )


UNEQUAL = Box({"mean": (1e-3, 1e2), "sigma_p": (0.1, 10), "sigma_q": (0.1, 10), "delta": DELTA})


def unequal_gaussians(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = UNEQUAL.draw(rng)
    mean, sigma_p, sigma_q = (point(at[name]) for name in ("mean", "sigma_p", "sigma_q"))
    return against(
        composed(UnequalGaussians(at["mean"], at["sigma_p"], at["sigma_q"]), 1),
        at["delta"],
        lambda epsilon: reference.unequal_gaussians(mean, sigma_p, sigma_q, epsilon),
        f"unequal gaussians {at}",
    )


def _sampled(rate: arb, sigma: arb, removes: bool, epsilon: arb) -> arb:
    return reference.sampled_gaussian_single(rate, sigma, epsilon, removes)


def masses(rng: np.random.Generator) -> Outcome:
    """The masses that compositions rest on, of pairs whose single use is answered in closed form."""
    at: dict[str, Any] = (SAMPLED if rng.integers(2) else UNEQUAL).draw(rng)
    removes = bool(rng.integers(2))
    pair: DominatingPair
    profile: Truth
    if "rate" in at:
        pair = SubsampledGaussian(at["rate"], at["sigma"], removes)
        rate, sigma = point(at["rate"]), point(at["sigma"])
        profile = partial(_sampled, rate, sigma, removes)
    else:
        pair = UnequalGaussians(at["mean"], at["sigma_p"], at["sigma_q"])
        mean, sigma_p, sigma_q = (point(at[name]) for name in ("mean", "sigma_p", "sigma_q"))
        profile = partial(reference.unequal_gaussians, mean, sigma_p, sigma_q)
    epsilon = composed(pair, 1).epsilon(at["delta"]).upper
    return masses_against(pair, epsilon, profile, f"masses {at} {removes}")


RESPONSE = Box(
    {"epsilon0": (1e-3, 5), "categories": (2, 50), "count": (1, 60), "delta": DELTA},
    frozenset({"categories", "count"}),
)


def response(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = RESPONSE.draw(rng)
    return against(
        composed(RandomisedResponse(at["epsilon0"], at["categories"]), at["count"]),
        at["delta"],
        lambda e: reference.randomised_response(point(at["epsilon0"]), at["categories"], at["count"], e),
        f"response {at}",
        "one" if at["count"] == 1 else "several",
    )


GEOMETRIC = Box(
    {"scale": (0.3, 100), "shift": (1, 5), "count": (1, 40), "delta": DELTA}, frozenset({"shift", "count"})
)


def geometric(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = GEOMETRIC.draw(rng)
    return against(
        composed(Geometric(at["scale"], at["shift"]), at["count"]),
        at["delta"],
        lambda e: reference.geometric(point(at["scale"]), at["shift"], at["count"], e),
        f"geometric {at}",
        "one" if at["count"] == 1 else "several",
    )


DISCRETE = Box({"sigma": (0.5, 8), "count": (1, 12), "delta": DELTA}, frozenset({"count"}))


def discrete_gaussian(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = DISCRETE.draw(rng)
    variance = exact(at["sigma"]) ** 2
    reach = int(16 * at["sigma"]) + 4
    return against(
        composed(DiscreteGaussian(variance), at["count"]),
        at["delta"],
        lambda e: reference.discrete_gaussian(arb_of(variance), 1, at["count"], e, reach),
        f"discrete gaussian {at}",
        "one" if at["count"] == 1 else "several",
    )


LAPLACES = Box({"scale": (0.5, 100), "count": (2, 60), "delta": DELTA}, frozenset({"count"}))


def laplaces(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = LAPLACES.draw(rng)
    return against(
        composed(Laplace(at["scale"]), at["count"]),
        at["delta"],
        lambda e: reference.laplace_composed(point(at["scale"]), at["count"], e),
        f"laplaces {at}",
    )


TRAINING = Box(
    {"rate": (1e-3, 0.99), "sigma": (0.4, 100), "count": (30, 1e6), "delta": (1e-30, 0.1)},
    frozenset({"count"}),
)


_ASIDE = 1.02
"""The reference integrates on another line. Farther away, rare large losses make the integral cancel."""


def training(rng: np.random.Generator) -> Outcome:
    """DP-SGD against the integral on another line, in extended doubles; compared as delta at both ends."""
    at: dict[str, Any] = TRAINING.draw(rng)
    removes = bool(rng.integers(2))
    pair, detail = SubsampledGaussian(at["rate"], at["sigma"], removes), f"training {at} {removes}"
    loss = composed(pair, at["count"])
    try:
        found = loss.epsilon(at["delta"])
    except (ArithmeticError, MemoryError) as refused:
        return Outcome("no answer", math.inf, "all", f"{detail}: {refused}")
    if found.upper == 0:
        return Outcome("ok", 0.0, "epsilon 0")
    try:
        c = _ASIDE * saddle_for_epsilon([(pair.characteristic(), at["count"])], found.upper).c
    except Inapplicable:
        return Outcome("ok", found.relative_width, "no reference")
    low, high = (
        reference.training(at["rate"], at["sigma"], at["count"], end, c, removes)
        for end in (found.lower, found.upper)
    )
    doubt = 1e-8
    if high > at["delta"] * (1 + doubt) or (found.lower > 0 and low < at["delta"] * (1 - doubt)):
        return Outcome("violation", math.inf, "all", f"{detail}: {found} has {low!r}, {high!r}")
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
        epsilon_by_inversion([(pair.characteristic(), at["count"])], Fraction(at["delta"]))
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
        first = epsilon_by_inversion([(pair.characteristic(), at["count"])], delta)
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
    Case("randomised response", "reference", 1_000, 50, response, f"{RESPONSE.ends}, width {_WIDE:g}"),
    Case("geometric", "reference", 1_000, 50, geometric, f"{GEOMETRIC.ends}, width {_WIDE:g}"),
    Case("discrete Gaussian", "reference", 1_000, 20, discrete_gaussian, f"{DISCRETE.ends}, width {_WIDE:g}"),
    Case("Laplace, composed", "reference", 1_000, 20, laplaces, f"{LAPLACES.ends}, width {_WIDE:g}"),
    Case("DP-SGD", "reference", 1_000, 10, training, f"{TRAINING.ends}, width {_FINE:g}"),
    Case(
        "DP-SGD, monotone",
        "consistency",
        1_000,
        20,
        consistency,
        f"{CONSISTENT.ends}, widths {_FINE:g} and {_WIDE:g}",
    ),
    Case("DP-SGD, both routes", "consistency", 1_000, 20, overlap, f"{OVERLAP.ends}"),
    Case("pairs by their masses", "closed form", 100_000, 200, masses, f"{SAMPLED.ends}, {UNEQUAL.ends}"),
    *PAIR_CASES,
    *NOTION_CASES,
)
