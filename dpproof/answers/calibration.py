"""Calibration: the smallest noise that meets a privacy target, the noise for other targets, and code to copy."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpproof.accountant.asking import check_meant, check_named, noise_to_begin, parameters_of
from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.accountant import Accountant, check_run
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.calibration import AttackTarget, Goal, Target, UnreachableTargetError
from dpproof.accountant.claims.decimals import doubles
from dpproof.accountant.claims.parameters import Parameters
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.guarantees.trade_off import power
from dpproof.accountant.numbers.arithmetic import Assumption, recorded
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, exact
from dpproof.accountant.numbers.inversion import at_least, neighbours_of
from dpproof.accountant.numbers.written import json_text
from dpproof.answers.account import Published, asked_once, bound_on, checked_number, published, quoted

EPSILONS = (Fraction(1, 2), Fraction(2))
DELTAS = (Fraction(1, 100), Fraction(100))
SIZES = (Fraction(1, 2), Fraction(2))
"""Factors by which an alternative changes a whole-number parameter, such as the number of steps."""
NOT_SIZES = ("sensitivity",)
"""Whole-number parameters that no alternative changes, because they do not count work or users."""


@dataclass(frozen=True)
class Alternative:
    """The smallest noise after one change of the target or of a parameter."""

    change: str
    """What is changed: epsilon, delta, or the name of a parameter."""
    to: float
    noise: float | None = None
    """The smallest noise; None if no noise, or every noise, meets the target."""
    ratio: float | None = None
    """``noise`` divided by the smallest noise without the change."""
    why: str = ""
    """The reason why there is no noise."""


@dataclass(frozen=True, repr=False)
class Calibration:
    """The smallest noise that is certified to meet a target, and a proof that slightly less noise does not."""

    accountant: Accountant
    chosen: Any
    """The parameters of the mechanism, with the smallest noise."""
    adjacency: Adjacency
    asked: Asked
    """The target."""
    noise: float
    bound: Bound
    """Bound on what the target limits (epsilon, the advantage, or the true positive rate) with ``noise``."""
    result: PrivacyResult
    noise_below: float
    """The next smaller noise, which does not meet the target."""
    missed: float
    """Lower bound on what the target limits, with ``noise_below``. It is above the target's limit."""
    published: Published | None
    printed: Mapping[str, object] | None
    """What the paper prints for the same target."""
    arithmetic: frozenset[Assumption]
    code: Mapping[str, str]
    """Code to copy, in Python and for a claim file."""
    alternatives: tuple[Alternative, ...] | None = None
    """The smallest noise after each of several changes; None if it was not requested."""

    def __float__(self) -> float:
        return float(self.noise)

    def __repr__(self) -> str:
        quantity = self.asked.quantity
        return "\n".join(
            (
                f"{self.accountant.noise} = {self.noise!r} meets {self.asked}",
                f"  {quantity}: {self.bound}",
                f"  {self.noise_below!r} would not: {quantity} at least {self.missed!r}",
                f"  {self.result.asked_for}",
                f"  neighbours: {self.adjacency.value}; {self.result.released_bits}",
            )
        )

    def to_json(self) -> str:
        """Return the question and the noise that was found, as JSON text."""
        told = {"target": self.asked.as_json(), "noise": {self.accountant.noise: self.noise}}
        return json_text({"schema": 1, **told, "question": self.result.question()})


