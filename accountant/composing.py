"""The function `compose`, for several mechanisms that run on the same data. Also reads results from JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dpproof.accountant.asking import account
from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Parameters
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.guarantees.profile import WorstOf
from dpproof.accountant.numbers.arithmetic import assume, current, recorded
from dpproof.accountant.theorems.mixed_composition import compose_guarantees, compose_opposed

COMPOSED = "composition"
"""The name of the mechanism in a result of `compose`."""
STATEMENT = "classic.dominating_composition"


def compose(*results: PrivacyResult) -> PrivacyResult:
    """Return the guarantee of several mechanisms that run on the same data.

    Each mechanism may be chosen after seeing the outputs of earlier ones.

    >>> from dpproof import account
    >>> training = account("dp-sgd", sampling_rate=0.01, noise_multiplier=1, steps=1000, adjacency="add-remove")
    >>> histogram = account("gaussian", sigma=8, sensitivity=1, adjacency="add-remove")
    >>> print(compose(training, histogram).epsilon("1e-6"))
    2.193108 (certified, 11 digits)

    Raises:
        ValueError: without results, or for results of different neighbouring relations, units or trust models.
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
        guarantee = compose_guarantees(*(one.guarantee for one in results)).sharing()
        samplers = [one.exact_sampler for one in results]
        first = results[0]
        return PrivacyResult(
            guarantee,
            first.adjacency,
            first.trust,
            f"the outputs of {len(results)} mechanisms together",
            STATEMENT,
            notes=tuple(dict.fromkeys(note for one in results for note in one.notes)),
            exact_sampler=" and ".join(dict.fromkeys(filter(None, samplers))) if all(samplers) else None,
            mechanism=COMPOSED,
            parameters={"of": tuple(results)},
            unit=first.unit,
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
        return compose(*map(_asked, question["parameters"]["of"]))
    return account(
        question["mechanism"],
        adjacency=question["adjacency"],
        unit=question["unit"],
        parallel=question["parallel"],
        **question["parameters"],
    )


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
    records = getattr(parameters, "records", 1)
    if records > 1:
        raise ValueError(
            f"records ({records}) must be 1 if parallel is given, because one user's records may be in "
            "several groups."
        )
    if relation is Adjacency.ADD_REMOVE:
        found = accountant.account(parameters, relation)
        return replace(found, notes=(*found.notes, IN_PARALLEL), parallel=True)
    if relation is not Adjacency.REPLACE:
        raise ValueError(f"adjacency ({relation.value!r}) must be add-remove or replace if parallel is given")
    if not (accountant.by_records or getattr(parameters, "query", None) is not None):
        raise ValueError(
            "parallel cannot be used with a sensitivity under replace, because a replaced record may move to another "
            "group. Use adjacency add-remove. If the mechanism takes a query, you can also give query instead of "
            "sensitivity."
        )
    inside, moved = (accountant.account(parameters, one) for one in (relation, Adjacency.ADD_REMOVE))
    with recorded():
        assume(*moved.assumptions, *inside.assumptions)
        return replace(
            inside,
            guarantee=WorstOf((inside.guarantee, compose_opposed(moved.guarantee))),
            attained=None,
            published=None,
            notes=tuple(dict.fromkeys((*inside.notes, *moved.notes, IN_PARALLEL))),
            assumptions=current(),
            parallel=True,
        )


IN_PARALLEL = (
    "the mechanism runs on disjoint groups of the records, by parallel composition (classic.parallel)"
)
