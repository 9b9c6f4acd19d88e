"""Mechanisms that are called once for each output, with a generator for each call.

Outputs of one call cannot depend on each other then. This serves slow functions, functions that seed a generator of
their own, and audits of the running time.
"""

from __future__ import annotations

import math
import pickle
import time
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpproof.audits.engine.sampling.callables import Mechanism, MechanismError
from dpproof.audits.time_budget import check_time, time_left

TOGETHER = (
    "several outputs of one call (the function has a seed of its own, and was called once for each output)"
)
FEW = 16
"""The number of outputs of a call of the checks, if the running time is audited."""


@dataclass(frozen=True)
class Apart:
    """A function ``(data, n, rng)`` that calls a mechanism once for each output, with a generator for each call.

    Attributes:
        function: the mechanism.
        executor: makes several calls at the same time, if given; it does not change the outputs.
    """

    function: Mechanism
    executor: Executor | None = field(default=None, compare=False, repr=False)

    def __call__(self, data: object, n: int, rng: np.random.Generator) -> list[Any]:
        """Return ``n`` outputs.

        Raises:
            OutOfTimeError: the time budget is spent before all calls have returned.
        """
        rngs = rng.spawn(n)
        if self.executor is None:
            return [_output(self.function, data, one) for one in rngs]
        waiting = [self.executor.submit(_output, self.function, data, one) for one in rngs]
        try:
            left = (None if math.isinf(time_left()) else max(time_left(), 0.0) for _ in waiting)
            return [one.result(seconds) for one, seconds in zip(waiting, left, strict=True)]
        except TimeoutError as late:
            check_time()
            raise late
        finally:
            for one in waiting:
                one.cancel()


def _output(made: Mechanism, data: object, rng: np.random.Generator) -> Any:
    check_time()
    returned = made(data, 1, rng)
    try:
        (output,) = returned
    except (TypeError, ValueError) as wrong:
        raise MechanismError(
            f"f(data, n, rng) must return n outputs. For n = 1 it returned {returned!r:.60}."
        ) from wrong
    return output


@dataclass(frozen=True)
class Timed:
    """A function ``(data, n, rng)`` that calls a mechanism once for each output, and adds the time of the call.

    Each call gets a fresh copy of the data. So the place of an input in memory, or in a cache of the processor, does
    not tell the inputs apart.

    Attributes:
        function: the mechanism.
    """

    function: Mechanism
    _pickled: dict[int, tuple[object, bytes | None]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def __call__(self, data: object, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        """Return ``n`` outputs with the seconds that their calls took.

        >>> made = Timed(Mechanism(lambda data, n, rng: [data] * n))
        >>> sorted(made(3, 1, np.random.default_rng(0))[0])
        ['output', 'seconds']
        """
        return [self._one(data, one) for one in rng.spawn(n)]

    def _one(self, data: object, rng: np.random.Generator) -> dict[str, Any]:
        own = self._copy(data)
        begun = time.perf_counter()
        output = _output(self.function, own, rng)
        return {"output": output, "seconds": time.perf_counter() - begun}

    def _copy(self, data: object) -> object:
        """Return a copy whose parts are new objects; the data themselves if they cannot be pickled."""
        if id(data) not in self._pickled:
            self._pickled[id(data)] = data, _pickled(data)  # with the data, so that the id stays theirs
        written = self._pickled[id(data)][1]
        return data if written is None else pickle.loads(written)


def _pickled(data: object) -> bytes | None:
    try:
        written = pickle.dumps(data)
        pickle.loads(written)
    except Exception:  # such as a lock, or an object of a class that a function defines
        return None
    return written


def apart(made: Mechanism) -> Mechanism:
    """Return the mechanism that is called once for each output."""
    return Mechanism(Apart(made), nan=made.nan, seeded=made.seeded)


def timed(made: Mechanism) -> Mechanism:
    """Return the mechanism whose outputs also contain the seconds that their calls took.

    A time has no seed. The calls take place in the order of the coins, as for every sparing mechanism without a seed.
    """
    return Mechanism(Timed(made), nan=made.nan, seeded=False, sparing=FEW)
