"""Accountant of the binary tree mechanism with Laplace noise.

Every complete node of the tree gets independent Laplace noise. A user who is in one leaf changes at most as
many nodes as the length of the stream has binary digits. Each of them changes by the sensitivity. The
guarantee is the composition of as many Laplace mechanisms. A change of the first leaf attains it.

A user who is in several leaves changes nodes by different amounts. Here a profile is a tuple n: n[c - 1]
nodes change by c. A Laplace pair of a larger shift dominates one of a smaller shift, and also two pairs whose
shifts add up to its own. So one profile dominates another if the changes of the other can be packed into its
own changes, as into boxes of these sizes. If the leaves are fixed before the run, the worst case is among the
profiles that no other profile dominates. If there are too many of them, the accountant states only the pure
guarantee.

Source: Chan, Shi and Song, Private and continual release of statistics (2011), binary mechanism. Proofs:
docs/notes/counting.md.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.parameters import Integers, Reals, parameter
from dpproof.accountant.claims.result import Attained, PrivacyResult
from dpproof.accountant.claims.sensitivity import Measured, contributed, contribution
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.counting.sensitivity import (
    MOST,
    SIGNED,
    absolute_replacement,
    absolute_sensitivity,
    assumed,
    contributions,
    replacement_sensitivity,
    restarts,
    sensitivity,
)
from dpproof.accountant.counting.tree import levels
from dpproof.accountant.guarantees.notions import BoundedLoss, PureDP
from dpproof.accountant.guarantees.profile import Enclosed, Profile
from dpproof.accountant.numbers.checks import whole
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.numbers.inversion import neighbours_of
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.privacy_loss.notion import PrivacyLoss

MOST_PROFILED = 8
"""The largest number of leaves of one user for which all profiles of changes are listed."""
MOST_HELD = 256
"""The largest number of profiles of changes that are kept at a time."""
Counts = tuple[int, ...]


class TooManyProfilesError(ValueError):
    """Raised if one user can change the nodes of a tree in too many different ways to list them."""


def worst_profiles(leaves: int, participations: int) -> tuple[Counts, ...]:
    """Return the worst ways in which one user can change the nodes of a tree.

    The user contributes 1 to each of at most ``participations`` leaves. A way to change the nodes is a tuple of
    numbers: the first is the number of nodes that change by 1, the second the number of nodes that change by 2,
    and so on. The function leaves out a way if another way is certainly at least as bad for privacy.

    >>> worst_profiles(16384, 1)
    ((15,),)
    >>> worst_profiles(4, 2)
    ((2, 2),)

    Raises:
        ValueError: for leaves below 1, or participations outside 1..8.
        TooManyProfilesError: if more than ``MOST_HELD`` profiles have to be kept at a time.
    """
    whole(participations, "participations", 1, MOST_PROFILED)
    none: Counts = (0,) * participations
    below: list[set[Counts]] = [{none}, *({none} if c == 1 else set() for c in range(1, participations + 1))]
    forest: list[set[Counts]] = [{none}, *(set() for _ in none)]
    for level in range(levels(leaves)):
        own = [{_plus(p, c) for p in profiles} for c, profiles in enumerate(below)]
        if leaves >> level & 1:
            forest = _joined(forest, own)
        below = _joined(own, own)
    return tuple(sorted(_undominated(set().union(*forest))))


def _plus(profile: Counts, moved: int) -> Counts:
    """Return the profile with one more node, which changes by ``moved``."""
    return tuple(n + (c == moved) for c, n in enumerate(profile, 1))


def _joined(left: list[set[Counts]], right: list[set[Counts]]) -> list[set[Counts]]:
    best: list[set[Counts]] = [set() for _ in left]
    for (a, some), (b, others) in itertools.product(enumerate(left), enumerate(right)):
        if a + b < len(best):
            best[a + b] |= {
                tuple(x + y for x, y in zip(p, q, strict=True)) for p, q in itertools.product(some, others)
            }
    return [_undominated(profiles) for profiles in best]


def _undominated(profiles: set[Counts]) -> set[Counts]:
    """Return the profiles without those whose changes can be packed into another one's nodes."""
    if len(profiles) > MOST_HELD**2:
        raise TooManyProfilesError(
            f"One user can change the nodes in {len(profiles)} ways. dpproof compares at most {MOST_HELD**2} ways."
        )
    kept: list[Counts] = []
    for profile in sorted(profiles, key=_order, reverse=True):
        if not any(_packs(profile, boxes) for boxes in kept):
            kept.append(profile)
        if len(kept) > MOST_HELD:
            raise TooManyProfilesError(
                f"One user can change the nodes in more than {MOST_HELD} ways, none of which dominates another."
            )
    return set(kept)


