"""What no noise can reach in a release of prefixes, said by name before a search that could not end well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final

from dpproof.accountant.guarantees.targets import UnreachableTargetError
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.rl.expert.draws import Logged, run_out, walk_constants

__all__ = ["LEAST_FAILURE", "MOST_FAILURE", "check_reach", "drawn_out", "failure_share"]

LEAST_FAILURE: Final = 1e-60
MOST_FAILURE: Final = 0.1
"""The domain of the chance that a round releases what is not stable."""

_TOO_MANY = "so many draws from what is logged are too far from fresh ones; nothing is promised"
_HOPELESS: Final[Mapping[str, Callable[[Logged], bool]]] = {
    "walk": lambda logged: not walk_constants(logged),
    "fresh": lambda logged: 2 * run_out(logged) >= 1,
}


def drawn_out(logged: Logged, draws: str) -> tuple[str, ...]:
    """What to say where logged data are drawn out, so that no noise helps; else nothing.

    >>> drawn_out(Logged(rounds=25, experts=3000, each=20), "walk")
    ()
    """
    return (_TOO_MANY,) if _HOPELESS[draws](logged) else ()


def failure_share(delta: Fraction, rounds: int) -> float:
    """A fifth of delta over the rounds, within the domain of a round's failure.

    >>> failure_share(Fraction(1, 1000), 20), failure_share(Fraction(9, 10), 1)
    (1e-05, 0.1)

    Raises:
        UnreachableTargetError: for a delta that the least failures use up.
    """
    least = exact(LEAST_FAILURE) * rounds
    if delta <= least:
        given = f"delta ({float(delta)!r})"
        raise UnreachableTargetError(f"{given} must be above {float(least)!r}: rounds may fail")
    return min(max(float(delta / (5 * rounds)), LEAST_FAILURE), MOST_FAILURE)


def check_reach(logged: Logged, draws: str, epsilon: Fraction) -> None:
    """Refuse what the draws alone take, whatever the noise.

    Raises:
        UnreachableTargetError: logged data are drawn out; an epsilon below that of the walk.
    """
    if drawn_out(logged, draws):
        raise UnreachableTargetError(f"trajectories ({logged.rounds}): {_TOO_MANY}")
    if draws == "walk" and epsilon < (least := walk_constants(logged)[0][0]):
        given = f"epsilon ({float(epsilon)!r}) must be at least {float(least)!r}"
        raise UnreachableTargetError(f"{given}: a walk takes so much without any noise; use draws 'fresh'")
