"""Sampled, shifted and replaced pairs, used once or a few times, against closed forms and enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.soundness import references as reference
from benchmarks.soundness.asking import DELTA, against, composed, point
from benchmarks.soundness.cases import Box, Case, Outcome
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.binomial import ShiftedBinomial
from dpproof.accountant.pairs.exponential_mechanism import BoundedRange
from dpproof.accountant.pairs.fixed_size import FixedSize
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.pairs.replaced_gaussian import ReplacedGaussian
from dpproof.accountant.pairs.spherical_gaussians import SphericalGaussians
from dpproof.accountant.pairs.subsampled import Subsampled, visible_coin

_FINE, _WIDE = 1e-6, 1e-2

BINOMIAL = Box(
    {"trials": (2, 80), "share": (0.05, 0.95), "count": (1, 3), "delta": DELTA},
    frozenset({"trials", "count"}),
)


def binomial(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = BINOMIAL.draw(rng)
    return against(
        composed(ShiftedBinomial(at["trials"], at["share"]), at["count"]),
        at["delta"],
        lambda e: reference.atoms(reference.binomial_atoms(at["trials"], point(at["share"])), at["count"], e),
        f"binomial {at}",
        "one" if at["count"] == 1 else "two",
    )


RANGE = Box({"epsilon0": (1e-6, 20), "delta": DELTA})


def bounded_range(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = RANGE.draw(rng)
    return against(
        composed(BoundedRange(at["epsilon0"]), 1),
        at["delta"],
        lambda e: reference.bounded_range(point(at["epsilon0"]), e),
        f"bounded range {at}",
    )


SAMPLED_LAPLACE = Box({"rate": (1e-6, 1.0), "scale": (0.05, 1e5), "delta": DELTA})


def sampled_laplace(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = SAMPLED_LAPLACE.draw(rng)
    removes = bool(rng.integers(2))
    return against(
        composed(Subsampled(Laplace(at["scale"]), at["rate"], removes), 1),
        at["delta"],
        lambda e: reference.sampled(
            point(at["rate"]), lambda x: reference.laplace_single(point(at["scale"]), x), e, removes
        ),
        f"sampled Laplace {at} {removes}",
    )


REPLACED = Box({"rate": (1e-6, 1.0), "sigma": (0.05, 1e4), "delta": DELTA})


def replaced_gaussian(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = REPLACED.draw(rng)
    return against(
        composed(ReplacedGaussian(at["rate"], at["sigma"]), 1),
        at["delta"],
        lambda e: reference.replaced_gaussian(point(at["rate"]), point(at["sigma"]), e),
        f"replaced Gaussian {at}",
    )


def fixed_size(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = REPLACED.draw(rng)
    return against(
        composed(FixedSize(SubsampledGaussian(1.0, at["sigma"]), at["rate"]), 1),
        at["delta"],
        lambda e: reference.sampled(
            point(at["rate"]), lambda x: reference.gaussian(1 / point(at["sigma"]), x), e, removes=True
        ),
        f"fixed size {at}",
    )


COIN = Box({"chance": (1e-3, 1.0), "rate": (1e-4, 1.0), "sigma": (0.1, 1e3), "delta": DELTA})


def coin(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = COIN.draw(rng)
    inner: DominatingPair = SubsampledGaussian(at["rate"], at["sigma"])
    return against(
        composed(visible_coin(inner, at["chance"]), 1),
        at["delta"],
        lambda e: (
            point(at["chance"])
            * reference.sampled_gaussian_single(point(at["rate"]), point(at["sigma"]), e, removes=True)
        ),
        f"visible coin {at}",
    )


SPHERES = Box(
    {"log_ratio": (1e-3, 1.0), "dimension": (1, 30), "shift": (1e-2, 10), "delta": DELTA},
    frozenset({"dimension"}),
)


def spheres(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = SPHERES.draw(rng)
    moved, sign = bool(rng.integers(2)), (1, -1)[int(rng.integers(2))]
    shift, dimension = (at["shift"], 1) if moved else (0.0, at["dimension"])
    return against(
        composed(SphericalGaussians(shift, sign * at["log_ratio"], dimension), 1),
        at["delta"],
        lambda e: reference.spheres(point(shift), sign * point(at["log_ratio"]), dimension, e),
        f"spherical Gaussians {at} {moved} {sign}",
        "moved" if moved else "centred",
    )


def _closed(name: str, check: Any, box: Box, points: int, chunk: int, width: float = _FINE) -> Case:
    return Case(name, "closed form", points, chunk, check, f"{dict(box.ends)}, width {width:g}")


PAIR_CASES: tuple[Case, ...] = (
    Case("binomial", "reference", 10_000, 20, binomial, f"{dict(BINOMIAL.ends)}, width {_WIDE:g}"),
    _closed("bounded range, one", bounded_range, RANGE, 100_000, 200),
    _closed("sampled Laplace, one", sampled_laplace, SAMPLED_LAPLACE, 100_000, 200, _WIDE),
    _closed("replaced Gaussian, one", replaced_gaussian, REPLACED, 100_000, 100, _WIDE),
    _closed("fixed size, one", fixed_size, REPLACED, 100_000, 100, _WIDE),
    _closed("visible coin, one", coin, COIN, 100_000, 100, _WIDE),
    _closed("spherical Gaussians, one", spheres, SPHERES, 100_000, 500),
)
