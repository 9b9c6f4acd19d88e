"""The function `account`, which returns the guarantee of a mechanism given by its name and its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, replace
from typing import Any

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.accountant import Accountant, check_run
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Parameters, Values
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.numbers.enclosures import exact


def account(
    mechanism: str,
    *unnamed: object,
    adjacency: Adjacency | str | None = None,
    unit: str | None = None,
    parallel: bool = False,
    **parameters: Any,
) -> PrivacyResult:
    """Return the certified guarantee of a mechanism. Ask its methods `epsilon`, `delta` or `trade_off`.

    Args:
        mechanism: the name of the mechanism, as in ``dpproof account --help``.
        adjacency: the neighbouring relation. Mechanisms with a sensitivity do not need a relation. Without a
            relation, the answer holds for any two inputs whose results differ by at most the sensitivity.
        unit: whose data one record holds, in a word of your own, such as "patient". `compose` accepts results
            of the same unit only.
        parallel: whether the mechanism runs separately on disjoint groups of the records. The group of a
            record may depend on this record only.
        parameters: the parameters of the mechanism, by name. A text such as "0.1" means exactly this decimal
            number. A float means its exact binary value.

    >>> result = account("dp-sgd", sampling_rate=0.01, noise_multiplier=1, steps=1000, adjacency="add-remove")
    >>> print(result.epsilon("1e-6"))
    2.124516 (certified, 11 digits)

    Raises:
        ValueError: for an unknown mechanism or parameter, a value outside its domain, a missing relation, or
            a relation under which no guarantee is proved.
    """
    accountant = accountant_for(mechanism)
    check_named(accountant, unnamed)
    check_meant(accountant, parameters, _ELSEWHERE)
    chosen = parameters_of(accountant, parameters)
    check_run(chosen)
    if unit is not None and not unit.strip():
        raise ValueError(
            f"unit ({unit!r}) must not be blank. Name whose data one record holds, such as 'patient'."
        )
    relation = accountant.relation(adjacency)
    found = result_of(accountant, chosen, relation, parallel)
    return found if unit is None else replace(found, unit=unit)


_ELSEWHERE = {
    "epsilon": "To find the noise for an epsilon, use dpproof.calibrate with target_epsilon.",
    "delta": "To get epsilon at a delta, use .epsilon(delta) of the result.",
}
"""Advice for users who give `account` a target or a delta: what to use instead."""


def check_named(accountant: Accountant, unnamed: tuple[object, ...]) -> None:
    """Raise an error if a parameter is given without its name.

    Raises:
        TypeError: if ``unnamed`` is not empty. The message names the first parameter of the mechanism.
    """
    if unnamed:
        first = accountant.parameters.fields()[0].name
        raise TypeError(
            f"Give every parameter of {accountant.name} by name, such as {first}={unnamed[0]!r:.60}"
        )


def check_meant(accountant: Accountant, values: Mapping[str, Any], meant: Mapping[str, str]) -> None:
    """Raise an error for names that users often give by mistake, with the advice in ``meant``.

    ``meant`` holds the advice for each such name. Names of real parameters of the mechanism are allowed.

    Raises:
        ValueError: for the first such name in ``values``.
    """
    known = {field.name for field in accountant.parameters.fields()}
    for name in values:
        if name in meant and name not in known:
            raise ValueError(
                f"{name} ({values[name]!r:.60}) is no parameter of {accountant.name}. {meant[name]}"
            )


def noise_to_begin(accountant: Accountant) -> Any:
    """Return the value of the noise parameter at which a calibration begins if the user gives no value."""
    field = next(one for one in accountant.parameters.fields() if one.name == accountant.noise)
    return field.metadata["domain"].some() if field.default is MISSING else field.default


def result_of(
    accountant: Accountant, parameters: Parameters, relation: Adjacency, parallel: bool
) -> PrivacyResult:
    """Return the result of an accountant.

    If ``parallel`` is true, the result is for runs on disjoint groups of the records.
    """
    if parallel:
        from dpproof.accountant.composing import in_parallel  # it loads numpy, which few answers need

        return in_parallel(accountant, parameters, relation)
    return accountant.account(parameters, relation)


def parameters_of(accountant: Accountant, values: Mapping[str, Any]) -> Parameters:
    """Return checked parameters of a mechanism. Values given as text are read as the command line reads them.

    Raises:
        ValueError: for an invalid value. The message names the parameter and its domain.
    """
    domains = {field.name: field.metadata["domain"] for field in accountant.parameters.fields()}
    given = {name: value for name, value in values.items() if value is not None}
    texts = {name: value for name, value in given.items() if isinstance(value, str) and name in domains}
    return accountant.parameters.read(
        {**given, **{name: _read(domains[name], text) for name, text in texts.items()}}
    )


def _read(domain: Values, text: str) -> object:
    """The value that a text writes; a fraction of whole numbers is that rational."""
    return exact(text) if domain.kind is float and "/" in text else domain.read(text)
