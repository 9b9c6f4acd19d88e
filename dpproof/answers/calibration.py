"""The smallest noise that meets a target, the noise for other targets and sizes, and code to paste."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.decimals import doubles
from dpproof.accountant.claims.parameters import Parameters
from dpproof.accountant.claims.result import Accountant, PrivacyResult, check_run
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.arithmetic import Assumption, recorded
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.numbers.inversion import neighbours_of
from dpproof.answers.account import Published, asked_once, bound_on, checked_number, published, quoted

EPSILONS = (Fraction(1, 2), Fraction(2))
DELTAS = (Fraction(1, 100), Fraction(100))
SIZES = (Fraction(1, 2), Fraction(2))
"""By how much each is changed."""
NOT_SIZES = ("sensitivity",)
"""Whole numbers that are no amount of work or users."""


@dataclass(frozen=True)
class Alternative:
    """The least noise with one thing changed."""

    change: str
    """What is changed."""
    to: float
    noise: float | None = None
    """None where no noise, or every noise, meets the target."""
    ratio: float | None = None
    """Of the noise to the present one."""
    why: str = ""
    """Why there is no noise."""


@dataclass(frozen=True)
class Calibration:
    """The smallest noise whose certified epsilon meets a target, and the proof that less would not."""

    accountant: Accountant
    chosen: Parameters
    adjacency: Adjacency
    target: float
    delta: float
    noise: float
    bound: Bound
    """Epsilon with that noise."""
    result: PrivacyResult
    noise_below: float
    """The next smaller noise."""
    epsilon_below: float
    """A lower end of epsilon with it, above the target."""
    published: Published | None
    printed: Mapping[str, object] | None
    """What the paper prints for the same target."""
    arithmetic: frozenset[Assumption]
    code: Mapping[str, str]
    """What to paste, in Python and in a claim file."""
    alternatives: tuple[Alternative, ...] | None = None
    """None where nobody asked for them."""


def calibrate(
    accountant: Accountant, parameters: Parameters, adjacency: Adjacency, target: str, delta: str
) -> Calibration:
    """The smallest noise whose certified epsilon meets the target, and the proof that less would not.

    Raises:
        ArithmeticError: if one of the two could not be certified.
    """
    check_run(parameters)
    goal = checked_number(target, "epsilon"), checked_number(delta, "delta")
    meets, misses = accountant.least_noise(parameters, adjacency, target, delta)
    with recorded() as used:
        found, below = (accountant.account(choice, adjacency) for choice in (meets, misses))
        met = _met(found.guarantee, target, delta)
        ask = asked_once(lambda guarantee: met if guarantee == found.guarantee else guarantee.epsilon(delta))
        missed = _missed(below.guarantee, target, delta)
        beside = published(found, "epsilon", delta, ask, quoted(found))
        compare = accountant.compare
        printed = None if compare is None else compare(doubles(meets), target, delta)
    return Calibration(
        accountant=accountant,
        chosen=meets,
        adjacency=adjacency,
        target=goal[0],
        delta=goal[1],
        noise=getattr(meets, accountant.noise),
        bound=bound_on(found, met),
        result=found,
        noise_below=getattr(misses, accountant.noise),
        epsilon_below=missed,
        published=beside,
        printed=printed,
        arithmetic=frozenset(used),
        code=code(accountant, meets, adjacency, target, delta),
    )


def _met(guarantee: Profile, target: str, delta: str) -> Bound:
    """Epsilon, its upper end at most the target.

    Where inversion stops a little short of that, the profile at the target decides.
    """
    bound, limit = guarantee.epsilon(delta), neighbours_of(exact(target))[0]
    if bound.upper <= limit:
        return bound
    if guarantee.delta(limit).upper <= exact(delta):
        return Bound(min(bound.lower, limit), limit)
    raise ArithmeticError(f"the noise found was not certified to meet epsilon {target}: {bound}")


def _missed(guarantee: Profile, target: str, delta: str) -> float:
    """A lower end of epsilon that is above the target."""
    limit = neighbours_of(exact(target))[1]
    lower = guarantee.epsilon(delta).lower
    if lower > exact(target):
        return lower
    if guarantee.delta(limit).lower > exact(delta):
        return limit
    raise ArithmeticError(f"a little less noise was not certified to miss epsilon {target}: {lower}")


def noise_for_other_targets(
    accountant: Accountant, parameters: Parameters, adjacency: Adjacency, target: str, delta: str
) -> tuple[Alternative, ...]:
    """The least noise with one thing changed at a time, each beside what was changed."""
    present = getattr(parameters, accountant.noise)
    return tuple(
        _alternative(accountant, adjacency, change, present)
        for change in _changes(parameters, exact(target), exact(delta))
    )


Change = tuple[str, Fraction, Parameters, tuple[Fraction, Fraction]]
"""What is changed, to what, the parameters then, and epsilon and delta then."""


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
    """The whole numbers among the parameters: steps, users, episodes."""
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
    accountant: Accountant, parameters: Parameters, adjacency: Adjacency, target: str, delta: str
) -> dict[str, str]:
    """What to paste: the guarantee in Python, and the promise as an entry of a claim file.

    >>> from dpproof.accountant.catalogue import accountant_for
    >>> gaussian = accountant_for("gaussian")
    >>> made = code(gaussian, gaussian.parameters(sigma=4.0), Adjacency.BY_SENSITIVITY, "1.5", "1e-6")
    >>> namespace = {}
    >>> exec(made["python"], namespace)
    >>> namespace["found"].guarantee.delta("1.5").at_most(1e-6)
    <Truth.PROVED: 'proved'>
    """
    values = parameters.as_json()
    given = ", ".join(f"{name}={value!r}" for name, value in values.items())
    table = ", ".join(f"{name} = {json.dumps(value)}" for name, value in values.items())
    python = (
        "from dpproof import Adjacency, accountant_for\n"
        f'mechanism = accountant_for("{accountant.name}")\n'
        f'found = mechanism.account(mechanism.parameters({given}), Adjacency("{adjacency.value}"))\n'
    )
    epsilon, failure = float(exact(target)), float(exact(delta))
    if not accountant.account(parameters, adjacency).guarantee.delta(epsilon).upper <= failure:
        failure = _above(delta)  # the nearest double promises more than was asked for
    claim = (
        f'[[claim]]\nname = "{accountant.title}"\nmechanism = "{accountant.name}"\n'
        f'parameters = {{ {table} }}\nadjacency = "{adjacency.value}"\n'
        f"epsilon = {epsilon!r}\ndelta = {failure!r}\n"
    )
    return {"python": python, "claim": claim}


def _above(text: str) -> float:
    """The number, or the next double above it: no less than what was asked for."""
    number = exact(text)
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)
