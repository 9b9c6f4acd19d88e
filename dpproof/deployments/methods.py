"""Recomputations: from what a source states to certified bounds, and to the readings that it admits.

A *reading* is one way to get a number from the stated facts: a conversion, a relation, a count. Plain readings
assume nothing beyond the source. Further readings name what they assume. They are computed only if no plain
reading gives the published number. Methods: ``queries`` (exact discrete Gaussians), ``rho`` (a stated budget),
``rho-sum``, ``sum`` (of pure epsilons), ``training`` (DP-SGD as libraries account for it), ``account`` (any
mechanism of dpproof, with its parameters).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from dpproof.accountant.asking import account
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.conversion import CANONNE_KAMATH_STEINKE, MIRONOV, Conversion
from dpproof.accountant.guarantees.notions import ZCDP, BoundedLoss, GaussianDP
from dpproof.accountant.guarantees.profile import ends_of
from dpproof.accountant.noise.dp_sgd import DPSGDParameters
from dpproof.accountant.noise.dp_sgd import account as dp_sgd
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_down, round_up
from dpproof.accountant.pairs.discrete_gaussian import DiscreteGaussian
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.deployments import renyi
from dpproof.deployments.records import Deployment, census

_BITS = 128
_CONVERSIONS = {
    "the conversion of Canonne, Kamath and Steinke": CANONNE_KAMATH_STEINKE,
    "the conversion of Bun and Steinke": MIRONOV,
}
_USUAL_DELTA = "1e-5"
Ends = tuple[Fraction, Fraction]
"""A lower and an upper bound."""


@dataclass(frozen=True)
class Reading:
    """One way to read a source, and bounds on the number that it gives.

    ``assumes`` says what is assumed beyond the source. It is empty if nothing is. ``theorem`` is false if the
    formula of the reading is no upper bound in general.
    """

    name: str
    ends: Ends
    assumes: str = ""
    theorem: bool = True


@dataclass(frozen=True)
class Recomputed:
    """The result of a recomputation: its kind, the tightest certified bounds, and the readings."""

    kind: str
    best: Ends | None
    plain: Sequence[Reading] = ()
    further: Callable[[], Iterable[Reading]] = tuple
    notes: tuple[str, ...] = ()


def recompute(row: Deployment) -> Recomputed:
    """Return the recomputation of a row, or one without bounds if the row states too little.

    Raises:
        ValueError: the row names an unknown method.
    """
    if not row.recompute:
        return Recomputed("none", None)
    name = str(row.recompute.get("by"))
    if name not in METHODS:
        raise ValueError(f"{row.id}: recompute.by ({name!r}) must be one of: {', '.join(METHODS)}")
    with precision(_BITS):
        return METHODS[name](row, row.recompute)


def digit(text: str) -> Fraction:
    """Return the value of the last digit of a number.

    >>> digit("2.56"), digit("1e-5")
    (Fraction(1, 100), Fraction(1, 100000))
    """
    power = Decimal(text).as_tuple().exponent
    assert isinstance(power, int)
    return Fraction(10) ** power


def close(ends: Ends) -> bool:
    """Whether a lower and an upper bound agree to five digits, so that they stand for one number."""
    return ends[1] - ends[0] <= ends[1] / 10**5


def _ends(found: Bound) -> Ends:
    return exact(found.lower), exact(found.upper)


def _queries(row: Deployment, asked: Mapping[str, Any]) -> Recomputed:
    """Recompute exact discrete Gaussian noise on counts, of which a replaced record moves two per query by one."""
    rhos, delta = census(asked["table"]), row.published["delta"]
    alike = Counter(DiscreteGaussian(1 / rho, 1) for rho in rhos)
    loss = PrivacyLoss([[(pair, 2 * count) for pair, count in alike.items()]])
    total = sum(rhos, Fraction(0))
    plain = [_by_rho(name, total, delta, how) for name, how in _CONVERSIONS.items()]
    note = f"{len(rhos)} queries, whose budgets add up to rho {float(total):.6g}"
    best = _ends(loss.epsilon(delta))
    return Recomputed("mechanism", best, plain, lambda: _other_rhos(row), (note,))


def _rho(row: Deployment, asked: Mapping[str, Any]) -> Recomputed:
    """Recompute epsilon from a stated budget of zero-concentrated privacy."""
    rho, delta = exact(row.published["rho"]), row.published["delta"]
    plain = [_by_rho(name, rho, delta, how) for name, how in _CONVERSIONS.items()]
    if not asked.get("gaussian"):
        return Recomputed("budget", _ends(ZCDP(rho).epsilon(delta)), plain, lambda: _other_rhos(row))
    best = _ends(GaussianDP.of_square(2 * rho).epsilon(delta))
    plain.append(Reading(f"Gaussian noise at rho {float(rho):g}", best))

    def further() -> Iterator[Reading]:
        if "mu" in asked:
            yield _by_mu(row, asked["mu"])
        yield from _other_rhos(row)

    return Recomputed("budget", best, plain, further, ("the noise is Gaussian, and rho is attained",))


def _by_rho(name: str, rho: Fraction, delta: str, how: Conversion, assumes: str = "") -> Reading:
    return Reading(f"{name} at rho {float(rho):.4g}", _ends(ZCDP(rho, how).epsilon(delta)), assumes)


def _by_mu(row: Deployment, mu: str) -> Reading:
    """Return the reading of a stated parameter of Gaussian privacy, for all numbers that round to it."""
    half, delta = digit(mu) / 2, row.published["delta"]
    low, high = (GaussianDP(exact(mu) + way * half).epsilon(delta) for way in (-1, 1))
    assumes = f"the stated mu {mu} being right, and the stated rho {row.published['rho']} too large"
    return Reading(f"Gaussian noise at mu {mu}", (exact(low.lower), exact(high.upper)), assumes)


def _other_rhos(row: Deployment) -> Iterator[Reading]:
    """Yield the readings in which the published rho was rounded, or belongs to another relation."""
    printed, delta = row.published["rho"], row.published["delta"]
    half = digit(printed) / 2
    for name, how in _CONVERSIONS.items():
        ends = max(exact(printed) - half, Fraction(0)), exact(printed) + half
        found = _argument(partial(_by_conversion, how, delta), row, ends)
        if found is not None:
            told = f"a rho near {float(found):.4g}, printed as {printed}"
            yield _by_rho(name, found, delta, how, told)
    for factor in (2, 4, Fraction(1, 2), Fraction(1, 4)):
        for name, how in _CONVERSIONS.items():
            told = f"a rho stated for another neighbouring relation, to be multiplied by {factor}"
            yield _by_rho(name, factor * exact(printed), delta, how, told)


def _by_conversion(how: Conversion, delta: str, rho: Fraction) -> float:
    return ZCDP(rho, how).epsilon(delta).upper


def _argument(function: Callable[[Fraction], float], row: Deployment, ends: Ends) -> Fraction | None:
    """Return the argument at which an increasing function has the published value, if it is between the ends."""
    value = float(row.published["epsilon"])
    low, high = ends
    if not function(low) <= value <= function(high):
        return None
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < value else (low, middle)
    return high.limit_denominator(10**6)


def _rho_sum(_: Deployment, asked: Mapping[str, Any]) -> Recomputed:
    """Recompute a total budget from its parts.

    Settings for a record that is added or removed hold for a replaced one with a factor 2 if the statistics are
    counts: the two changes point in opposite directions or at different counts, so their squares add up.
    """
    parts = census(asked["table"]) if "table" in asked else [exact(value) for _, value in asked["parts"]]
    total, own = sum(parts, Fraction(0)), exact(asked.get("factor", "1"))
    name = f"the sum of {len(parts)} budgets"

    def further() -> Iterator[Reading]:
        for factor in map(exact, asked.get("factors", ())):
            yield Reading(f"{name}, times {factor}", (factor * total,) * 2, _FACTORS[factor])
        for told, more in asked.get("others", ()):
            longer = total + sum((exact(value) for _, value in more), Fraction(0))
            yield Reading(f"{name} {told}", (longer, longer), f"a total {told}")

    plain = [] if "factors" in asked else [Reading(name, (total, total))]
    notes = () if own == 1 else (f"{own} times {name}, {_FACTORS[own]}",)
    return Recomputed("sum", (own * total,) * 2, plain, further, notes)


_FACTORS = {
    Fraction(1): "the settings protecting a replaced record",
    Fraction(2): "the settings protecting an added or removed record, and a replaced record counting twice",
    Fraction(
        4
    ): "the settings protecting an added or removed record, and a replaced record counting four times",
}


def _sum(_: Deployment, asked: Mapping[str, Any]) -> Recomputed:
    """Recompute a sum of pure epsilons, which a random sample with a given rate may amplify."""
    total = _total(asked["parts"])
    best, name = (total, total), "the sum of the stated parts"
    if "rate" in asked:
        rate = exact(asked["rate"])
        amplified = (1 + arb_of(rate) * arb_of(total).expm1()).log()
        best = exact(round_down(amplified)), exact(round_up(amplified))
        name = f"the sum {float(total):g}, amplified by sampling at rate {float(rate):g}"

    def further() -> Iterator[Reading]:
        for told, more in asked.get("others", ()):
            longer = total + _total(more)
            yield Reading("the sum of the stated parts and more", (longer, longer), told)
        if "rate" in asked:
            yield Reading(f"the sum {float(total):g}", (total, total), "no amplification")
            told = "the amplified epsilon being rate times epsilon, which holds only for small epsilon"
            yield Reading("rate times the sum", (rate * total,) * 2, told, theorem=False)

    return Recomputed("sum", best, [Reading(name, best)], further)


def _total(parts: Sequence[tuple[str, str, int]]) -> Fraction:
    return sum((exact(value) * count for _, value, count in parts), Fraction(0))


def _account(row: Deployment, asked: Mapping[str, Any]) -> Recomputed:
    """Recompute epsilon of a mechanism of dpproof from its name and its parameters, under the row's relation."""
    name = str(asked["mechanism"])
    given = {key: value for key, value in asked.items() if key not in {"by", "mechanism"}}
    delta = row.published.get("delta", "0")
    try:
        found = account(name, adjacency=row.relation or None, **given).guarantee
        bound = found.epsilon(delta)
        if math.isinf(bound.upper):
            return Recomputed("none", None, notes=(f"no finite epsilon is certified at delta {delta}",))
        pure = found.most if isinstance(found, BoundedLoss) and exact(delta) == 0 else bound
        best = ends_of(pure, "epsilon")
    except (ArithmeticError, MemoryError, TypeError, ValueError) as error:
        return Recomputed("none", None, notes=(str(error),))
    told = ", ".join([name, *(f"{key} {value}" for key, value in given.items())])
    return Recomputed("mechanism", best, [Reading(told, best if close(best) else (best[1],) * 2)])


