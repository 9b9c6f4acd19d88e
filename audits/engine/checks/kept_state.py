"""The check for a function that answers from an input, or from a result, that it kept from an earlier call.

Such a function gives equal answers on both inputs of every pair, so nothing can be found. It cannot be distinguished
from a function that does not use the data. Two signs together make an answer inconclusive: with equal random
numbers the outputs on both inputs are equal, and something that the function can reach was replaced or has grown.
A state that is changed in place is not seen, which the answer says.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from dpproof.audits.data.outputs import same
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.sampling.callables import PROBES, Mechanism, generator, outputs
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.time_budget import OutOfTimeError

STATE = "state that the function keeps between calls, such as its first input"
ALIKE = "how the function uses the data: with equal random numbers it returned equal outputs on both inputs"
WEAKNESS = (
    "The function keeps a state between calls, and with equal random numbers it returned equal outputs on both"
    " inputs. It may answer from an earlier input. Remove the state, or create it anew in each call."
)
FEW, MANY, PLACE = 64, 2048, 20
"""The numbers of outputs that are compared, and their place in the seed's tree of probes."""
MOST = 2000
"""The largest number of parts that are compared."""
GROWING = (list, dict, set, bytearray, deque)


def alike(made: Mechanism, pair: Neighbours, seed: int) -> bool:
    """Whether equal generators lead to equal outputs on both inputs.

    The result is also False if the mechanism has randomness of its own, or if the time ends before the answer.
    """
    try:
        for n in (FEW, MANY) if made.seeded else ():
            both = [outputs(made, pair, label, n, generator(seed, PROBES, PLACE, n)) for label in (0, 1)]
            if not same(*both):
                return False
    except OutOfTimeError:
        return False
    return made.seeded


class KeptState:
    """A record of the objects that a function can reach, such as its variables, made before its first call.

    >>> kept = []
    >>> def function(data, rng):
    ...     kept.append(data)
    >>> state = KeptState(function)
    >>> function(1, 2), state.changed
    (None, True)
    """

    def __init__(self, function: object) -> None:
        self._function = function
        self._before = _state(function)

    @property
    def changed(self) -> bool:
        """Whether one of these objects was replaced, or its size has changed."""
        now = _state(self._function)
        both = zip(now, self._before, strict=False)
        return len(now) != len(self._before) or any(a is not b or m != n for (a, m), (b, n) in both)

    def told(self, found: Evidence) -> Evidence:
        """Return the evidence with a remark that a kept state may hide a violation.

        Evidence of a violation stays unchanged. The verdict becomes "inconclusive" if the state has changed and the
        function seems not to use the data.
        """
        if found.verdict.violated:
            return found
        found = replace(found, not_covered=(STATE, *found.not_covered))
        if ALIKE not in found.not_covered or not self.changed:
            return found
        return replace(found, verdict=Finding.INCONCLUSIVE, weakness=WEAKNESS)


def _state(function: object) -> list[tuple[object, int]]:
    """Return the nearest parts of what a function can reach; none if its attributes cannot be read."""
    try:
        return list(islice(_reached(function), MOST))
    except Exception:  # whatever the attributes of a user's objects do
        return []


def _reached(function: object) -> Iterator[tuple[object, int]]:
    """Generate what a function can reach, and its size: variables, attributes, defaults, and those of its functions."""
    left, seen = deque([function]), {id(function)}
    while left:
        for part in _parts(left.popleft()):
            yield part, _size(part)
            if id(part) not in seen and not isinstance(part, ModuleType | type):
                seen.add(id(part))
                left.append(part)


def _parts(one: Any) -> list[Any]:
    match one:
        case FunctionType():
            cells = [cell.cell_contents for cell in one.__closure__ or () if _filled(cell)]
            named = [one.__globals__[name] for name in _names(one.__code__) if name in one.__globals__]
            held = [*(one.__defaults__ or ()), *(one.__kwdefaults__ or {}).values(), *vars(one).values()]
            return [*cells, *named, *held]
        case MethodType():
            return [one.__self__, one.__func__]
        case partial():
            return [one.func, *one.args, *one.keywords.values()]
        case _ if hasattr(one, "__wrapped__"):
            return [one.__wrapped__]
    called = getattr(type(one), "__call__", None)  # noqa: B004 (the function that a call runs)
    inside: Mapping[str, Any] = getattr(one, "__dict__", {})
    return [*inside.values(), *([called] if isinstance(called, FunctionType) else [])]


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _names(part)


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _size(part: Any) -> int:
    if isinstance(part, GROWING):
        return len(part)
    told = getattr(part, "cache_info", None)
    return int(told().currsize) if hasattr(part, "__wrapped__") and callable(told) else 0
