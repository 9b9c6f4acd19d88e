"""The function `compose`, for several mechanisms that run on the same data. Also reads results from JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dpproof.accountant.asking import account
from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Parameters
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.guarantees.profile import Profile, WorstOf
from dpproof.accountant.numbers.arithmetic import assume, current, recorded
from dpproof.accountant.theorems.mixed_composition import compose_guarantees, compose_opposed

COMPOSED = "composition"
"""The name of the mechanism in a result of `compose`."""
STATEMENT = "classic.dominating_composition"
PARALLEL_STATEMENT = "classic.parallel"


def compose(*results: PrivacyResult, parallel: bool = False) -> PrivacyResult:
    """Return the guarantee of several mechanisms that run on the same data, or on disjoint parts of it.

    Each mechanism may be chosen after seeing the outputs of earlier ones.

    Args:
        results: results of `account`, or of this function.
        parallel: whether each mechanism reads a part of the records of its own. The part of a record may depend
            on this record only. An added or removed record changes one part. A replaced record changes one
            part, or moves from one part to another. The guarantee covers all cases.

    >>> from dpproof import account
    >>> training = account("dp-sgd", sampling_rate=0.01, noise_multiplier=1, steps=1000, adjacency="add-remove")
    >>> histogram = account("gaussian", sigma=8, sensitivity=1, adjacency="add-remove")
    >>> print(compose(training, histogram).epsilon("1e-6"))
    2.193108 (certified, 11 digits)
    >>> print(compose(training, histogram, parallel=True).epsilon("1e-6"))
    2.124516 (certified, 11 digits)

    Raises:
        ValueError: without results, or for results of different neighbouring relations, units or trust models.
            If ``parallel`` is true, also as `account` with ``parallel``.
    """
    for one in results:
        if not hasattr(one, "guarantee"):
            listed = ". Write compose(*results)" if isinstance(one, list | tuple) else ""
            raise TypeError(
                f"compose must be given results of account. One argument is of type {type(one).__name__}{listed}."
            )
    for name, rule in _ALIKE.items():
        _check_alike(
            name, [str(getattr(getattr(one, name), "value", getattr(one, name))) for one in results], rule
        )
    with recorded():
        for one in results:
            assume(*one.assumptions)
        guarantee = (
            _in_parts(results) if parallel else compose_guarantees(*(one.guarantee for one in results))
        )
        samplers = [one.exact_sampler for one in results]
        first = results[0]
        notes = (note for one in results for note in one.notes)
        return PrivacyResult(
            guarantee.sharing(),
            first.adjacency,
            first.trust,
            f"the outputs of {len(results)} mechanisms together",
            PARALLEL_STATEMENT if parallel and first.adjacency is Adjacency.ADD_REMOVE else STATEMENT,
            notes=tuple(dict.fromkeys((*notes, IN_PARALLEL) if parallel else notes)),
            exact_sampler=" and ".join(dict.fromkeys(filter(None, samplers))) if all(samplers) else None,
            mechanism=COMPOSED,
            parameters={"of": tuple(results)},
            parallel=parallel,
            unit=first.unit,
        )


def _in_parts(results: Sequence[PrivacyResult]) -> Profile:
    """Return the guarantee of mechanisms that read disjoint parts of the records (docs/notes/composition.md).

    An added or removed record changes the input of one mechanism. A replaced record changes the input of one
    mechanism, or one mechanism loses a record and another gains one.
    """
    relation = results[0].adjacency
    for one in results:
        check_parallel(one, relation)
    inside = _distinct([one.guarantee for one in results])
    if relation is Adjacency.ADD_REMOVE:
        return _worst_of(inside)
    moved = [_asked({**one.question(), "adjacency": Adjacency.ADD_REMOVE.value}) for one in results]
    assume(*(assumption for one in moved for assumption in one.assumptions))
    once = [one.guarantee for one in moved]
    several = _distinct(once)
    pairs = [(one, other) for one in several for other in several if one != other or once.count(one) > 1]
    return _worst_of([*inside, *several, *(compose_opposed(*pair) for pair in pairs)])


def _distinct(guarantees: Sequence[Profile]) -> list[Profile]:
    """Return the guarantees without repetitions. Some of them cannot be hashed."""
    return [one for place, one in enumerate(guarantees) if one not in guarantees[:place]]


def _worst_of(cases: Sequence[Profile]) -> Profile:
    return cases[0] if len(cases) == 1 else WorstOf(tuple(cases))


def check_parallel(result: PrivacyResult, relation: Adjacency) -> None:
    """Raise an error if a mechanism cannot run on one of several disjoint parts, because a record may move.

    Raises:
        ValueError: as ``in_parallel``.
    """
    if result.mechanism == COMPOSED:
        for one in result.parameters["of"]:
            check_parallel(one, relation)
        return
    given = result.parameters
    if given.get("records", 1) > 1:
        raise ValueError(
            f"records ({given['records']}) must be 1 if parallel is given, because one user's records may be in "
            "several groups."
        )
    if relation is Adjacency.ADD_REMOVE:
        return
    if relation is not Adjacency.REPLACE:
        raise ValueError(f"adjacency ({relation.value!r}) must be add-remove or replace if parallel is given")
    if not (accountant_for(result.mechanism).by_records or given.get("query") is not None):
        raise ValueError(
            "parallel cannot be used with a sensitivity under replace, because a replaced record may move to another "
            "group. Use adjacency add-remove. If the mechanism takes a query, you can also give query instead of "
            "sensitivity."
        )


_ALIKE = {
    "adjacency": "Call account with the same adjacency, and with the sensitivity under this relation.",
    "unit": "Call account with the same unit. A guarantee for one record does not cover a user with several.",
    "trust": "Guarantees against different adversaries cannot be composed.",
}
"""The properties that all composed results must have in common, and advice for users if they differ."""


def _check_alike(name: str, words: Sequence[str], rule: str) -> None:
    if not words:
        raise ValueError("compose must be given at least one result of account.")
    if len(set(words)) > 1:
        raise ValueError(f"compose: {name} ({', '.join(words)}) must be the same in all results. {rule}")


def result_from_json(text: str) -> PrivacyResult:
    """Read the JSON ``text`` of `PrivacyResult.to_json`, and compute the result again.

    Raises:
        ValueError: for text that was not written by ``to_json``.
    """
    data = json.loads(text)
    if not isinstance(data, dict) or "question" not in data:
        raise ValueError(f"text ({text[:40]!r}...) must be the output of to_json of a result of account.")
    return _asked(data["question"])


def _asked(question: Mapping[str, Any]) -> PrivacyResult:
    if question["mechanism"] == COMPOSED:
        of = (_under(one, question["adjacency"]) for one in question["parameters"]["of"])
        return compose(*map(_asked, of), parallel=question["parallel"])
    return account(
        question["mechanism"],
        adjacency=question["adjacency"],
        unit=question["unit"],
        parallel=question["parallel"],
        **question["parameters"],
    )


def _under(question: Mapping[str, Any], relation: str) -> dict[str, Any]:
    return {**question, "adjacency": relation}


def in_parallel(accountant: Accountant, parameters: Parameters, relation: Adjacency) -> PrivacyResult:
    """Return the guarantee of one mechanism that runs on each of several disjoint groups of the records.

    The group of a record may depend on this record only. An added or removed record changes one group. A
    replaced record changes one group, or is removed from one and added to another. The result covers both
    cases.

    Raises:
        ValueError: for more than one record of a user, for a relation other than add-remove and replace, or for
            a relation under which the mechanism has no proved guarantee. Under replace, also for a mechanism
            with a given sensitivity.
    """
    found = accountant.account(parameters, relation)
    check_parallel(found, relation)
    if relation is Adjacency.ADD_REMOVE:
        return replace(found, notes=(*found.notes, IN_PARALLEL), parallel=True)
    inside, moved = found, accountant.account(parameters, Adjacency.ADD_REMOVE)
    with recorded():
        assume(*moved.assumptions, *inside.assumptions)
        return replace(
            inside,
            guarantee=WorstOf((inside.guarantee, compose_opposed(moved.guarantee, moved.guarantee))),
            attained=None,
            published=None,
            notes=tuple(dict.fromkeys((*inside.notes, *moved.notes, IN_PARALLEL))),
            assumptions=current(),
            parallel=True,
        )


IN_PARALLEL = (
    "the mechanism runs on disjoint groups of the records, by parallel composition (classic.parallel)"
)