@dataclass(frozen=True)
class Asked:
    """A target of calibration: a quantity and its limit, such as epsilon 1 at delta 1e-6.

    ``quantity`` is limited to ``limit``. ``place`` says where the limit applies: ``delta``, or ``false positive rate``.
    ``at`` is the value of that delta or rate. ``goal`` is the same target in the form that the search uses.
    """

    goal: Goal
    quantity: str
    limit: str
    place: str
    at: str

    @classmethod
    def epsilon(cls, limit: Number, delta: Number) -> Asked:
        """Return the target that epsilon is at most ``limit`` at ``delta``."""
        checked_number(limit, "epsilon"), checked_number(delta, "delta")
        goal = Target(exact(limit, "epsilon"), exact(delta, "delta"))
        return cls(goal, "epsilon", str(limit), "delta", str(delta))

    @classmethod
    def advantage(cls, limit: Number) -> Asked:
        """Return the target that an attack's true minus false positive rate (delta at epsilon 0) is at most ``limit``.

        Raises:
            ValueError: if the advantage is not in (0, 1).
        """
        value = exact(limit, "target_advantage")
        if not 0 < value < 1:
            raise ValueError(f"target_advantage ({limit!r}) must be above 0 and below 1")
        return cls(Target(Fraction(0), value), "advantage", str(limit), "", "")

    @classmethod
    def power(cls, rates: tuple[Number, Number]) -> Asked:
        """Return the target that limits the true positive rate of every attack at one false positive rate.

        ``rates`` are the largest allowed true positive rate, and this false positive rate.
        """
        if not isinstance(rates, tuple | list) or len(rates) != 2:
            raise ValueError(f"target_tpr ({rates!r}) must be two numbers, a true and a false positive rate")
        true, false = rates
        goal = AttackTarget(exact(true, "target_tpr"), exact(false, "target_tpr"))
        return cls(goal, "true positive rate", str(true), "false positive rate", str(false))

    def __str__(self) -> str:
        return f"{self.quantity} {self.limit}" + (f" at {self.place} {self.at}" if self.place else "")

    def as_json(self) -> dict[str, str]:
        """Return the target as JSON data: the limited quantity with its limit, and the delta or rate, if any."""
        told = {self.quantity: self.limit}
        return told | ({self.place: self.at} if self.place else {})

    def bound(self, guarantee: Profile) -> Bound:
        """Return a bound on the quantity that this target limits, for a mechanism with this guarantee."""
        match self.quantity:
            case "epsilon":
                return guarantee.epsilon(self.at)
            case "advantage":
                return guarantee.delta(0)
        return power(guarantee, self.at)


def calibrate(
    accountant: Accountant, parameters: Parameters, adjacency: Adjacency, asked: Asked
) -> Calibration:
    """Return the smallest noise that is certified to meet the target, and a proof that less noise does not.

    Raises:
        ArithmeticError: it cannot be certified that this noise meets the target, or that less noise does not.
    """
    check_run(parameters)
    by_epsilon = asked.quantity == "epsilon"
    meets, misses = _least_noise(accountant, parameters, adjacency, asked)
    with recorded() as used:
        found, below = (accountant.account(choice, adjacency) for choice in (meets, misses))
        met = _met(found.guarantee, asked.limit, asked.at) if by_epsilon else _kept(found.guarantee, asked)
        ask = asked_once(lambda guarantee: met if guarantee == found.guarantee else asked.bound(guarantee))
        missed = _missed(below.guarantee, asked) if by_epsilon else asked.bound(below.guarantee).lower
        beside = published(found, "epsilon", asked.at, ask, quoted(found)) if by_epsilon else None
        compare = accountant.compare if by_epsilon else None
        printed = None if compare is None else compare(doubles(meets), asked.limit, asked.at)
    return Calibration(
        accountant=accountant,
        chosen=meets,
        adjacency=adjacency,
        asked=asked,
        noise=getattr(meets, accountant.noise),
        bound=bound_on(found, met),
        result=found,
        noise_below=getattr(misses, accountant.noise),
        missed=missed,
        published=beside,
        printed=printed,
        arithmetic=frozenset(used),
        code=code(accountant, meets, adjacency, asked),
    )


def _least_noise(
    accountant: Accountant, parameters: Parameters, adjacency: Adjacency, asked: Asked
) -> tuple[Any, Any]:
    """Return the result of `Accountant.least_noise`, with errors about the target, not about the noise searched."""
    by_epsilon = asked.quantity == "epsilon"
    try:
        if by_epsilon:
            return accountant.least_noise(parameters, adjacency, asked.limit, asked.at)
        return accountant.least_noise_for(asked.goal, parameters, adjacency)
    except (ValueError, ArithmeticError) as error:
        error.args = (str(error).replace(str(asked.goal), str(asked)),)  # the target as it was given
        begun = accountant.account(parameters, adjacency).guarantee  # refuses what is wrong before any search
        if by_epsilon and exact(asked.at) == 0 and begun.epsilon(0).upper == math.inf:
            raise UnreachableTargetError(
                f"delta ({asked.at}) must be above 0, because {accountant.name} has no guarantee at delta 0 with "
                "these parameters. Give target_delta in Python, or --delta on the command line, such as 1e-5."
            ) from None
        if str(error).startswith(f"{accountant.noise} ("):
            raise UnreachableTargetError(f"The target {asked} needs invalid noise: {error}") from None
        raise


