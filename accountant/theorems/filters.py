"""Privacy filters and an odometer: budgets that hold even if every cost depends on earlier releases.

Call ``admits`` of a filter before each release. All admitted releases together satisfy the guarantee of the
filter's budget, no matter how the costs were chosen. Costs and budgets are exact rational numbers. If a cost
is given by bounds, the upper bound is used. Filters are immutable: ``spend`` returns a new one, so threads
can share them.

Proofs and sources: docs/notes/composition.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Generic, Self, TypeVar

import flint

from dpproof.accountant.guarantees.notions import ZCDP, ApproxDP, GaussianDP, RenyiDP
from dpproof.accountant.guarantees.orders import Orders
from dpproof.accountant.guarantees.profile import ends_of
from dpproof.accountant.numbers.checks import at_least_zero, below_one, inside_unit
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up

_BITS = 192
Cost = TypeVar("Cost", contravariant=True)
_Amounts = tuple[Fraction, ...]


class BudgetExceededError(ValueError):
    """Raised if the cost of a release does not fit into a filter's budget. The filter is unchanged."""


@dataclass(frozen=True)
class _Filter(Generic[Cost]):
    """A budget of several amounts. For each amount, the sum of the costs must not exceed it."""

    spent: _Amounts = field(default=(), kw_only=True)
    """The amounts that are already spent; empty at the start."""

    def __post_init__(self) -> None:
        limits = self._limits()
        if self.spent and len(self.spent) != len(limits):
            raise ValueError(f"spent ({self.spent!r}) must hold {len(limits)} amounts or be empty")
        for amount in self.spent:
            _amount(amount)

    def _limits(self) -> _Amounts:
        raise NotImplementedError

    def _amounts(self, cost: Cost) -> _Amounts:
        raise NotImplementedError

    def _after(self, cost: Cost) -> _Amounts:
        new = self._amounts(cost)
        return tuple(a + b for a, b in zip(self.spent or (Fraction(0),) * len(new), new, strict=True))

    def admits(self, cost: Cost) -> bool:
        """Whether a release of this cost fits into the remaining budget."""
        return all(used <= limit for used, limit in zip(self._after(cost), self._limits(), strict=True))

    def spend(self, cost: Cost) -> Self:
        """Return the filter after a release of this cost.

        Raises:
            BudgetExceededError: if it does not fit.
        """
        if not self.admits(cost):
            raise BudgetExceededError(f"cost ({cost!r}) exceeds what is left of the budget")
        return replace(self, spent=self._after(cost))


def _amount(spent: Fraction) -> None:
    at_least_zero(spent, "spent")


@dataclass(frozen=True)
class GaussianFilter(_Filter[GaussianDP]):
    """A privacy filter that admits Gaussian DP releases while the squares of their mus sum to at most ``mu`` squared.

    >>> half = GaussianFilter(5).spend(GaussianDP(3))
    >>> half.admits(GaussianDP(4)), half.admits(GaussianDP("4.0001")), half.guarantee
    (True, False, GaussianDP(mu=5))

    Source: Smith and Thakurta, arXiv:2210.17520v1; Koskela, Tobaben and Honkela, arXiv:2209.15596v2.

    Raises:
        ValueError: for a mu or a spent amount that is no number of at least 0.
    """

    mu: Number

    @property
    def guarantee(self) -> GaussianDP:
        """The guarantee of all admitted releases together."""
        return GaussianDP(self.mu)

    def _limits(self) -> _Amounts:
        return (ends_of(self.mu, "mu")[0] ** 2,)

    def _amounts(self, cost: GaussianDP) -> _Amounts:
        return (ends_of(cost.mu, "mu")[1] ** 2,)


