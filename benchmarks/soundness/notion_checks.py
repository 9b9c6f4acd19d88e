"""Notions beyond composed pairs: optimal composition, shuffling, trees, Renyi curves; monotonicity."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb

from benchmarks.soundness import references as reference
from benchmarks.soundness.asking import DELTA, against, composed, point
from benchmarks.soundness.cases import Box, Case, Outcome
from dpproof.accountant.counting.gaussian_tree import TreeParameters
from dpproof.accountant.counting.gaussian_tree import account as tree_guarantee
from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision
from dpproof.accountant.pairs.atoms import dominating_pair
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.exponential_mechanism import BoundedRange
from dpproof.accountant.pairs.fixed_size import FixedSize
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.pairs.replaced_gaussian import ReplacedGaussian
from dpproof.accountant.pairs.subsampled import Subsampled, visible_coin
from dpproof.accountant.renyi.subsampled_gaussian import subsampled_gaussian_renyi
from dpproof.accountant.shuffling.clones import general_randomiser
from dpproof.accountant.shuffling.view import BinomialView
from dpproof.accountant.sparse_vector.technique import SparseVectorParameters, pure_epsilon
from dpproof.accountant.sparse_vector.technique import account as sparse_guarantee
from dpproof.accountant.theorems.optimal_composition import compose_approx_optimal

MU = Box({"mu": (1e-8, 1e4), "delta": DELTA})


def gaussian_dp(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = MU.draw(rng)
    return against(
        GaussianDP(at["mu"]), at["delta"], lambda e: reference.gaussian(point(at["mu"]), e), f"GDP {at}"
    )


TREE = Box({"leaves": (1, 1e12), "sigma": (1e-2, 1e6), "delta": DELTA}, frozenset({"leaves"}))


def tree(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = TREE.draw(rng)
    levels = at["leaves"].bit_length()
    return against(
        tree_guarantee(TreeParameters(at["leaves"], at["sigma"])).guarantee,
        at["delta"],
        lambda e: reference.gaussian(arb(levels).sqrt() / point(at["sigma"]), e),
        f"tree {at}",
    )


OPTIMAL = Box(
    {"epsilon0": (1e-3, 3), "delta0": (1e-12, 1e-3), "count": (1, 100), "delta": DELTA}, frozenset({"count"})
)


def optimal(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = OPTIMAL.draw(rng)
    delta0 = at["delta0"] if rng.integers(2) else 0.0

    def truth(e: arb) -> arb:
        kept = (1 - point(delta0)) ** at["count"]
        return 1 - kept + kept * reference.randomised_response(point(at["epsilon0"]), 2, at["count"], e)

    part = ApproxDP(at["epsilon0"], delta0)
    found = compose_approx_optimal([(part, at["count"])])
    return against(found, at["delta"], truth, f"optimal composition {at} {delta0}")


SHUFFLED = Box({"trials": (1, 300), "share": (0.05, 0.5), "delta": DELTA}, frozenset({"trials"}))


def shuffled(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = SHUFFLED.draw(rng)
    p = at["share"]

    def truth(e: arb) -> arb:
        atoms = reference.binomial_atoms(at["trials"], point(p))
        return reference.atoms(atoms, 1, e).max(reference.atoms([(q, p) for p, q in atoms], 1, e))

    return against(BinomialView(at["trials"], p, 0, 1), at["delta"], truth, f"shuffled bits {at}")


CLONES = Box({"users": (2, 60), "local": (0.05, 4), "delta": (1e-30, 0.1)}, frozenset({"users"}))


def clones(rng: np.random.Generator) -> Outcome:
    at: dict[str, Any] = CLONES.draw(rng)
    return against(
        general_randomiser(at["users"], at["local"]),
        at["delta"],
        lambda e: reference.clones(at["users"], point(at["local"]), e),
        f"clones {at}",
    )


CURVE = Box({"rate": (1e-6, 1.0), "sigma": (0.1, 1e3), "order": (2, 200)})


def renyi(rng: np.random.Generator) -> Outcome:
    """Integer orders against the binomial sum; in between, D and (order - 1) D between their neighbours."""
    at: dict[str, Any] = CURVE.draw(rng)
    whole, real, detail = int(at["order"]), at["order"], f"Renyi {at}"
    curve = subsampled_gaussian_renyi(at["rate"], at["sigma"]).curve
    with precision(160):
        found = curve(arb(whole))
        between = curve(point(real))
    with precision(500):
        rate, sigma = point(at["rate"]), point(at["sigma"])
        low, high = (reference.renyi_moment(rate, sigma, order) for order in (whole, whole + 1))
        share = point(real) - whole
        chord = low + share * (high - low)
        wrong = not found.overlaps(low / (whole - 1)) or (point(real) - 1) * between > chord
        wrong = wrong or between < low / (whole - 1) or between > high / whole
        width = float(found.rad() / abs(found).upper()) + float(between.rad() / abs(between).upper())
    if not math.isfinite(width) or width > 1:
        return Outcome("no answer", math.inf, "all", detail)
    return Outcome("violation", math.inf, "all", detail) if wrong else Outcome("ok", width)


SPARSE = Box({"query_scale": (1, 1e4), "positives": (1, 50), "delta": (1e-20, 0.1)}, frozenset({"positives"}))


def sparse_vector(rng: np.random.Generator) -> Outcome:
    """Never above the pure epsilon; never better with less noise."""
    at: dict[str, Any] = SPARSE.draw(rng)
    flags = {"monotone": bool(rng.integers(2)), "redraw": bool(rng.integers(2))}
    detail = f"sparse vector {at} {flags}"
    given, less = (
        SparseVectorParameters(at["query_scale"] / k, at["positives"], threshold_scale=50.0 / k, **flags)
        for k in (1, 1.3)
    )
    try:
        here, there = (sparse_guarantee(x).guarantee.epsilon(at["delta"]) for x in (given, less))
    except (ArithmeticError, MemoryError) as refused:
        return Outcome("no answer", math.inf, "all", f"{detail}: {refused}")
    with precision(160):
        wrong = here.lower > there.upper or arb_of(exact(here.lower)) > arb_of(pure_epsilon(given))
    if wrong:
        return Outcome("violation", math.inf, "all", f"{detail}: {here} but {there}")
    return Outcome("ok", here.relative_width if here.upper else 0.0)


_MAKERS: dict[str, Callable[[float, float], DominatingPair]] = {
    "bounded range": lambda noise, _: BoundedRange(1 / noise),
    "sampled Laplace": lambda noise, rate: Subsampled(Laplace(noise), rate),
    "sampled Laplace, added": lambda noise, rate: Subsampled(Laplace(noise), rate, removes=False),
    "replaced Gaussian": lambda noise, rate: ReplacedGaussian(rate, noise),
    "fixed size, Laplace": lambda noise, rate: FixedSize(Laplace(noise), rate),
    "fixed size, Gaussian": lambda noise, rate: FixedSize(SubsampledGaussian(1.0, noise), rate),
    "visible coin, Gaussian": lambda noise, rate: visible_coin(SubsampledGaussian(1.0, noise), rate),
}
OTHERS = Box(
    {"noise": (0.3, 300), "rate": (1e-4, 1.0), "count": (2, 1e4), "delta": (1e-30, 0.1)}, frozenset({"count"})
)


def others(rng: np.random.Generator) -> Outcome:
    """Compositions of the other pairs: monotone in noise, count and delta."""
    at: dict[str, Any] = OTHERS.draw(rng)
    name = list(_MAKERS)[int(rng.integers(len(_MAKERS)))]
    change = ("noise", "count", "delta")[int(rng.integers(3))]
    more = at | {change: int(at[change] * 1.3) + 1 if change == "count" else at[change] / 1.3}
    detail = f"{name} {at}"
    try:
        here, there = (
            composed(_MAKERS[name](x["noise"], x["rate"]), x["count"]).epsilon(x["delta"]) for x in (at, more)
        )
    except (ArithmeticError, MemoryError) as refused:
        return Outcome("no answer", math.inf, name, f"{detail}: {refused}")
    if math.isinf(here.upper):
        return Outcome("no answer", math.inf, name, detail)
    if here.lower > there.upper:
        return Outcome("violation", math.inf, name, f"{detail}: {here} but {there} with more {change}")
    return Outcome("ok", here.relative_width if here.upper else 0.0, name)


DOMINATING = Box({"mu": (1e-2, 3), "count": (1, 30), "delta": (1e-20, 0.1)}, frozenset({"count"}))


def dominating(rng: np.random.Generator) -> Outcome:
    """A pair made from a Gaussian's profile, composed: its upper end is at least the composed Gaussian's."""
    at: dict[str, Any] = DOMINATING.draw(rng)
    found = composed(dominating_pair(GaussianDP(at["mu"]), points=128), at["count"]).epsilon(at["delta"])
    with precision(300):
        mu = point(at["mu"]) * arb(at["count"]).sqrt()
        wrong = found.upper < math.inf and reference.gaussian(mu, point(found.upper)) > point(at["delta"])
    status = "violation" if wrong else "no answer" if math.isinf(found.upper) else "ok"
    return Outcome(status, found.relative_width if found.upper else 0.0, "all", f"dominating {at}: {found}")


def _case(name: str, kind: str, points: int, chunk: int, check: Any, box: Box) -> Case:
    return Case(name, kind, points, chunk, check, str(dict(box.ends)))


NOTION_CASES: tuple[Case, ...] = (
    _case("Gaussian DP", "closed form", 100_000, 500, gaussian_dp, MU),
    _case("tree", "closed form", 100_000, 200, tree, TREE),
    _case("optimal composition", "reference", 1_000, 100, optimal, OPTIMAL),
    _case("shuffled bits", "reference", 10_000, 20, shuffled, SHUFFLED),
    _case("clones", "reference", 1_000, 10, clones, CLONES),
    _case("Renyi curve", "reference", 1_000, 50, renyi, CURVE),
    _case("sparse vector", "consistency", 1_000, 20, sparse_vector, SPARSE),
    _case("other pairs, monotone", "consistency", 1_000, 10, others, OTHERS),
    _case("dominating pair", "consistency", 1_000, 10, dominating, DOMINATING),
)
