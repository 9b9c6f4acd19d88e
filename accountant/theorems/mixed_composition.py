"""Adaptive composition of guarantees of any kinds, of mechanisms that run on the same data.

Guarantees of one notion compose by its own theorem. Otherwise each guarantee becomes a dominating pair, and the
pairs compose. A guarantee that is known for each direction of the neighbouring relation keeps its two pairs, because
one change of the data has one direction in all mechanisms.

Source: Zhu, Dong and Wang, arXiv:2106.08567v4, Theorem 10; this project's statement classic.dominating_composition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import singledispatch
from itertools import product
from typing import Any

from dpproof.accountant.guarantees.notions import ZCDP, ApproxDP, BoundedLoss, GaussianDP, RenyiDP
from dpproof.accountant.guarantees.profile import Enclosed, Profile, ends_of
from dpproof.accountant.numbers.enclosures import arb_of, precision, round_down
from dpproof.accountant.pairs.atoms import dominating_pair
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.randomised_response import RandomisedResponse
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.theorems.composition import compose_gaussian, compose_renyi, compose_zcdp
from dpproof.accountant.theorems.optimal_composition import compose_approx_optimal

Parts = tuple[tuple[DominatingPair, int], ...]
_SMALLEST_MU, _LARGEST_EPSILON = Fraction(1, 10**12), 600


def compose_guarantees(*guarantees: Profile) -> Profile:
    """The guarantee of mechanisms with these guarantees together, each chosen in view of the earlier outputs.

    The upper ends hold for every such composition. The lower ends are of this guarantee, not of the mechanisms: one
    pair of data sets need not be the worst of all of them.

    >>> compose_guarantees(GaussianDP(3), GaussianDP(4)).delta(0).upper == GaussianDP(5).delta(0).upper
    True
    >>> compose_guarantees(GaussianDP(1), ApproxDP(1, 0)).epsilon("1e-6").upper
    5.86756

    Raises:
        ValueError: without guarantees, or for one without any privacy.
    """
    if not guarantees:
        raise ValueError("compose must be given at least one guarantee")
    ends = [_ends(one) for one in guarantees]
    more, less = (_compose([pair[side] for pair in ends]) for side in (0, 1))
    return more.enclosing(less)


def compose_opposed(guarantee: Profile) -> Profile:
    """The guarantee of two mechanisms of this guarantee, where one loses a record and the other gets one.

    >>> compose_opposed(GaussianDP(3)).delta("0.5").upper == compose_gaussian(*[GaussianDP(3)] * 2).delta("0.5").upper
    True
    """
    more, less = (_opposed(end) for end in _ends(guarantee))
    return more.enclosing(less)


def _opposed(guarantee: Profile) -> Profile:
    own = _OWN_THEOREMS.get(type(guarantee))
    if own is not None:
        return own(guarantee, guarantee)
    sides = _sides(guarantee)
    return PrivacyLoss([[*sides[0], *sides[-1]]])


def _compose(guarantees: Sequence[Profile]) -> Profile:
    if len(guarantees) == 1:
        return guarantees[0]
    kinds = {type(one) for one in guarantees}
    own = _OWN_THEOREMS.get(kinds.pop()) if len(kinds) == 1 else None
    return _by_pairs(guarantees) if own is None else own(*guarantees)


_OWN_THEOREMS: dict[type[Profile], Callable[..., Profile]] = {
    ApproxDP: compose_approx_optimal,
    GaussianDP: compose_gaussian,
    RenyiDP: compose_renyi,
    ZCDP: compose_zcdp,
}


def _by_pairs(guarantees: Sequence[Profile]) -> PrivacyLoss:
    concentrated = [one for one in guarantees if type(one) is ZCDP]
    joined = [compose_zcdp(*concentrated)] if concentrated else []
    sides = [_sides(one) for one in (*(one for one in guarantees if type(one) is not ZCDP), *joined)]
    same = [parts for parts, *others in sides if not others]
    return PrivacyLoss([[*sum(same, ()), *sum(chosen, ())] for chosen in _orientations(sides)])


def _orientations(sides: Iterable[Sequence[Parts]]) -> list[tuple[Parts, ...]]:
    """The ways in which the mechanisms that have two directions may go together.

    Those whose first pairs are of one class and one direction go the same way. Between others this is not known, and
    all ways are kept. The first of them keeps its direction, because the reverse of every way is added.
    """
    grouped: dict[Any, list[Sequence[Parts]]] = {}
    for side in sides:
        if len(side) == 2:
            pair = side[0][0][0]
            grouped.setdefault((type(pair), getattr(pair, "removes", None)), []).append(side)
    ways = product((0, 1), repeat=len(grouped))
    return [
        tuple(one[way] for way, group in zip(chosen, grouped.values(), strict=True) for one in group)
        for chosen in ways
    ]


@singledispatch
def _ends(guarantee: Profile) -> tuple[Profile, Profile]:
    """Guarantees that are at least, and at most, as private."""
    return guarantee, guarantee


@_ends.register
def _of_enclosed(guarantee: Enclosed) -> tuple[Profile, Profile]:
    return _ends(guarantee.more)[0], _ends(guarantee.less)[1]


@singledispatch
def _sides(guarantee: Profile) -> Sequence[Parts]:
    """Pairs that dominate a mechanism with this guarantee: one composition, or one for each direction."""
    return [((dominating_pair(guarantee), 1),)]


@_sides.register
def _of_gaussian(guarantee: GaussianDP) -> Sequence[Parts]:
    mu = ends_of(guarantee.mu, "mu")[1]
    if not _SMALLEST_MU <= mu <= 10**4:
        return [((dominating_pair(guarantee), 1),)] if mu else [()]
    with precision(192):
        return [((SubsampledGaussian(1.0, round_down(1 / arb_of(mu))), 1),)]


@_sides.register
def _of_approx(guarantee: ApproxDP) -> Sequence[Parts]:
    epsilon, delta = (
        ends_of(value, name)[1]
        for value, name in ((guarantee.epsilon_parameter, "epsilon"), (guarantee.delta_parameter, "delta"))
    )
    if delta or not Fraction(1, 10**300) <= epsilon <= _LARGEST_EPSILON:
        return [((dominating_pair(guarantee), 1),)] if delta or epsilon else [()]
    return [((RandomisedResponse(epsilon), 1),)]


@_sides.register
def _of_bounded(guarantee: BoundedLoss) -> Sequence[Parts]:
    return _sides(guarantee.loss)


@_sides.register
def _of_loss(guarantee: PrivacyLoss) -> Sequence[Parts]:
    """The composition itself if it has one alternative, or two that are the reverse of each other."""
    first, *others = (
        tuple((pair, count) for pair, count in parts if count) for parts in guarantee.alternatives
    )
    if not others or set(others) == {first}:
        return [first]
    if others == [tuple((pair.reversed(), count) for pair, count in first)]:
        return [first, others[0]]
    return [((dominating_pair(guarantee), 1),)]