@dataclass(frozen=True)
class ZCDPFilter(_Filter[ZCDP]):
    """A privacy filter that admits zCDP releases while their rhos add up to at most ``rho``.

    >>> ZCDPFilter("0.3").spend(ZCDP("0.1")).spend(ZCDP("0.2")).admits(ZCDP(0))
    True

    Source: Feldman and Zrnic, arXiv:2008.11193v4, Theorem 4.5, at every order.

    Raises:
        ValueError: for a rho or a spent amount that is no number of at least 0.
    """

    rho: Number

    @property
    def guarantee(self) -> ZCDP:
        """The guarantee of all admitted releases together."""
        return ZCDP(self.rho)

    def _limits(self) -> _Amounts:
        return (ends_of(self.rho, "rho")[0],)

    def _amounts(self, cost: ZCDP) -> _Amounts:
        return (ends_of(cost.rho, "rho")[1],)


@dataclass(frozen=True)
class RenyiFilter(_Filter[RenyiDP]):
    """A privacy filter that admits Renyi DP releases while their curves stay within a budget at each listed order.

    At each order of ``budget`` the sum of the curves of all admitted releases is at most the budget.

    >>> spender = RenyiFilter(((2, 1), (8, "3.5"))).spend(RenyiDP(lambda order: order / 4))
    >>> spender.admits(RenyiDP(lambda order: order / 4)), spender.guarantee.epsilon("1e-5").upper
    (False, 4.714110)

    To allow a known number of equal costs, use the sum of their curves as the budget. For a budget
    proportional to the order, use a ``ZCDPFilter``, which covers all orders.

    Source: Feldman and Zrnic, arXiv:2008.11193v4, Theorem 4.5; Lecuyer, arXiv:2103.01379v2.

    Raises:
        ValueError: for no order at all, an order of at most 1, or a negative budget; from ``admits`` and
            ``spend``, for a curve that is not known at one of the orders.
    """

    budget: tuple[tuple[Number, Number], ...]
    """Pairs of an order and the largest allowed sum of the curves at this order."""

    def __post_init__(self) -> None:
        super().__post_init__()
        Orders(listed=tuple(order for order, _ in self._table()))

    @property
    def guarantee(self) -> RenyiDP:
        """The guarantee of all admitted releases together."""
        table = self._table()

        def curve(order: flint.arb) -> flint.arb:
            return next(arb_of(value) for at, value in table if order.overlaps(arb_of(at)))

        return RenyiDP(curve, Orders(listed=tuple(order for order, _ in table)))

    def _table(self) -> tuple[tuple[Fraction, Fraction], ...]:
        return tuple((exact(order, "order"), ends_of(value, "budget")[0]) for order, value in self.budget)

    def _limits(self) -> _Amounts:
        return tuple(value for _, value in self._table())

    def _amounts(self, cost: RenyiDP) -> _Amounts:
        orders = [order for order, _ in self._table()]
        for order in orders:
            if not cost.orders.admits(order):
                raise ValueError(
                    f"order ({order}) must be an order at which the Renyi curve of the cost is known"
                )
        with precision(_BITS):
            values = [round_up(cost.curve(arb_of(order))) for order in orders]
        return tuple(exact(value, "cost") for value in values)