def _order(profile: Counts) -> tuple[int, int]:
    """Return a sort key. In reverse order, a profile comes before those that it can hold.

    Larger totals come first, then fewer nodes.
    """
    return sum(c * n for c, n in enumerate(profile, 1)), -sum(profile)


def _packs(changes: Counts, boxes: Counts) -> bool:
    """Whether all changes fit, if each one, the largest first, is put into the tightest box."""
    rooms, largest = [0, *boxes], len(boxes)
    for size in range(largest, 0, -1):
        left = changes[size - 1]
        while left:
            room = next((r for r in range(size, largest + 1) if rooms[r]), None)
            if room is None:
                return False
            placed = min(left, rooms[room])
            rooms[room] -= placed
            rooms[room - size] += placed
            left -= placed
    return True


_RELEASED = "every noisy node of the tree, and with it every running count"
_MOST_ALTERNATIVES = 128


@dataclass(frozen=True)
class LaplaceTreeParameters(Measured):
    """Parameters of a tree counter: the length of the stream, the Laplace noise, and what one user may contribute.

    >>> LaplaceTreeParameters(leaves=16384, scale=-1.0)
    Traceback (most recent call last):
    ValueError: scale (-1.0) must be a number above 0
    """

    leaves: int = parameter(Integers(1), "leaves", "length of the stream")
    scale: float = parameter(Reals(0, lower_open=True), "count", "scale of the noise on each node", safer=1)
    sensitivity: float | None = sensitivity()
    participations: int = parameter(Integers(1, MOST), "leaves", "leaves of one tree that one user moves", 1)
    restarts: int = restarts("trees")
    contributions: str = contributions()


def pure_epsilon(parameters: LaplaceTreeParameters, adjacency: Adjacency) -> Fraction:
    """Return the largest privacy loss of the whole run: the largest total change of the nodes, divided by the scale.

    >>> pure_epsilon(LaplaceTreeParameters(16384, 15.0, sensitivity=1.0), Adjacency.ADD_REMOVE)
    Fraction(1, 1)

    Raises:
        UnprovedAdjacencyError: for a relation without a proof.
    """
    if adjacency not in _TOTALS:
        known = ", ".join(relation.value for relation in _TOTALS)
        raise UnprovedAdjacencyError("laplace-tree", adjacency, f"Use one of: {known}")
    total = _TOTALS[adjacency](parameters)
    return (parameters.restarts + 1) * total / _ratio(parameters, adjacency)


def _ratio(parameters: LaplaceTreeParameters, adjacency: Adjacency) -> Fraction:
    """Return the scale divided by the largest absolute value that a user adds to a leaf."""
    return exact(parameters.scale) / contributed(parameters, adjacency)


def _changed(parameters: LaplaceTreeParameters) -> int:
    return absolute_sensitivity(parameters.leaves, parameters.participations)


def _replaced(parameters: LaplaceTreeParameters) -> int:
    if parameters.contributions == SIGNED:
        return 2 * _changed(parameters)
    return absolute_replacement(parameters.leaves, parameters.participations)


_TOTALS = {
    Adjacency.BY_SENSITIVITY: _changed,
    Adjacency.ADD_REMOVE: _changed,
    Adjacency.REPLACE: _replaced,
}


def account(
    parameters: LaplaceTreeParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY
) -> PrivacyResult:
    """Return the guarantee: the composition of the Laplace noise on all tree nodes. It is pure privacy.

    >>> found = account(LaplaceTreeParameters(16384, 15.0)).guarantee
    >>> found.epsilon(0).upper, found.epsilon("1e-6").upper
    (1.0, 0.970191)

    Raises:
        UnprovedAdjacencyError: for a relation without a proof.
    """
    most = pure_epsilon(parameters, adjacency)
    ratio = _ratio(parameters, adjacency)
    alternatives = _composable(ratio, _alternatives(parameters, adjacency))
    found = BoundedLoss(most, _loss(ratio, alternatives)) if alternatives else PureDP(most)
    pair = "streams that differ as far as allowed at the leaves that move the nodes most"
    return PrivacyResult(
        found,
        adjacency,
        TrustModel.CENTRAL,
        _RELEASED,
        _statement(parameters, adjacency),
        attained=Attained(found, pair) if alternatives else None,
        notes=assumed(parameters.contributions, adjacency) + _notes(parameters, composed=bool(alternatives)),
        sensitivity=contribution(parameters, adjacency),
    )