def _kept(guarantee: Profile, asked: Asked) -> Bound:
    """Return the limited quantity. Its upper bound is at most the limit, as the goal itself certifies."""
    found, limit = asked.bound(guarantee), neighbours_of(exact(asked.limit))[0]
    if not asked.goal.meets(guarantee):
        raise ArithmeticError(f"The noise found may miss {asked}. Its {asked.quantity} is {found}.")
    return Bound(min(found.lower, limit), min(found.upper, limit))


def _met(guarantee: Profile, target: Number, delta: Number) -> Bound:
    """Return a bound on epsilon whose upper value is at most the target.

    If the upper bound is slightly too large, the profile at the target decides.
    """
    bound, limit = guarantee.epsilon(delta), neighbours_of(exact(target))[0]
    if bound.upper <= limit:
        return bound
    if guarantee.delta(limit).upper <= exact(delta):
        return Bound(min(bound.lower, limit), limit)
    raise ArithmeticError(
        f"The noise found may miss epsilon {target}. Its upper bound on epsilon is {bound.upper}."
    )


def _missed(guarantee: Profile, asked: Asked) -> float:
    """Return a lower bound on epsilon that is above the target."""
    limit = neighbours_of(exact(asked.limit))[1]
    lower = guarantee.epsilon(asked.at).lower
    if lower > exact(asked.limit):
        return lower
    if guarantee.delta(limit).lower > exact(asked.at):
        return limit
    raise ArithmeticError(
        f"Slightly less noise may also meet {asked}. Its lower bound on epsilon is only {lower}."
    )


def calibration_of(
    mechanism: str,
    *unnamed: object,
    adjacency: Adjacency | str | None = None,
    target_epsilon: Number | None = None,
    target_delta: Number = 0,
    target_advantage: Number | None = None,
    target_tpr: tuple[Number, Number] | None = None,
    **parameters: Any,
) -> Calibration:
    """Return the smallest noise that is certified to meet a target, and a proof that less noise does not.

    Give exactly one target. Omit the noise parameter, or give a value at which the search begins.

    Args:
        mechanism: the name of the mechanism, as in ``dpproof calibrate --help``.
        adjacency: the neighbouring relation, as for `dpproof.account`.
        target_epsilon: the largest allowed epsilon at ``target_delta``.
        target_delta: the delta of the target. The default 0 is pure differential privacy.
        target_advantage: the largest allowed difference between the true and the false positive rate of an attack.
        target_tpr: the largest allowed true positive rate of an attack, and the false positive rate at which it
            applies.
        parameters: the other parameters of the mechanism.

    >>> found = calibration_of("laplace", sensitivity=2, adjacency="replace", target_epsilon=1)
    >>> round(found.noise, 9)
    2.0
    >>> round(float(calibration_of("gaussian", target_tpr=("0.2", "0.01"))), 3)
    0.674

    Raises:
        ValueError: for no target or several, or one that no noise meets; for parameters as `dpproof.account`.
        ArithmeticError: if the noise could not be certified.
    """
    accountant = accountant_for(mechanism)
    check_named(accountant, unnamed)
    check_meant(accountant, parameters, _MEANT)
    asked = asked_for(target_epsilon, target_delta, target_advantage, target_tpr)
    begun = {accountant.noise: noise_to_begin(accountant), **parameters}
    return calibrate(accountant, parameters_of(accountant, begun), accountant.relation(adjacency), asked)


_MEANT = {name: f"Did you mean target_{name}?" for name in ("epsilon", "delta", "advantage", "tpr")}


def asked_for(
    epsilon: Number | None, delta: Number, advantage: Number | None, rates: tuple[Number, Number] | None
) -> Asked:
    """Return the target from the arguments of `calibration_of`, of which exactly one is given.

    Raises:
        ValueError: none or several targets are given, or the target is outside its domain.
    """
    given = [
        name for name, value in zip(TARGETS, (epsilon, advantage, rates), strict=True) if value is not None
    ]
    if len(given) != 1:
        told = ", ".join(given) or "none"
        raise ValueError(f"Give exactly one of {', '.join(TARGETS)}. Given: {told}")
    if epsilon is not None:
        return Asked.epsilon(epsilon, delta)
    return Asked.power(rates) if rates is not None else Asked.advantage(advantage or 0)