@dataclass(frozen=True)
class ApproxFilter(_Filter[ApproxDP]):
    """A privacy filter that admits (epsilon_i, delta_i)-DP releases within a total of (epsilon, delta).

    With ``slack`` 0 the filter adds the epsilons and the deltas. With a slack in (0, delta] the filter allows
    as much as advanced composition, with the same constants. Then half the sum of the squared epsilons may be
    at most ``rho``. This rho is such that rho-zCDP implies (epsilon, slack)-DP. The sum of the deltas may be
    at most delta - slack.

    >>> pure = ApproxFilter(1, 0)
    >>> pure.spend(ApproxDP("0.6", 0)).admits(ApproxDP("0.5", 0))
    False
    >>> ApproxFilter(1, "1e-6", "1e-6").rho
    0.017469

    Source: Rogers, Roth, Ullman and Vadhan, arXiv:1605.08294v5; Whitehouse, Ramdas, Rogers and Wu,
    arXiv:2203.05481v4, Theorem 2.

    Raises:
        ValueError: for an epsilon below 0, a delta outside [0, 1), or a slack outside [0, delta].
    """

    epsilon: Number
    delta: Number
    slack: Number = 0
    rho: float = field(init=False)
    """The budget for half the sum of the squared epsilons; 0 if the slack is 0.

    It is the largest double found with rho + 2 sqrt(rho ln(1/slack)) <= epsilon.
    """

    def __post_init__(self) -> None:
        epsilon, delta = at_least_zero(self.epsilon, "epsilon"), below_one(self.delta, "delta")
        slack = exact(self.slack, "slack")
        if not 0 <= slack <= delta:
            raise ValueError(f"slack ({self.slack!r}) must be in [0, delta]")
        object.__setattr__(self, "rho", _rho(epsilon, slack) if slack else 0.0)
        super().__post_init__()

    @property
    def guarantee(self) -> ApproxDP:
        """The guarantee of all admitted releases together."""
        return ApproxDP(self.epsilon, self.delta)

    def _limits(self) -> _Amounts:
        slack = exact(self.slack)
        return exact(self.rho) if slack else exact(self.epsilon), exact(self.delta) - slack

    def _amounts(self, cost: ApproxDP) -> _Amounts:
        epsilon, delta = (
            ends_of(cost.epsilon_parameter, "epsilon")[1],
            ends_of(cost.delta_parameter, "delta")[1],
        )
        return epsilon**2 / 2 if exact(self.slack) else epsilon, delta


def _rho(epsilon: Fraction, slack: Fraction) -> float:
    """Return the rho of (epsilon, slack): (sqrt(epsilon + L) - sqrt(L))^2, L = ln(1/slack), without cancellation."""
    with precision(_BITS):
        log = -arb_of(slack).log()
        root = arb_of(epsilon) / ((arb_of(epsilon) + log).sqrt() + log.sqrt())
        return max(round_down(root * root), 0.0)


@dataclass(frozen=True)
class ApproxOdometer:
    """A running bound on the privacy loss, with no budget set beforehand.

    With probability at least 1 - delta, this holds at every time of the run: the privacy loss of everything
    released so far is at most ``epsilon``. So a run may be stopped at a time that depends on the run, and
    ``epsilon`` at that time is valid. Internally the odometer has a sequence of zCDP budgets, each twice the
    one before. ``epsilon`` belongs to the first budget that is not used up. Budget j gets the share 6/(pi
    j)^2 of delta.

    >>> meter = ApproxOdometer("1e-6").spend(ZCDP("0.01"))
    >>> meter.epsilon, meter.spend(ZCDP("0.01")).epsilon
    (0.766657, 1.140697)

    Source: Rogers, Roth, Ullman and Vadhan, arXiv:1605.08294v5, Section 6; Whitehouse, Ramdas, Rogers and Wu,
    arXiv:2203.05481v4. Proof of the constants: docs/notes/composition.md.

    Raises:
        ValueError: for a delta outside (0, 1), a first budget that is not above 0, or a negative amount
            spent.
    """

    delta: Number
    first: Number = Fraction(1, 100)
    """The first zCDP budget, a rho. It must be fixed before the run."""
    spent: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        inside_unit(self.delta, "delta")
        if exact(self.first, "first") <= 0:
            raise ValueError(f"first ({self.first!r}) must be above 0")
        _amount(self.spent)

    def spend(self, cost: ZCDP) -> ApproxOdometer:
        """Return the odometer after a release with this ``cost``."""
        return replace(self, spent=self.spent + ends_of(cost.rho, "rho")[1])

    @property
    def epsilon(self) -> float:
        """An upper bound on the privacy loss so far; 0 before anything is spent."""
        if not self.spent:
            return 0.0
        index = max(math.ceil(self.spent / exact(self.first)) - 1, 0).bit_length()
        with precision(_BITS):
            share = 6 / (flint.arb.pi() * (index + 1)) ** 2 * arb_of(exact(self.delta))
            budget = arb_of(exact(self.first) * 2**index)
            return round_up(budget + 2 * (-budget * share.log()).sqrt())
