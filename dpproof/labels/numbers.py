"""The numbers of a label, each with both ends. Texts round each number to the safe side."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.guarantees.reporting import loss_exceeded, regret
from dpproof.accountant.guarantees.trade_off import power
from dpproof.accountant.numbers.arithmetic import Assumption, recorded
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import below_one, inside_unit
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_up
from dpproof.accountant.numbers.written import finite, rounded

RATES = ("0.01", "0.001")
"""The false positive rates at which a label states the largest true positive rate."""


@dataclass(frozen=True)
class Asked:
    """What a label is asked: the three deltas, and two small probabilities. All are texts, which mean exact decimals.

    ``kappa`` is the error that the Gaussian summary may have in delta. ``beta`` is the probability with which a belief
    may be exceeded.

    >>> Asked().deltas
    ('1e-5', '1e-7', '1e-9')

    Raises:
        ValueError: for a delta outside [0, 1), or a kappa or beta outside (0, 1).
    """

    deltas: tuple[str, ...] = ("1e-5", "1e-7", "1e-9")
    kappa: str = "1e-5"
    beta: str = "1e-5"

    def __post_init__(self) -> None:
        for delta in self.deltas:
            below_one(delta, "delta")
        inside_unit(self.kappa, "kappa")
        inside_unit(self.beta, "beta")


@dataclass(frozen=True)
class Numbers:
    """The numbers that follow from one guarantee.

    Attributes:
        asked: the deltas, kappa and beta.
        epsilons: bounds on epsilon by delta.
        attained: bounds on what a known pair of neighbours reaches, by delta; empty without such a pair.
        mu: bounds on the least mu with delta(e) <= delta_mu(e) + kappa at every e >= 0.
        regret: bounds on the regret of reporting the upper end of mu; None if it is infinite.
        advantage: bounds on the largest true minus false positive rate of an attack.
        powers: bounds on the largest true positive rate by false positive rate.
        loss: the privacy loss that is exceeded with probability at most beta. An upper bound.
        worst: bounds on epsilon at delta 0 if it is finite; otherwise None.
        assumptions: the unproved assumptions about the machine's arithmetic.
    """

    asked: Asked
    epsilons: Mapping[str, Bound]
    attained: Mapping[str, Bound]
    mu: Bound
    regret: Bound | None
    advantage: Bound
    powers: Mapping[str, Bound]
    loss: float
    worst: Bound | None
    assumptions: frozenset[Assumption] = field(default_factory=frozenset)

    @property
    def belief(self) -> float:
        """The belief of an observer who began with even chances, which is exceeded with probability at most beta."""
        return belief_at(self.loss)

    def as_data(self) -> dict[str, object]:
        """Return the numbers as data for YAML: doubles, each safe in the direction of its name."""
        epsilon = {
            delta: {"lower": finite(found.lower), "upper": finite(found.upper)}
            for delta, found in self.epsilons.items()
        }
        pure = {} if self.worst is None else {"epsilon_at_delta_0": finite(self.worst.upper)}
        fit = (
            {}
            if self.regret is None
            else {"regret": {"lower": self.regret.lower, "upper": self.regret.upper}}
        )
        return {
            "epsilon": epsilon,
            "reached_by_a_pair": {delta: finite(found.lower) for delta, found in self.attained.items()},
            **pure,
            "gaussian": {
                "kappa": self.asked.kappa,
                "mu": {"lower": self.mu.lower, "upper": finite(self.mu.upper)},
                **fit,
            },
            "advantage_at_most": self.advantage.upper,
            "true_positive_rate_at_most": {rate: found.upper for rate, found in self.powers.items()},
            "belief": {
                "beta": self.asked.beta,
                "loss_at_most": finite(self.loss),
                "from_even_chances_at_most": self.belief,
            },
        }


def belief_at(loss: float) -> float:
    """Return an upper bound on 1 / (1 + exp(-loss)), the belief after a privacy loss if the chances were even.

    >>> belief_at(0.0), belief_at(60.0), belief_at(math.inf)
    (0.5, 1.0, 1.0)
    """
    if math.isinf(loss):
        return 1.0
    with precision(64):
        return min(round_up(1 / (1 + (-arb_of(exact(loss))).exp())), 1.0)


def numbers_of(guarantee: Profile, asked: Asked, attained: Profile | None = None) -> Numbers:
    """Return the numbers of a guarantee. A pair of neighbours that is known to reach ``attained`` gives lower ends."""
    with recorded() as used:
        mu = guarantee.gaussian_but_for(asked.kappa)
        pure = guarantee.epsilon(0)
        found = Numbers(
            asked,
            {delta: guarantee.epsilon(delta) for delta in asked.deltas},
            {} if attained is None else {delta: attained.epsilon(delta) for delta in asked.deltas},
            mu,
            None if math.isinf(mu.upper) else regret(guarantee, mu.upper),
            guarantee.delta(0),
            {rate: power(guarantee, rate) for rate in RATES},
            loss_exceeded(guarantee, asked.beta),
            None if math.isinf(pure.upper) else pure,
        )
    return replace(found, assumptions=frozenset(used))


def most(value: float, digits: int = 5) -> str:
    """Return an upper bound as text, rounded up to the digits that are shown."""
    return "infinite" if math.isinf(value) else rounded(value, up=True, digits=digits)


def least(value: float, digits: int = 5) -> str:
    """Return a lower bound as text, rounded down to the digits that are shown."""
    return rounded(value, up=False, digits=digits)


def between(found: Bound, digits: int = 6) -> str:
    """Return both ends as text: the lower one rounded down, the upper one rounded up.

    >>> between(Bound(1.23456789, 1.2345679)), between(Bound(1.0, 1.0)), between(Bound(3.0, math.inf))
    ('1.23456 to 1.23457', '1', 'no finite number (at least 3)')
    """
    low, high = least(found.lower, digits), most(found.upper, digits)
    if math.isinf(found.upper):
        return "no finite number" + ("" if math.isinf(found.lower) else f" (at least {low})")
    return high if low == high else f"{low} to {high}"
