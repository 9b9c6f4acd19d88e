"""What can be audited: vectorised and scalar callables, mechanisms of ours, commands; made alike here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.encoding import Raised
from dpproof.audits.data.outputs import of_objects
from dpproof.audits.time_budget import check_time
from dpproof.mechanisms.protocols import Samples

Sampler = Callable[[Any, int, np.random.Generator], Any]
"""``sampler(data, n, rng)`` returns ``n`` independent outputs on ``data``, one per row."""
Auditable = Callable[..., Any] | Samples[Any]
"""What `as_mechanism` takes."""
CHOICES = ("error", "token")
HINT = ' (failures="token" makes an exception an output)'


class MechanismError(ValueError):
    """Raised when a mechanism cannot be audited: it fails, returns NaN, or is no sampling."""


@dataclass(frozen=True)
class Mechanism:
    """A mechanism as the audit calls it, and what counts as an output of it.

    Attributes:
        function: ``function(data, n, rng)`` returns ``n`` independent outputs, one per row.
        failures: a call that raises is an ``"error"``, or a ``"token"``: the exception's type is its output.
        nan: an output that holds NaN is an ``"error"``, or a ``"token"``: an output like any other.
        seeded: all randomness comes from the generator passed in. Otherwise the outputs must be independent
            for another reason (the caller answers for it), and a replay compares verdicts, not counts.
        together: a call costs so much that at least so many samples are drawn before the next look.

    Raises:
        ValueError: ``failures`` or ``nan`` is neither of the two, or ``together`` is less than 1.
    """

    function: Sampler
    failures: str = "error"
    nan: str = "error"
    seeded: bool = True
    together: int = 1

    def __post_init__(self) -> None:
        if self.together < 1:
            raise ValueError(f"together ({self.together!r}) must be at least 1")
        for name in ("failures", "nan"):
            if getattr(self, name) not in CHOICES:
                raise ValueError(f"{name} ({getattr(self, name)!r}) must be one of: {', '.join(CHOICES)}")

    def __call__(self, data: object, n: int, rng: np.random.Generator) -> Any:
        """Draw ``n`` outputs; where failures are tokens, one by one."""
        if self.failures == "error":
            return self.function(data, n, rng)
        return of_objects([self._one(data, rng) for _ in range(n)])

    def _one(self, data: object, rng: np.random.Generator) -> Any:
        check_time()
        try:
            (output,) = self.function(data, 1, rng)
        except Exception as failure:
            return Raised(getattr(failure, "token", type(failure).__name__))
        return output


@dataclass(frozen=True)
class Each:
    """A scalar mechanism, ``function(data, rng)`` with one output a call, as a vectorised one."""

    function: Callable[[Any, np.random.Generator], Any]

    def __call__(self, data: object, n: int, rng: np.random.Generator) -> NDArray[Any] | list[Any]:
        """Call it ``n`` times, with one generator.

        Raises:
            MechanismError: some calls raise; says how many and how.
            OutOfTimeError: the time budget is spent before all of them.
        """
        outputs, failed = [], []
        for _ in range(n):
            check_time()
            try:
                outputs.append(self.function(data, rng))
            except Exception as failure:
                failed.append(failure)
        if failed and n > 1:
            raised = f"raised {type(failed[0]).__name__} ({failed[0]}) in {len(failed)} of {n} calls{HINT}"
            raise MechanismError(raised) from failed[0]
        if failed:
            raise failed[0]
        return outputs


def each(function: Callable[[Any, np.random.Generator], Any], **options: Any) -> Mechanism:
    """A scalar mechanism, ``function(data, rng)`` with one output a call; options as for `Mechanism`.

    >>> each(lambda value, rng: value + int(rng.integers(2)))(10, 3, np.random.default_rng(0))
    [11, 11, 11]
    """
    return Mechanism(Each(function), **options)


def mechanism(function: Callable[..., Any], **options: Any) -> Mechanism:
    """A callable as a `Mechanism`: vectorised if it takes (data, n, rng), scalar if it takes (data, rng).

    Parameters with a default do not count. What has no signature is taken to be vectorised.

    Args:
        function: the callable.
        options: ``failures``, ``nan`` and ``seeded``, as for `Mechanism`.

    Raises:
        MechanismError: it takes another number of arguments.

    >>> mechanism(lambda value, rng: value + rng.laplace()).function.__class__.__name__
    'Each'
    """
    count = _required(function)
    if count not in (2, 3):
        name = getattr(function, "__name__", type(function).__name__)
        raise MechanismError(
            f"mechanism ({name}) takes {count} arguments; it must take (data, n, rng) or (data, rng)"
        )
    return Mechanism(function if count == 3 else Each(function), **options)


def as_mechanism(given: Auditable) -> Mechanism:
    """A `Mechanism` from one, from anything with a method ``sample(data, n, rng)``, or from a callable."""
    if isinstance(given, Mechanism):
        return given
    if hasattr(given, "sample"):
        return Mechanism(given.sample)
    if not callable(given):
        raise MechanismError(f"mechanism ({given!r:.80}) must be callable, or have a method `sample`")
    return mechanism(given)


def _required(function: Callable[..., object]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return 3
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return 3
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters)
