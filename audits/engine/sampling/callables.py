"""Convert functions, dpproof's mechanisms and OpenDP's measurements to one form, and draw samples from them.

A mechanism is sampled on a pair of inputs, in blocks. Each block has its own seed, so the samples do not depend on
the number of workers. For each sample, a fair coin picks the input; the coin is the label of the sample. The samples
of one input are drawn in one call and then put at the places that the coins chose. So the place of a sample in a
block reveals nothing about its label. This is necessary because a score is a floating-point sum, and the last bit of
a sum may depend on the place of a row in a matrix. If no score depends on the place, the outputs stay in the order in
which they were drawn, which halves the time.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.audits.data.encoding import Raised
from dpproof.audits.data.handed import Handed
from dpproof.audits.data.outputs import Block, as_block, has_nan, is_numeric, joined, nan_count, of_objects
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.scores.layout import Layout
from dpproof.audits.time_budget import check_time
from dpproof.mechanisms.primitives import Samples

BLOCKS, PROBES, POWER, SEARCH, PAIRS, FRESH = range(6)
"""The numbers of the random streams of a seed: for samples, for checks of the mechanism, for the measurement of power,
for a search, for several pairs, and for the illustration of a violation."""
AGAIN = 100
"""If a mechanism raises an exception, it is called this many times more, to report how often it raises."""


def generator(seed: int, *place: int) -> np.random.Generator:
    """Return the random generator for a seed and a tuple of numbers ``place``, as `SeedSequence.spawn` does."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=place))