def _statement(parameters: LaplaceTreeParameters, adjacency: Adjacency) -> str:
    """Return the page that covers the result. Only the guarantee of one changed leaf is a formal goal."""
    one_leaf = parameters.participations == 1 and adjacency is not Adjacency.REPLACE
    return "classic.tree_laplace" if one_leaf else "classic.tree_laplace.exact"


def _notes(parameters: LaplaceTreeParameters, composed: bool) -> tuple[str, ...]:
    if not composed:
        return (
            "too many patterns of participation to compose each, or a scale too far from the sensitivity: "
            "this is the pure guarantee, at every delta",
        )
    fixed = "a user's leaves are fixed before the run; what the user contributes to them need not be"
    return (fixed,) if parameters.participations > 1 else ()


def _alternatives(parameters: LaplaceTreeParameters, adjacency: Adjacency) -> list[Counts]:
    """Return the profiles of all trees together, or an empty list if there are too many."""
    trees = parameters.restarts + 1
    if adjacency is Adjacency.REPLACE:
        return [_replacement(parameters, trees)] if parameters.participations == 1 else []
    participations = min(parameters.participations, parameters.leaves)
    if participations > MOST_PROFILED:
        return []
    try:
        profiles = worst_profiles(parameters.leaves, participations)
    except TooManyProfilesError:
        return []
    if len(profiles) == 1:
        return [tuple(trees * n for n in profiles[0])]
    if trees > _MOST_ALTERNATIVES or math.comb(len(profiles) + trees - 1, trees) > _MOST_ALTERNATIVES:
        return []
    chosen = itertools.combinations_with_replacement(profiles, trees)
    return [tuple(sum(counts) for counts in zip(*some, strict=True)) for some in chosen]


def _composable(ratio: Fraction, alternatives: list[Counts]) -> list[Counts]:
    """Return the alternatives, or an empty list if losses cannot be composed for some ratio of scale and change."""
    shifts = {c for profile in alternatives for c, n in enumerate(profile, 1) if n}
    return alternatives if all(_LEAST_RATIO < ratio / c < _LARGEST_RATIO for c in shifts) else []


_LEAST_RATIO, _LARGEST_RATIO = (
    Fraction(2, 1000),
    10**12,
)  # of ``dpproof.accountant.pairs.laplace``, the ends left out


def _replacement(parameters: LaplaceTreeParameters, trees: int) -> Counts:
    """Return the worst profile of one replaced leaf.

    With signed contributions every node above the first leaf changes from -1 to +1.
    """
    if parameters.contributions == SIGNED:
        return (0, trees * levels(parameters.leaves))
    return (trees * replacement_sensitivity(parameters.leaves),)


def _loss(ratio: Fraction, alternatives: list[Counts]) -> Profile:
    """Return the composition, with each ratio of scale and shift rounded to a double on one side."""
    low, high = ({c: neighbours_of(ratio / c)[side] for c in range(1, MOST_PROFILED + 1)} for side in (0, 1))
    less = _composed(alternatives, low)
    exactly = all(Fraction(low[c]) * c == ratio for c in range(1, len(alternatives[0]) + 1))
    return less if exactly else Enclosed(_composed(alternatives, high), less)


def _composed(alternatives: list[Counts], scales: dict[int, float]) -> Profile:

    return PrivacyLoss(
        [[(Laplace(scales[c]), n) for c, n in enumerate(profile, 1) if n] for profile in alternatives]
    )


ACCOUNTANT = Accountant(
    "laplace-tree",
    "Continual counting by a binary tree, Laplace noise",
    LaplaceTreeParameters,
    account,
    "scale",
    adjacency=Adjacency.BY_SENSITIVITY,
    example=LaplaceTreeParameters(leaves=16, scale=10.0, sensitivity=1.0),
)
