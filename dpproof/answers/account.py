"""Answers: what the command line says, as JSON-ready data; every printed form is made from these."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.decimals import doubles
from dpproof.accountant.claims.parameters import Parameters
from dpproof.accountant.claims.result import IN_REAL_ARITHMETIC, Accountant, PrivacyResult, check_run
from dpproof.accountant.guarantees.notions import Guarantee
from dpproof.accountant.guarantees.targets import neighbours_of
from dpproof.accountant.numbers.arithmetic import Assumption, listed, recorded
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, exact
from dpproof.accountant.numbers.written import finite, plain
from dpproof.version import __version__

__all__ = ["account", "calibrate", "envelope", "released_bits", "resting", "verdicts_of"]

Json = dict[str, Any]
Ask = Callable[[Guarantee], Bound]


def envelope(body: Mapping[str, Any]) -> Json:
    """``body`` under the schema number and version that every answer carries."""
    return {"schema": 1, "version": __version__, **body}


def _asked(value: Number, name: str) -> float:
    """What was asked, as a JSON number.

    Raises:
        ValueError: for text that is no number, a positive number that no JSON number shows, a negative
            epsilon, or a delta outside [0, 1).
    """
    rational = exact(value, name)
    try:
        shown = float(rational)
    except OverflowError:
        shown = math.inf
    if math.isinf(shown) or (shown == 0) != (rational == 0):
        rule = "must be a number in the range of double precision: 0, or from 4.95e-324 to 1.79e308"
        raise ValueError(f"{name} ({value!r}) {rule}")
    if name == "delta" and not 0 <= rational < 1:
        raise ValueError(f"delta ({value!r}) must be in [0, 1)")
    if rational < 0:
        raise ValueError(f"{name} ({value!r}) must be at least 0")
    return shown


@contextlib.contextmanager
def resting(answer: Json) -> Iterator[None]:
    """What is computed inside and added to ``answer``: its assumptions of arithmetic are added, too."""
    with recorded() as used:
        yield
    before = {Assumption(entry["id"]) for entry in answer["arithmetic_assumptions"]}
    answer["arithmetic_assumptions"] = listed(before | used)


def verdicts_of(*statements: str) -> dict[str, str]:
    """The verdicts on statements, what they share checked once."""
    return {identity: result.verdict.value for identity, result in _results(*statements).items()}


def _results(*statements: str) -> dict[str, Any]:
    """What the registry says of statements, by id."""
    from dpproof.proofs_check.registry import verify as verify_statements

    return {result.id: result for result in verify_statements(statements)}


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
    shown = _asked(0 if at is None else at, asked)
    check_run(parameters)
    with recorded() as used:
        found = accountant.account(parameters, adjacency)
        ask = _once(lambda guarantee: getattr(guarantee, answer)(at))
        body = {
            "name": accountant.name,
            "parameters": parameters.as_json(),
            "adjacency": adjacency.value,
            asked: shown,
            **_found(found, answer, at, ask),
        }
        if accountant.beside is not None:
            other = ask(found.guarantee).upper
            beside = accountant.beside(
                doubles(parameters), *((other, at) if asked == "delta" else (at, other))
            )
            body |= {} if beside is None else {"printed": plain(beside)}
    return envelope({**body, "arithmetic_assumptions": listed(used)})


def _found(found: PrivacyResult, answer: str, at: Any, ask: Ask) -> Json:
    """What an accountant found, beside what is published."""
    results = _results(*_statements(found))
    rests = results[found.statement]
    return {
        "trust": found.trust.value,
        "released": found.released,
        **released_bits(found),
        "joint_by": found.joint_statement,
        answer: _of(found, ask(found.guarantee)),
        "mechanism": _mechanism(found, ask),
        "published": _published(found, answer, at, ask, results),
        "statement": found.statement,
        "verdict": rests.verdict.value,
        "assumptions": list(rests.assumptions),
        "readings_all": len(rests.readings),
        "laws_all": list(rests.laws),
        "notes": list(found.notes),
        "sensitivity": _sensitivity(found),
    }


def released_bits(found: PrivacyResult | None) -> Json:
    """Whether epsilon speaks of every released bit, in words, too; None stands for code of others."""
    if found is None:
        return {"covers_released_bits": False, "released_bits": IN_REAL_ARITHMETIC}
    return {"covers_released_bits": found.covers_released_bits, "released_bits": found.released_bits}


def _sensitivity(found: PrivacyResult) -> Json | None:
    """How far neighbours move an answer, and by which rule; None where no noise is scaled to it."""
    return None if found.sensitivity is None else found.sensitivity.as_json()


def _once(ask: Ask) -> Ask:
    """``ask``, but of equal guarantees only once: a numerical notion takes its time."""
    known: list[tuple[Guarantee, Bound]] = []

    def asked(guarantee: Guarantee) -> Bound:
        for other, bound in known:
            if other == guarantee:
                return bound
        known.append((guarantee, ask(guarantee)))
        return known[-1][1]

    return asked


def _of(found: PrivacyResult, bound: Bound) -> Json:
    """A bound on the guarantee, which is one on the mechanism where a pair attains the guarantee itself."""
    if found.attained is None or found.attained.guarantee != found.guarantee:
        return bound.as_json()
    return Bound(bound.lower, bound.upper, "mechanism", found.attained.pair).as_json()


def _mechanism(found: PrivacyResult, ask: Ask) -> Json | None:
    """The value of everything released, between a named pair and the guarantee."""
    if found.attained is None:
        return None
    low, high = ask(found.attained.guarantee), ask(found.guarantee)
    return Bound(low.lower, high.upper, "mechanism", found.attained.pair).as_json()


def _statements(found: PrivacyResult) -> list[str]:
    """The statements that an answer quotes."""
    published = found.published
    return [
        found.statement,
        *((published.statement, published.exact_statement) if published is not None else ()),
    ]


def _published(
    found: PrivacyResult, answer: str, at: Any, ask: Ask, results: Mapping[str, Any]
) -> Json | None:
    if found.published is None:
        return None
    exact = ask(found.published.exact).as_json()
    printed = {"epsilon": _ends(found.published.epsilon(at))} if answer == "epsilon" else {}
    statement, other = found.published.statement, found.published.exact_statement
    return {
        **printed,
        "statement": statement,
        "verdict": results[statement].verdict.value,
        "readings_all": len(results[statement].readings),
        f"{answer}_exact": exact,
        "exact_statement": other,
        "exact_verdict": results[other].verdict.value,
        "exact_readings_all": len(results[other].readings),
    }


def _ends(bound: Bound) -> Json:
    return {"lower": finite(bound.lower), "upper": finite(bound.upper)}


def calibrate(
    accountant: Accountant, parameters: Parameters, adjacency: Adjacency, target: str, delta: str
) -> Json:
    """The smallest noise whose certified epsilon meets the target, and the proof that less would not.

    Raises:
        ArithmeticError: if one of the two could not be certified.
    """
    check_run(parameters)
    shown = {"target_epsilon": _asked(target, "epsilon"), "delta": _asked(delta, "delta")}
    meets, misses = accountant.least_noise(parameters, adjacency, target, delta)
    with recorded() as used:
        body = _calibrated(accountant, (meets, misses), adjacency, target, delta)
        if accountant.compare is not None:
            body["printed"] = plain(accountant.compare(doubles(meets), target, delta))
    return envelope({**body, **shown, "arithmetic_assumptions": listed(used)})


def _calibrated(
    accountant: Accountant, ends: tuple[Any, Any], adjacency: Adjacency, target: str, delta: str
) -> Json:
    """What is certified of the parameters that meet the target, and of those that miss it."""
    meets, misses = ends
    found, below = (accountant.account(choice, adjacency) for choice in ends)
    met = _met(found.guarantee, target, delta)
    ask = _once(lambda guarantee: met if guarantee == found.guarantee else guarantee.epsilon(delta))
    return {
        "name": accountant.name,
        "parameters": meets.as_json(),
        "adjacency": adjacency.value,
        "noise": {"name": accountant.noise, "value": getattr(meets, accountant.noise)},
        "epsilon": _of(found, met),
        **released_bits(found),
        "minimal": {
            "value_below": getattr(misses, accountant.noise),
            "epsilon_lower": finite(_missed(below.guarantee, target, delta)),
        },
        "published": _published(found, "epsilon", delta, ask, _results(*_statements(found))),
        "notes": list(found.notes),
        "sensitivity": _sensitivity(found),
    }


def _met(guarantee: Guarantee, target: str, delta: str) -> Bound:
    """Epsilon, its upper end at most the target.

    Where inversion stops a little short of that, the profile at the target decides.
    """
    bound, limit = guarantee.epsilon(delta), neighbours_of(exact(target))[0]
    if bound.upper <= limit:
        return bound
    if guarantee.delta(limit).upper <= exact(delta):
        return Bound(min(bound.lower, limit), limit)
    raise ArithmeticError(f"the noise found was not certified to meet epsilon {target}: {bound}")


def _missed(guarantee: Guarantee, target: str, delta: str) -> float:
    """A lower end of epsilon that is above the target."""
    limit = neighbours_of(exact(target))[1]
    lower = guarantee.epsilon(delta).lower
    if lower > exact(target):
        return lower
    if guarantee.delta(limit).lower > exact(delta):
        return limit
    raise ArithmeticError(f"a little less noise was not certified to miss epsilon {target}: {lower}")