def draw(
    sampler: Auditable, pair: Neighbours, size: int, seed: int, block: int, layout: Layout | None = None
) -> tuple[Block, NDArray[np.int64]]:
    """Return ``size`` samples: outputs ``(size, ...)``, and labels ``(size,)`` that are independent fair coins.

    A label is the number of the input, 0 or 1. If ``layout.ordered`` is true, the samples with label 0 come first. A
    slow mechanism with randomness of its own is called in the order of the coins, so that a drift of this randomness
    does not tell the inputs apart.

    Raises:
        MechanismError: the mechanism raises, or returns NaN or the wrong number of outputs.
    """
    rng = generator(seed, BLOCKS, block)
    coins = np.unpackbits(np.frombuffer(rng.bytes((size + 7) // 8), np.uint8), count=size)
    made = as_mechanism(sampler)
    if made.sparing and not made.seeded:
        rows = joined([outputs(made, pair, int(coin), 1, rng) for coin in coins])
        return rows if layout is None else layout.settled(rows), coins.astype(np.int64)
    ones = int(np.count_nonzero(coins))
    drawn = [outputs(sampler, pair, b, n, rng) for b, n in enumerate((size - ones, ones)) if n]
    if layout is not None and layout.ordered:
        return layout.settled(joined(drawn)), np.repeat(np.arange(2, dtype=np.int8), (size - ones, ones))
    places = [at for at in (np.flatnonzero(coins == label) for label in (0, 1)) if at.size]
    placed = _placed(drawn, places, size)
    return placed if layout is None else layout.settled(placed), coins.astype(np.int64)


def _placed(drawn: list[Block], places: list[NDArray[np.intp]], size: int) -> Block:
    """Put the rows of each part at its places, in an array of numbers if this changes no row."""
    together = joined(drawn)
    placed = np.empty_like(together, shape=(size, *together.shape[1:]))
    placed[np.concatenate(places)] = together
    return placed


def outputs(sampler: Auditable, pair: Neighbours, label: int, n: int, rng: np.random.Generator) -> Block:
    """Return ``n`` checked outputs from one call of the mechanism on the input with number ``label``.

    Raises:
        MechanismError: as in `draw`; the message names the input.
    """
    check_time()
    made, handed = as_mechanism(sampler), pair.handed(label)
    where = f"on the {('first', 'second')[label]} input"
    try:
        with _first_call(handed):
            returned = made(handed.value, n, rng)
    except ChangedInputError:
        raise
    except MechanismError as failure:
        raise MechanismError(f"mechanism failed {where}: {failure}") from failure
    except (Exception, SystemExit) as failure:
        raised = f"raised {type(failure).__name__} ({failure})"
        raise MechanismError(
            f"mechanism {raised} {where}{_how_often(made, handed.value, n, rng)}"
        ) from failure
    if returned is None:
        raise MechanismError(f"mechanism returned None {where}. Is a return missing?")
    try:
        return _checked(as_block(returned), n, made.nan == "token")
    except (TypeError, ValueError, RecursionError) as wrong:
        raise MechanismError(f"mechanism returned invalid outputs {where}: {wrong}") from wrong


@contextlib.contextmanager
def _first_call(handed: Handed) -> Iterator[None]:
    """Check that the first call of a mechanism on an input, whether it returns or raises, does not change the input."""
    try:
        yield
    finally:
        if not handed.called:
            handed.called = True
            if handed.changed:
                raise ChangedInputError


def check_unchanged(*pairs: Neighbours) -> None:
    """Raise an error if a call has changed an input of one of these pairs.

    Raises:
        ChangedInputError: a call has changed an input.
    """
    if any(pair.changed for pair in pairs):
        raise ChangedInputError


def _checked(block: Block, n: int, nan: bool) -> Block:
    if len(block) != n:
        raise ValueError(f"their shape {block.shape} must begin with {n}, with one row per sample")
    if is_numeric(block) and not has_nan(block):
        return block
    found = nan_count(block)
    if found and not nan:
        raise ValueError(
            f'{found} of {n} outputs are or contain NaN. With nan="token" NaN counts as an output.'
        )
    return block


def _how_often(made: Mechanism, data: object, n: int, rng: np.random.Generator) -> str:
    """Return a text on how often further calls for one output raise."""
    failed = 0
    times = made.sparing or AGAIN
    for _ in range(times):
        check_time()
        try:
            made(data, 1, rng)
        except (Exception, SystemExit):
            failed += 1
    return f" when asked for {n} samples, and in {failed} of {times} further calls for one sample.{HINT}"


Sampler = Callable[[Any, int, np.random.Generator], Any]
"""``sampler(data, n, rng)`` returns ``n`` independent outputs on ``data``, one per row."""
Auditable = Callable[..., Any] | Samples[Any]
"""The types that `as_mechanism` accepts."""
CHOICES = ("error", "token")
HINT = ' With failures="token" an exception counts as an output.'


class MechanismError(ValueError):
    """Raised when a mechanism cannot be audited: it fails, returns NaN, or its outputs are not independent."""


class OwnSeedError(MechanismError):
    """Raised when the outputs of a call vary, but are the same for all generators that are passed in."""

    def __init__(self) -> None:
        super().__init__(
            "mechanism ignores its generator. Different generators give identical outputs, which vary within a"
            " call. Draw every output from the generator. If the mechanism seeds a generator of its own, audit"
            " lambda data, rng: f(data, 1, rng)[0] instead. Then each output shows what the seed depends on."
        )

    def __reduce__(self) -> tuple[type[OwnSeedError], tuple[()]]:
        """Return the data for pickling, so that worker processes can raise this exception."""
        return OwnSeedError, ()


class ChangedInputError(MechanismError):
    """Raised when a mechanism changes its input in place, so that later calls get another input."""

    def __init__(self) -> None:
        super().__init__(
            "The function changes its input, so that later calls get another input."
            " Copy the input inside the function, for example with copy.deepcopy."
        )

    def __reduce__(self) -> tuple[type[ChangedInputError], tuple[()]]:
        """Return the data for pickling, so that worker processes can raise this exception."""
        return ChangedInputError, ()


@dataclass(frozen=True)
class Mechanism:
    """A mechanism in the form in which an audit calls it, with settings for exceptions and NaN.

    Attributes:
        function: ``function(data, n, rng)`` returns ``n`` independent outputs, one per row.
        failures: with ``"error"`` a call that raises an exception ends the audit; with ``"token"`` the exception's
            type counts as the output.
        nan: with ``"error"`` an output that contains NaN ends the audit; with ``"token"`` NaN is a valid output.
        seeded: whether all randomness comes from the generator passed in. If not, the caller must ensure that the
            outputs are independent, and a replay compares verdicts, not counts.
        together: the smallest number of samples in a block, for mechanisms that are expensive to call.
        sparing: for a mechanism that is slow and is called once for each output, the number of outputs of a call of the
            checks; 0 for the usual numbers.

    Raises:
        ValueError: ``failures`` or ``nan`` is not "error" or "token", or ``together`` is less than 1.
    """

    function: Sampler
    failures: str = "error"
    nan: str = "error"
    seeded: bool = True
    together: int = 1
    sparing: int = 0

    def __post_init__(self) -> None:
        if self.together < 1:
            raise ValueError(f"together ({self.together!r}) must be at least 1")
        for name in ("failures", "nan"):
            if getattr(self, name) not in CHOICES:
                raise ValueError(f"{name} ({getattr(self, name)!r}) must be one of: {', '.join(CHOICES)}")

    def __call__(self, data: object, n: int, rng: np.random.Generator) -> Any:
        """Draw ``n`` outputs, one by one if exceptions count as outputs."""
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
    """A function ``(data, n, rng)`` that calls ``function(data, rng)`` ``n`` times and returns the outputs."""

    function: Callable[[Any, np.random.Generator], Any]

    def __call__(self, data: object, n: int, rng: np.random.Generator) -> NDArray[Any] | list[Any]:
        """Call the function ``n`` times, with one generator.

        Raises:
            MechanismError: some calls raise; the message reports how many, and the first exception.
            OutOfTimeError: the time budget is spent before all calls are made.
        """
        outputs, failed = [], []
        for _ in range(n):
            check_time()
            try:
                outputs.append(self.function(data, rng))
            except Exception as failure:
                failed.append(failure)
        if failed and n > 1:
            raised = (
                f"it raised {type(failed[0]).__name__} ({failed[0]}) in {len(failed)} of {n} calls.{HINT}"
            )
            raise MechanismError(raised) from failed[0]
        if failed:
            raise failed[0]
        return outputs


def each(function: Callable[[Any, np.random.Generator], Any], **options: Any) -> Mechanism:
    """Return a ``function(data, rng)``, which returns one output per call, as a `Mechanism`.

    >>> each(lambda value, rng: value + int(rng.integers(2)))(10, 3, np.random.default_rng(0))
    [11, 11, 11]
    """
    return Mechanism(Each(function), **options)


def mechanism(function: Callable[..., Any], **options: Any) -> Mechanism:
    """Return a callable as a `Mechanism`, in the form in which an audit calls it.

    A callable with the parameters (data, n, rng) must return ``n`` outputs; one with (data, rng) returns one output.

    Parameters with a default do not count. A callable without a signature is assumed to take (data, n, rng).

    Args:
        function: the callable.
        options: ``failures``, ``nan`` and ``seeded``, as for `Mechanism`.

    Raises:
        MechanismError: the callable takes another number of arguments.

    >>> mechanism(lambda value, rng: value + rng.laplace()).function.__class__.__name__
    'Each'
    """
    count = _required(function)
    if count not in (2, 3):
        name = getattr(function, "__name__", type(function).__name__)
        opendp = " For an OpenDP measurement m use dpproof.measurement_mechanism(m)." if count == 1 else ""
        raise MechanismError(
            f"mechanism ({name}) requires {count} argument{'s' * (count != 1)}. It must accept (data, n, rng) or "
            f"(data, rng). Give all other arguments a default.{opendp}"
        )
    return Mechanism(function if count == 3 else Each(function), **options)


def as_mechanism(given: Auditable) -> Mechanism:
    """Return a mechanism, a callable, or an object with a method ``sample(data, n, rng)`` as a `Mechanism`."""
    if isinstance(given, Mechanism):
        return given
    if hasattr(given, "sample"):
        return Mechanism(given.sample)
    if not callable(given):
        raise MechanismError(
            f"mechanism ({given!r:.80}) must be a function, or an object with a method `sample`"
        )
    return mechanism(given)


def as_mechanism_with(given: Auditable, options: Mapping[str, Any]) -> Mechanism:
    """Return a callable as a `Mechanism` with the given options (``failures``, ``nan``, ``seeded``).

    Raises:
        MechanismError: the callable is no mechanism.
        ValueError: an option has an unknown value, or options are given for a `Mechanism`.
    """
    if not options:
        return as_mechanism(given)
    if isinstance(given, Mechanism):
        raise ValueError(
            f"{next(iter(options))} must be left out for a Mechanism. Give it to Mechanism(...) instead."
        )
    return mechanism(given.sample if hasattr(given, "sample") else given, **options)


def _required(function: Callable[..., object]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return 3
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return 3
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters)


def measurement_mechanism(measurement: Callable[[object], ArrayLike]) -> Mechanism:
    """Return an OpenDP measurement as a `Mechanism`; its noise comes from OpenDP's own source, without a seed.

    >>> import opendp.prelude as dp
    >>> dp.enable_features("contrib")
    >>> numbers = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    >>> noisy = measurement_mechanism(dp.m.make_laplace(*numbers, scale=1.0))
    >>> len(noisy(0.0, 3, np.random.default_rng(0))), noisy.seeded
    (3, False)
    """

    def draw(data: object, n: int, _rng: np.random.Generator) -> Any:
        outputs = [measurement(data) for _ in range(n)]
        return np.asarray(outputs) if np.ndim(outputs[0]) == 0 else of_objects(outputs)

    return Mechanism(draw, seeded=False)
