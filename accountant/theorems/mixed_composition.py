"""Adaptive composition of guarantees of any notions, for mechanisms that run on the same data.

Guarantees of one notion of privacy compose by the theorem of that notion. Otherwise each guarantee becomes a
dominating pair, and the pairs compose. A guarantee with one pair for each direction of the neighbouring
relation keeps its two pairs only if every pair states its direction. Otherwise one pair stands for both
directions.

Source: Zhu, Dong and Wang, arXiv:2106.08567v4, Theorem 10; this project's statement classic.dominating_composition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import singledispatch
from itertools import chain

from dpproof.accountant.guarantees.notions import ZCDP, ApproxDP, BoundedLoss, GaussianDP, RenyiDP
from dpproof.accountant.guarantees.profile import Enclosed, Profile, WorstOf, ends_of
from dpproof.accountant.numbers.enclosures import arb_of, precision, round_down, round_up
from dpproof.accountant.pairs.atoms import dominating_pair
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.randomised_response import RandomisedResponse
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.theorems.composition import compose_gaussian, compose_renyi, compose_zcdp
from dpproof.accountant.theorems.optimal_composition import compose_approx_optimal

Parts = tuple[tuple[DominatingPair, int], ...]
Sides = tuple[Parts, ...]
"""One composition for both directions, or two: one for a removed record, and one for an added record."""
_SMALLEST_MU, _LARGEST_MU = Fraction(1, 10**12), 10**4
_SMALLEST_EPSILON, _LARGEST_EPSILON = Fraction(1, 10**300), 600


def compose_guarantees(*guarantees: Profile) -> Profile:
    """Return the guarantee of the adaptive composition of mechanisms with these guarantees.

    Each mechanism may be chosen after seeing earlier outputs.

    The upper bounds hold for every such composition. The lower bounds belong to this guarantee, not to the
    mechanisms: one pair of data sets need not be the worst for all of them.

    >>> compose_guarantees(GaussianDP(3), GaussianDP(4)).delta(0).upper == GaussianDP(5).delta(0).upper
    True
    >>> compose_guarantees(GaussianDP(1), ApproxDP(1, 0)).epsilon("1e-6").upper
    5.8202844

    Raises:
        ValueError: without guarantees, or for one without any privacy.
    """
    if not guarantees:
        raise ValueError("compose must be given at least one guarantee")
    more, less = zip(*map(_ends, guarantees), strict=True)
    return _lower(more).enclosing(_compose(less, lower=False))


def compose_opposed(removed: Profile, added: Profile) -> Profile:
    """Return the guarantee of two mechanisms together if the input of one loses a record and the other's gains one.

    ``removed`` and ``added`` are the guarantees of the two mechanisms for one record less and one record more.

    >>> compose_opposed(GaussianDP(3), GaussianDP(4)).delta("0.5").upper == GaussianDP(5).delta("0.5").upper
    True
    """
    (more, less), (other_more, other_less) = _ends(removed), _ends(added)
    own = _OWN_THEOREMS.get(type(less))
    if own is not None and {type(more), type(other_more), type(other_less)} == {type(less)}:
        return own(more, other_more).enclosing(own(less, other_less))
    first, second = (_sides(one, lower=False) or _surrogate(one) for one in (less, other_less))
    whole = PrivacyLoss([[*first[0], *second[-1]]])
    known = [_sides(one, lower=True) for one in (more, other_more)]
    if known[0] is None or known[1] is None:
        return WorstOf((more, other_more)).enclosing(whole)
    return PrivacyLoss([[*known[0][0], *known[1][-1]]]).enclosing(whole)


def _lower(guarantees: Sequence[Profile]) -> Profile:
    """A guarantee whose lower ends hold for the composition: a part's own where one of them has no exact pair."""
    if _own(guarantees) is None and any(_sides(one, lower=True) is None for one in guarantees):
        return WorstOf(tuple(guarantees))
    return _compose(guarantees, lower=True)


def _compose(guarantees: Sequence[Profile], lower: bool) -> Profile:
    if len(guarantees) == 1:
        return guarantees[0]
    own = _own(guarantees)
    return _by_pairs(guarantees, lower) if own is None else own(*guarantees)


