"""How many nodes one user moves by 1, by 2, ...: the profiles of all patterns, less the dominated ones.

Laplace noise, unlike Gaussian noise, does not ask for one norm: what counts is how many nodes move how far.
A profile n holds n[c - 1] nodes that move by c. One that moves as many nodes at least as far is at least
as bad, because a Laplace pair of a larger shift dominates that of a smaller one.
"""

from __future__ import annotations

import itertools

from accountant.counting.tree import levels

__all__ = ["MOST_PROFILED", "Profile", "worst_profiles"]

MOST_PROFILED = 4
"""The most participations whose profiles are listed."""
Profile = tuple[int, ...]


def worst_profiles(leaves: int, participations: int) -> tuple[Profile, ...]:
    """The profiles that no other profile of a set of at most k leaves dominates, over all complete nodes.

    >>> worst_profiles(16384, 1)
    ((15,),)
    >>> worst_profiles(4, 2)
    ((2, 2), (4, 1))

    Raises:
        ValueError: for leaves below 1, or participations outside 1..4.
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
    """Without those of which another one moves at least as many nodes by at least c, for every c."""
    sums = {p: tuple(itertools.accumulate(reversed(p))) for p in profiles}
    return {
        p
        for p, mine in sums.items()
        if not any(
            q != p and all(x >= y for x, y in zip(theirs, mine, strict=True)) for q, theirs in sums.items()
        )
    }
