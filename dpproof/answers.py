"""Answers: what the command line says, as JSON-ready data; every printed form is made from these."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from accountant.accounted import Accountant, Accounted
from accountant.adjacency import Adjacency
from accountant.bounds import Bound
from accountant.enclosures import Number, exact
from accountant.parameters import Parameters
from dpproof import __version__

__all__ = ["account", "calibrate", "envelope", "number", "verdicts_of", "verify"]

Json = dict[str, Any]


def envelope(body: Mapping[str, Any]) -> Json:
    """``body`` under the schema number and version that every answer carries."""
    return {"schema": 1, "version": __version__, **body}


def number(value: float) -> float | str:
    """A JSON number, or the string "inf"."""
    return value if math.isfinite(value) else "inf"


def _asked(value: Number, name: str) -> float:
    """What was asked, as a JSON number.

    Raises:
        ValueError: for text that is no number, or a positive number that no JSON number shows.
    """
    rational = exact(value, name)
    try:
        shown = float(rational)
    except OverflowError:
        shown = math.inf
    if math.isinf(shown) or (shown == 0) != (rational == 0):
        raise ValueError(f"{name} ({value!r}) must be a number in the range of double precision")
    return shown


def verdicts_of(*statements: str) -> dict[str, str]:
    """The verdicts on statements, what they share checked once."""
    from proofs_check.registry import verify as verify_statements

    return {result.id: result.verdict.value for result in verify_statements(statements)}


def account(
    accountant: Accountant,
    parameters: Parameters,
    adjacency: Adjacency,
    *,
    delta: Number | None = None,
    epsilon: Number | None = None,
) -> Json:
    """The certified answer at one delta, or at one epsilon, beside the published one.

    Raises:
        ValueError: unless exactly one of ``delta`` and ``epsilon`` is given.
    """
    if (delta is None) == (epsilon is None):
        raise ValueError("give exactly one of --delta and --epsilon")
    asked, answer, at = ("epsilon", "delta", epsilon) if delta is None else ("delta", "epsilon", delta)
    shown = _asked(at or 0, asked)
    found = accountant.guarantee(parameters, adjacency)
    verdicts = verdicts_of(*_statements(found))
    body = {
        "name": accountant.name,
        "parameters": parameters.as_json(),
        "adjacency": adjacency.value,
        "trust": found.trust.value,
        "released": found.released,
        "joint_by": found.joint_statement,
        asked: shown,
        answer: getattr(found.guarantee, answer)(at).as_json(),
        "mechanism": _attained(found, answer, at),
        "published": _published(found, answer, at, verdicts),
        "statement": found.statement,
        "verdict": verdicts[found.statement],
        "notes": list(found.notes),
    }
    return envelope(body)


def _attained(found: Accounted, answer: str, at: Any) -> Json | None:
    """The value of everything released, between a named pair and the guarantee."""
    if found.attained is None:
        return None
    low: Bound = getattr(found.attained.guarantee, answer)(at)
    high: Bound = getattr(found.guarantee, answer)(at)
    return Bound(low.lower, high.upper, "mechanism", found.attained.pair).as_json()


def _statements(found: Accounted) -> list[str]:
    """The statements that an answer quotes."""
    published = found.published
    return [
        found.statement,
        *((published.statement, published.exact_statement) if published is not None else ()),
    ]


def _published(found: Accounted, answer: str, at: Any, verdicts: Mapping[str, str]) -> Json | None:
    if found.published is None:
        return None
    exact = getattr(found.published.exact, answer)(at).as_json()
    printed = {"epsilon": _ends(found.published.epsilon(at))} if answer == "epsilon" else {}
    statement, other = found.published.statement, found.published.exact_statement
    return {
        **printed,
        "statement": statement,
        "verdict": verdicts[statement],
        f"{answer}_exact": exact,
        "exact_statement": other,
        "exact_verdict": verdicts[other],
    }


def _ends(bound: Bound) -> Json:
    return {"lower": number(bound.lower), "upper": number(bound.upper)}


def calibrate(
    accountant: Accountant, parameters: Parameters, adjacency: Adjacency, target: str, delta: str
) -> Json:
    """The smallest noise whose certified epsilon meets the target, and the proof that less would not."""
    shown = {"target_epsilon": _asked(target, "epsilon"), "delta": _asked(delta, "delta")}
    meets, misses = accountant.calibrate(parameters, adjacency, target, delta)
    found, below = (accountant.guarantee(choice, adjacency) for choice in (meets, misses))
    met, missed = found.guarantee.epsilon(delta), below.guarantee.epsilon(delta)
    if not met.upper <= exact(target) < missed.lower:
        raise ArithmeticError(f"the noise found ({met}) was not certified to be the least for {target}")
    body = {
        "name": accountant.name,
        "parameters": meets.as_json(),
        "adjacency": adjacency.value,
        **shown,
        "noise": {"name": accountant.noise, "value": getattr(meets, accountant.noise)},
        "epsilon": met.as_json(),
        "minimal": {
            "value_below": getattr(misses, accountant.noise),
            "epsilon_lower": number(missed.lower),
        },
        "published": _published(found, "epsilon", delta, verdicts_of(*_statements(found))),
    }
    return envelope(body)


def verify(ids: Iterable[str]) -> Json:
    """The verdicts on statements, their certificates checked again."""
    from proofs_check.registry import as_json
    from proofs_check.registry import verify as verify_statements

    return envelope({"statements": [as_json(result) for result in verify_statements(list(ids))]})