def _own(guarantees: Sequence[Profile]) -> Callable[..., Profile] | None:
    """The theorem on guarantees of one notion; None for several notions."""
    kinds = {type(one) for one in guarantees}
    return _OWN_THEOREMS.get(kinds.pop()) if len(kinds) == 1 else None


def _optimally(*parts: ApproxDP) -> Profile:
    return compose_approx_optimal([(part, 1) for part in parts])


_OWN_THEOREMS: dict[type[Profile], Callable[..., Profile]] = {
    ApproxDP: _optimally,
    GaussianDP: compose_gaussian,
    RenyiDP: compose_renyi,
    ZCDP: compose_zcdp,
}


def _by_pairs(guarantees: Sequence[Profile], lower: bool) -> PrivacyLoss:
    concentrated = [one for one in guarantees if type(one) is ZCDP]
    joined = [compose_zcdp(*concentrated)] if concentrated else []
    others = [one for one in guarantees if type(one) is not ZCDP]
    sides = [_sides(one, lower) or _surrogate(one) for one in (*others, *joined)]
    directions = range(max(map(len, sides)))
    return PrivacyLoss(
        [list(chain.from_iterable(side[way % len(side)] for side in sides)) for way in directions]
    )


def _surrogate(guarantee: Profile) -> Sides:
    """Return a pair for both directions. Its profile is at least the guarantee's, so only upper bounds hold."""
    return (((dominating_pair(guarantee.sharing()), 1),),)


@singledispatch
def _ends(guarantee: Profile) -> tuple[Profile, Profile]:
    """Return a guarantee that is at least as private, and one that is at most as private."""
    return guarantee, guarantee


@_ends.register
def _of_enclosed(guarantee: Enclosed) -> tuple[Profile, Profile]:
    return _ends(guarantee.more)[0], _ends(guarantee.less)[1]


@singledispatch
def _sides(guarantee: Profile, lower: bool) -> Sides | None:
    """Return pairs that dominate a mechanism with this guarantee: one composition, or one for each direction.

    Return None if no pair has exactly the profile of the guarantee. The pairs are rounded to more privacy if
    ``lower`` is true, for lower bounds, and to less privacy otherwise.
    """
    return None


@_sides.register
def _of_gaussian(guarantee: GaussianDP, lower: bool) -> Sides | None:
    mu = ends_of(guarantee.mu, "mu")[0 if lower else 1]
    if mu == 0:
        return ((),)
    if not _SMALLEST_MU <= mu <= _LARGEST_MU:
        return None
    with precision(192):
        sigma = (round_up if lower else round_down)(1 / arb_of(mu))
    return (((SubsampledGaussian(1.0, sigma), 1),),)


@_sides.register
def _of_approx(guarantee: ApproxDP, lower: bool) -> Sides | None:
    side = 0 if lower else 1
    epsilon = ends_of(guarantee.epsilon_parameter, "epsilon")[side]
    if ends_of(guarantee.delta_parameter, "delta")[side]:
        return None
    if epsilon == 0:
        return ((),)
    return (
        (((RandomisedResponse(epsilon), 1),),) if _SMALLEST_EPSILON <= epsilon <= _LARGEST_EPSILON else None
    )


@_sides.register
def _of_bounded(guarantee: BoundedLoss, lower: bool) -> Sides | None:
    return _sides(guarantee.loss, lower)


@_sides.register
def _of_loss(guarantee: PrivacyLoss, lower: bool) -> Sides | None:
    """Return the composition itself if it has one alternative, or two that state their direction."""
    first, *others = (
        tuple((pair, count) for pair, count in parts if count) for parts in guarantee.alternatives
    )
    if not others or set(others) == {first}:
        return (first,)
    reverse = tuple((pair.reversed(), count) for pair, count in first)
    if others == [reverse] and all(_removes_first(pair) for pair, _ in first):
        return first, reverse
    return None


def _removes_first(pair: DominatingPair) -> bool:
    """Whether a pair belongs to the removal of a record, by what it says itself, or to both directions."""
    return pair.reversed() == pair or getattr(pair, "removes", False) is True