def _training(row: Deployment, asked: Mapping[str, Any]) -> Recomputed:
    """Recompute DP-SGD: tightly, and as libraries do, from Renyi divergences at a list of orders."""
    delta, steps = row.published.get("delta", _USUAL_DELTA), int(asked["steps"])
    run = renyi.Training(renyi.double_above(Fraction(asked["rate"])), float(asked["noise"]))

    def tight(relation: str) -> Ends:
        parameters = DPSGDParameters(run.rate, run.noise, steps)
        return _ends(dp_sgd(parameters, Adjacency.of(relation)).guarantee.epsilon(delta))

    def further() -> Iterator[Reading]:
        for other in asked.get("other_steps", ()):
            yield from _by_libraries(run, other, delta, asked["told"])
        yield Reading("the tight epsilon, neighbours by replacing", tight("replace"), "another relation")

    best = tight("add-remove")
    plain = [*_by_libraries(run, steps, delta), Reading("the tight epsilon", best)]
    notes = () if "delta" in row.published else (f"delta is not stated; {delta} is used here",)
    return Recomputed("mechanism", best, plain, further, notes)


def _by_libraries(run: renyi.Training, steps: int, delta: str, assumes: str = "") -> Iterator[Reading]:
    """Yield the readings of the Renyi accountants of the libraries."""
    for library, name in renyi.WAYS:
        value = exact(run.epsilon(steps, library, name, delta))
        told = f"Renyi accounting of {steps} steps at the orders of {library}, {name}"
        yield Reading(told, (value, value), assumes)


METHODS: Mapping[str, Callable[[Deployment, Mapping[str, Any]], Recomputed]] = {
    "queries": _queries,
    "rho": _rho,
    "rho-sum": _rho_sum,
    "sum": _sum,
    "account": _account,
    "training": _training,
}
