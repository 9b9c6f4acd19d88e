"""How many nodes one user moves by 1, by 2, ...: the profiles of all patterns, less the dominated ones.

Laplace noise, unlike Gaussian noise, does not ask for one norm: what counts is how many nodes move how far.
A profile n holds n[c - 1] nodes that move by c. A Laplace pair of a larger shift dominates that of a smaller
one, and two pairs of shifts that add up to its own: a profile into whose nodes, as boxes, another one's
changes can be packed is at least as bad (docs/notes/counting.md).
"""

from __future__ import annotations

import itertools

from dpproof.accountant.counting.tree import levels

__all__ = ["MOST_HELD", "MOST_PROFILED", "Profile", "TooManyProfilesError", "worst_profiles"]

MOST_PROFILED = 8
"""The most participations whose profiles are listed."""
MOST_HELD = 256
"""The most profiles held at a time."""
Profile = tuple[int, ...]


class TooManyProfilesError(ValueError):
    """More profiles than are listed."""


def worst_profiles(leaves: int, participations: int) -> tuple[Profile, ...]:
    """The profiles that no other profile of a set of at most k leaves dominates, over all complete nodes.

    >>> worst_profiles(16384, 1)
    ((15,),)
    >>> worst_profiles(4, 2)
    ((2, 2),)

    Raises:
        ValueError: for leaves below 1, or participations outside 1..8.
        TooManyProfilesError: where more than ``MOST_HELD`` are met on the way.
    """
    if isinstance(participations, bool) or participations not in range(1, MOST_PROFILED + 1):
        raise ValueError(f"participations ({participations!r}) must be an integer in [1, {MOST_PROFILED}]")
    none: Profile = (0,) * participations
    below: list[set[Profile]] = [{none}, *({none} if c == 1 else set() for c in range(1, participations + 1))]
    forest: list[set[Profile]] = [{none}, *(set() for _ in none)]
    for level in range(levels(leaves)):
        own = [{_plus(p, c) for p in profiles} for c, profiles in enumerate(below)]
        if leaves >> level & 1:
            forest = _joined(forest, own)
        below = _joined(own, own)
    return tuple(sorted(_undominated(set().union(*forest))))


def _plus(profile: Profile, moved: int) -> Profile:
    """One more node, which moves by ``moved``."""
    return tuple(n + (c == moved) for c, n in enumerate(profile, 1))


def _joined(left: list[set[Profile]], right: list[set[Profile]]) -> list[set[Profile]]:
    best: list[set[Profile]] = [set() for _ in left]
    for (a, some), (b, others) in itertools.product(enumerate(left), enumerate(right)):
        if a + b < len(best):
            best[a + b] |= {
                tuple(x + y for x, y in zip(p, q, strict=True)) for p, q in itertools.product(some, others)
            }
    return [_undominated(profiles) for profiles in best]


def _undominated(profiles: set[Profile]) -> set[Profile]:
    """Without those whose changes can be packed into another one's nodes."""
    if len(profiles) > MOST_HELD**2:
        raise TooManyProfilesError(f"profiles ({len(profiles)}) must be at most {MOST_HELD**2} at a time")
    kept: list[Profile] = []
    for profile in sorted(profiles, key=_order, reverse=True):
        if not any(_packs(profile, boxes) for boxes in kept):
            kept.append(profile)
        if len(kept) > MOST_HELD:
            raise TooManyProfilesError(f"profiles must be at most {MOST_HELD}")
    return set(kept)


def _order(profile: Profile) -> tuple[int, int]:
    """One that holds another comes before it: it has the larger total, or the same in fewer nodes."""
    return sum(c * n for c, n in enumerate(profile, 1)), -sum(profile)


def _packs(changes: Profile, boxes: Profile) -> bool:
    """Whether putting the changes, the largest first, each into the tightest box, places all of them."""
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
