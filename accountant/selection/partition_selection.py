"""Accountant of partition selection: which groups of a table may be released, by the optimal rule.

A table is grouped, for example by web address. Only groups that enough users have may be shown. The rule keeps a group
of n users with the largest probability that (epsilon, delta)-DP allows for every n. This probability pi(n) is 0 for
n = 0, and

    pi(n + 1) = min(e^epsilon pi(n) + delta, 1 - e^-epsilon (1 - pi(n) - delta), 1).

A user may be in several groups. Then the decisions about these groups compose.

Source: Desfontaines, Voss, Gipson and Mandayam, arXiv:2006.03684 (the rule, for one group of each user). This project's
statements classic.partition_selection and classic.kairouz_oh_viswanath.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import flint

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.parameters import EXACT, Integers, Parameters, Reals, parameter
from dpproof.accountant.claims.result import Attained, PrivacyResult
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.notions import ApproxDP
from dpproof.accountant.guarantees.profile import Profile, WorstOf
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_down, round_up
from dpproof.accountant.pairs.atoms import Atoms
from dpproof.accountant.privacy_loss.notion import composed
from dpproof.accountant.sampling.between import Between
from dpproof.accountant.theorems.optimal_composition import compose_approx_optimal

_BITS = 192


@dataclass(frozen=True)
class PartitionSelectionParameters(Parameters):
    """Parameters of partition selection: epsilon and delta of one group, and the groups of a user."""

    group_epsilon: float = parameter(
        Reals(0, 600, lower_open=True), "1", "epsilon of the decision about one group", safer=EXACT
    )
    group_delta: float = parameter(
        Reals(0, 1, lower_open=True, upper_open=True),
        "1",
        "probability to keep a group of one user",
        safer=EXACT,
    )
    groups: int = parameter(Integers(1), "groups", "the largest number of groups of one user", 1)


def keep_probabilities(parameters: PartitionSelectionParameters, most: int) -> list[flint.arb]:
    """Return intervals around the probabilities to keep a group of 0, 1, ..., ``most`` users.

    >>> one = PartitionSelectionParameters(group_epsilon=1.0, group_delta=0.01)
    >>> [round(float(chance), 4) for chance in keep_probabilities(one, 4)]
    [0.0, 0.01, 0.0372, 0.1111, 0.3119]
    """
    with precision(_BITS):
        grown, failure = arb_of(exact(parameters.group_epsilon)).exp(), arb_of(exact(parameters.group_delta))
        kept = [flint.arb(0)]
        for _ in range(most):
            up = grown * kept[-1] + failure
            kept.append(up.min(1 - (1 - kept[-1] - failure) / grown).min(flint.arb(1)))
        return kept


def least_users(parameters: PartitionSelectionParameters, chance: Fraction = Fraction(1, 2)) -> int:
    """Return the smallest number of users with which a group is certainly kept with probability ``chance``.

    >>> least_users(PartitionSelectionParameters(group_epsilon=1.0, group_delta=1e-5))
    12

    Raises:
        ValueError: if a million users are not enough.
    """
    most = 64
    while most <= 2**20:
        found = keep_probabilities(parameters, most)
        with precision(_BITS):
            for users, kept in enumerate(found):
                if kept >= arb_of(chance):
                    return users
        most *= 4
    raise ValueError(
        f"chance ({float(chance)!r}) is not reached with a million users. Use a larger group_epsilon."
    )


def account(
    parameters: PartitionSelectionParameters, adjacency: Adjacency = Adjacency.ADD_REMOVE
) -> PrivacyResult:
    """Return the guarantee of all decisions, if a user with all groups is added or removed.

    >>> asked = PartitionSelectionParameters(group_epsilon=0.5, group_delta=1e-8, groups=3)
    >>> account(asked).guarantee.epsilon("1e-7").upper
    1.5

    Raises:
        UnprovedAdjacencyError: for a relation other than add-remove.
    """
    if adjacency is not Adjacency.ADD_REMOVE:
        why = "A replaced user may have other groups. Use add-remove, and count such a user twice."
        raise UnprovedAdjacencyError("partition-selection", adjacency, why)
    once = ApproxDP(exact(parameters.group_epsilon), exact(parameters.group_delta))
    least = _reached(parameters)
    return PrivacyResult(
        Between(least, compose_approx_optimal([(once, parameters.groups)]), _PAIR),
        adjacency,
        TrustModel.CENTRAL,
        "the list of the groups that are kept",
        "classic.partition_selection",
        attained=Attained(least, _PAIR),
    )


_PAIR = (
    "a user whose groups all have the same number of other users, against the same table without this user"
)


def _reached(parameters: PartitionSelectionParameters) -> Profile:
    """Return the largest guarantee of a few tables: none of the user's groups, or all of them, is about to be kept.

    A group of one user is kept with probability delta exactly. Two other probabilities to keep a group are rounded
    towards each other. So the true ones are easier to tell apart.
    """
    kept = keep_probabilities(parameters, _MOST_USERS)
    ends = [(round_up(fewer), round_down(more)) for fewer, more in pairwise(kept)]
    steepest = max(range(len(ends)), key=lambda users: ends[users][1] - ends[users][0])
    near = (steepest - 1, steepest, steepest + 1) if parameters.groups <= _MANY_GROUPS else ()
    cases = [ends[users] for users in near if 0 < users < len(ends) and ends[users][0] < ends[users][1]]
    pairs = [_decisions(exact(fewer), exact(more)) for fewer, more in [(0, parameters.group_delta), *cases]]
    return WorstOf(tuple(composed(parameters.groups, pair, Atoms(pair.q, pair.p)) for pair in pairs))


def _decisions(fewer: Fraction, more: Fraction) -> Atoms:
    """Return the dominating pair of the decision on one group.

    The group is kept with probability ``more`` on one input, and with probability ``fewer`` on the other.
    """
    return Atoms((more, 1 - more), (fewer, 1 - fewer))


_MOST_USERS, _MANY_GROUPS = 1000, 1000


ACCOUNTANT = Accountant(
    "partition-selection",
    "Partition selection: which groups may be released",
    PartitionSelectionParameters,
    account,
    "group_epsilon",
    adjacency=Adjacency.ADD_REMOVE,
    safer=-1,
    unit="user",
    example=PartitionSelectionParameters(group_epsilon=1.0, group_delta=1e-6),
)
