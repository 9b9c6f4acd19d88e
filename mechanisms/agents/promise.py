"""What an agent promises, and the guarantee that follows from its releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpproof.accountant.asking import account
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Parameters
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.guarantees.profile import WorstOf
from dpproof.mechanisms.agents.gradient_sums import MECHANISM, as_released


@dataclass(frozen=True)
class Promise:
    """What an agent promises, and the accountant that certifies it.

    Attributes:
        mechanism: the command-line name of the mechanism.
        releases: the parameters of every kind of release. A user's data are in one release of one kind, unless there
            is a single kind, which covers the whole run. The user who replaces another one may be in a release of
            another kind (docs/notes/first_visits.md).
        adjacency: the neighbouring relation.
        epsilon, delta: the guarantee that was asked for.
    """

    mechanism: str
    releases: tuple[Parameters, ...]
    adjacency: Adjacency
    epsilon: Any
    delta: Any

    def result(self) -> PrivacyResult:
        """Return the certified guarantee of the whole run: that of the weakest release."""
        return weakest(self.mechanism, [one.as_json() for one in self.releases], self.adjacency)


def weakest(
    mechanism: str, releases: Sequence[Mapping[str, Any]], adjacency: Adjacency | str
) -> PrivacyResult:
    """Return the guarantee of a run in which every user's data are in one release.

    Args:
        mechanism: the command-line name of the mechanism.
        releases: the parameters of each kind of release.
        adjacency: the neighbouring relation.
    """
    found = [account(mechanism, adjacency=adjacency, **one) for one in releases]
    if mechanism == MECHANISM:
        found = list(map(as_released, found))
    if len(found) == 1:
        return found[0]
    guarantee = WorstOf(tuple(dict.fromkeys(one.guarantee for one in found)))
    notes = (f"the guarantee is that of the weakest of {len(found)} kinds of batches", *found[-1].notes)
    return replace(found[-1], guarantee=guarantee, attained=None, published=None, notes=notes)
