"""What marker and ini options of privacy tests say, how a slip is reported; see `dpproof.pytest_plugin`."""

from __future__ import annotations

import contextlib
import os
import traceback
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from dpproof import audits
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import ARITHMETIC, Claim
from dpproof.accountant.claims.parameters import Choice, Flag, Integers, Reals, Values
from dpproof.accountant.claims.spelling import nearest
from dpproof.audits.engine.sampling.callables import Auditable, Mechanism, as_mechanism, mechanism
from dpproof.audits.plan import BUDGET

__all__ = ["INI", "as_mechanism_with", "check_key", "ini", "promise_of", "slips"]

PROMISE = ("epsilon", "delta", "rho", "mu")
HOW: Mapping[str, tuple[Values, Any]] = {
    "budget": (Integers(1), BUDGET),
    "strict": (Flag(), False),
    "arithmetic": (Choice(*ARITHMETIC), ARITHMETIC[0]),
}
"""What the marker says besides the promise: the values, and the one that is meant without it."""
INI: Mapping[str, Values] = {
    "privacy_alpha": Reals(0, 1, lower_open=True, upper_open=True),
    "privacy_seed": Integers(0),
}
ENGINE = Path(audits.__file__).parent


@contextlib.contextmanager
def slips(where: str | None = None) -> Iterator[None]:
    """Fail the test in one line that names value and rule, without the frames of this project.

    Where somebody's code raised, the line says at which of its own. All frames with DPPROOF_TRACEBACK=1.
    """
    try:
        yield
    except ValueError as error:
        if os.environ.get("DPPROOF_TRACEBACK"):
            raise
        text = f"privacy: {error}{_raised_at(error.__cause__)}"
        said = text if where is None else f"{where}: {text}"
        raise pytest.fail.Exception(said, pytrace=False) from None


def _raised_at(cause: BaseException | None) -> str:
    """The innermost line that raised, if it is none of the engine's."""
    frames = traceback.extract_tb(None if cause is None else cause.__traceback__)
    if not frames or ENGINE in Path(frames[-1].filename).parents:
        return ""
    return f" (at {frames[-1].filename}:{frames[-1].lineno})"


def check_key(label: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse the first key that is not known.

    Raises:
        ValueError: naming it and the known ones.
    """
    rule = tuple(known)
    for key in given:
        if key not in rule:
            raise ValueError(f"{label} ({key!r}) must be one of: {', '.join(rule)}{nearest(key, rule)}")


def promise_of(
    name: str, args: tuple[object, ...], given: Mapping[str, Any]
) -> tuple[Claim, Mapping[str, Any]]:
    """The promise of a marker, and how it is to be audited.

    Raises:
        ValueError: naming the value and the rule.
    """
    if args:
        raise ValueError(f"value ({args[0]!r}) must be given by name")
    check_key("key", given, (*PROMISE, "adjacency", *HOW))
    if "adjacency" not in given:
        raise ValueError(f"adjacency is missing; there is no default: {_relations()}")
    how = {key: given.get(key, meant) for key, (_, meant) in HOW.items()}
    for key, value in how.items():
        if not HOW[key][0].admits(value):
            raise ValueError(f"{key} ({value!r}) must be {HOW[key][0]}")
    promise = {key: given[key] for key in PROMISE if key in given}
    if not promise.keys() - {"delta"}:
        raise ValueError("epsilon is missing: a promise is epsilon (with delta), or rho, or mu")
    about = how.pop("arithmetic")
    claim = Claim(name, "the:test", {}, Adjacency.of(given["adjacency"]), promise, arithmetic=about)
    return claim, how


def _relations() -> str:
    return f"give one of {', '.join(relation.value for relation in Adjacency)}"


def ini(config: pytest.Config, name: str) -> Any:
    """The value of an ini option.

    Raises:
        ValueError: naming the option, its text and its domain.
    """
    text = config.getini(name)
    try:
        value = INI[name].read(text)
    except ValueError:
        value = None
    if not INI[name].admits(value):
        raise ValueError(f"{name} ({text!r}) must be {INI[name]}")
    return value


def as_mechanism_with(given: Auditable, options: Mapping[str, Any]) -> Mechanism:
    """A callable as a mechanism, told what counts as an output of it.

    Raises:
        MechanismError: it is none.
        ValueError: an option has no such value, or what has its own is told another.
    """
    if not options:
        return as_mechanism(given)
    if isinstance(given, Mechanism):
        raise ValueError(f"{next(iter(options))} must be left out for a Mechanism, which says so itself")
    return mechanism(given.sample if hasattr(given, "sample") else given, **options)