TARGETS = ("target_epsilon", "target_advantage", "target_tpr")


def noise_for_other_targets(
    accountant: Accountant, parameters: Parameters, adjacency: Adjacency, target: Number, delta: Number
) -> tuple[Alternative, ...]:
    """Return the smallest noise for other targets and parameters. Each alternative changes one number only."""
    present = getattr(parameters, accountant.noise)
    return tuple(
        _alternative(accountant, adjacency, change, present)
        for change in _changes(parameters, exact(target), exact(delta))
    )


Change = tuple[str, Fraction, Parameters, tuple[Fraction, Fraction]]
"""One change: the name and the new value of the changed number, the parameters, and (epsilon, delta)."""


def _changes(parameters: Parameters, epsilon: Fraction, delta: Fraction) -> Iterator[Change]:
    for factor in EPSILONS:
        yield "epsilon", epsilon * factor, parameters, (epsilon * factor, delta)
    for factor in DELTAS:
        if 0 < delta * factor < 1:
            yield "delta", delta * factor, parameters, (epsilon, delta * factor)
    for name, value in _sizes(parameters).items():
        for factor in SIZES:
            changed = max(1, int(value * factor))
            if changed != value:
                chosen = replace(parameters, **{name: changed})
                yield name, Fraction(changed), chosen, (epsilon, delta)


def _sizes(parameters: Parameters) -> Mapping[str, int]:
    """Return the whole numbers among the parameters, such as steps, users and episodes."""
    values = {field.name: getattr(parameters, field.name) for field in parameters.fields()}
    return {name: value for name, value in values.items() if type(value) is int and name not in NOT_SIZES}


def _alternative(accountant: Accountant, adjacency: Adjacency, change: Change, present: float) -> Alternative:
    name, value, chosen, goal = change
    try:
        meets, _ = accountant.least_noise(chosen, adjacency, *goal)
    except (ValueError, ArithmeticError) as error:
        return Alternative(name, float(value), why=str(error))
    noise = getattr(meets, accountant.noise)
    return Alternative(name, float(value), noise, noise / present)


def code(
    accountant: Accountant, parameters: Parameters, adjacency: Adjacency, asked: Asked
) -> dict[str, str]:
    """Return texts to copy: Python code that computes the guarantee, and the target as an entry of a claim file.

    >>> from dpproof.accountant.catalogue import accountant_for
    >>> gaussian, target = accountant_for("gaussian"), Asked.epsilon("1.5", "1e-6")
    >>> made = code(gaussian, gaussian.parameters(sigma=4.0), Adjacency.BY_SENSITIVITY, target)
    >>> namespace = {}
    >>> exec(made["python"], namespace)
    >>> namespace["result"].delta("1.5").at_most(1e-6)
    <Truth.PROVED: 'proved'>
    """
    values = parameters.as_json()
    given = "".join(f", {name}={value!r}" for name, value in values.items())
    table = ", ".join(f"{name} = {json.dumps(value)}" for name, value in values.items())
    python = (
        "from dpproof import account\n"
        f'result = account("{accountant.name}"{given}, adjacency="{adjacency.value}")\n'
    )
    if asked.quantity not in ("epsilon", "advantage"):
        return {"python": python}
    limit, at = (asked.limit, asked.at) if asked.quantity == "epsilon" else ("0", asked.limit)
    epsilon, failure = float(exact(limit)), float(exact(at))
    if not accountant.account(parameters, adjacency).guarantee.delta(epsilon).upper <= failure:
        failure = at_least(exact(at))  # the nearest double promises more than was asked for
    claim = (
        f'[[claim]]\nname = "{accountant.title}"\nmechanism = "{accountant.name}"\n'
        f'parameters = {{ {table} }}\nadjacency = "{adjacency.value}"\n'
        f"epsilon = {epsilon!r}\ndelta = {failure!r}\n"
    )
    return {"python": python, "claim": claim}
