"""Calibration as a conversation: the noise for other targets and sizes, and what to paste."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Parameters
from dpproof.accountant.claims.result import Accountant
from dpproof.accountant.numbers.enclosures import exact

__all__ = ["code", "what_if"]

EPSILONS = (Fraction(1, 2), Fraction(2))
DELTAS = (Fraction(1, 100), Fraction(100))
SIZES = (Fraction(1, 2), Fraction(2))
"""By how much each is changed."""
NOT_SIZES = ("sensitivity",)
"""Whole numbers that are no amount of work or users."""


def what_if(
    accountant: Accountant, parameters: Any, adjacency: Adjacency, target: str, delta: str
) -> list[dict[str, Any]]:
    """The least noise with one thing changed at a time, each beside what was changed.

    Returns:
        rows of ``{"change", "to", "noise", "ratio"}``: what is changed, to what, the noise it then takes and
        its ratio to the present one; noise is None, with ``"why"``, where no noise, or every noise, meets it.
    """
    present = getattr(parameters, accountant.noise)
    return [
        {"change": name, "to": float(value), **_noise(accountant, chosen, adjacency, goal, present)}
        for name, value, chosen, goal in _changes(accountant, parameters, exact(target), exact(delta))
    ]


Goal = tuple[Fraction, Fraction]


def _changes(
    accountant: Accountant, parameters: Any, epsilon: Fraction, delta: Fraction
) -> Iterator[tuple[str, Fraction, Any, Goal]]:
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
    whole = {name: value for name, value in values.items() if isinstance(value, int)}
    return {name: value for name, value in whole.items() if type(value) is int and name not in NOT_SIZES}


def _noise(
    accountant: Accountant, chosen: Any, adjacency: Adjacency, goal: Goal, present: float
) -> dict[str, Any]:
    try:
        meets, _ = accountant.least_noise(chosen, adjacency, *goal)
    except (ValueError, ArithmeticError) as error:
        return {"noise": None, "ratio": None, "why": str(error)}
    noise = getattr(meets, accountant.noise)
    return {"noise": noise, "ratio": noise / present}


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
