"""Auditable mechanisms in one form: vectorised and scalar callables, own mechanisms, OpenDP's measurements.

They are sampled on a pair. Samples are seeded by block, do not depend on the number of workers, and are
checked. In a stream a fair coin picks the input of each sample. The samples of one label are drawn together and
then put where the coins say, so that the place of a sample in a block says nothing about its label. This
matters because a score is a sum in floating point, whose last bit may depend on the place of a row in a matrix.
Outputs that are their own scores stay in the order in which they were drawn, which halves the time.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.audits.data.encoding import Raised
from dpproof.audits.data.outputs import Block, as_block, has_nan, is_numeric, joined, nan_count, of_objects
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.scores.layout import Layout
from dpproof.audits.time_budget import check_time
from dpproof.mechanisms.primitives import Samples

BLOCKS, PROBES, POWER, SEARCH, PAIRS, FRESH = range(6)
"""The streams of a seed: samples, checks of the mechanism, the reference pair, a search, several pairs, and what
shows a violation."""
AGAIN = 100
"""A mechanism that raised is called so many times more, to say how often it does."""


def generator(seed: int, *place: int) -> np.random.Generator:
    """The generator at a place of the seed's tree, equal to the one that `SeedSequence.spawn` gives there."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=place))


def draw(
    sampler: Auditable, pair: Neighbours, size: int, seed: int, block: int, layout: Layout | None = None
) -> tuple[Block, NDArray[np.int64]]:
    """Draw ``size`` labelled samples: outputs ``(size, ...)`` and labels ``(size,)``, fair and independent.

    In an `ordered` layout those with label 0 come first; how many there are is up to as many coins.

    Raises:
        MechanismError: the mechanism raises, or returns NaN or the wrong number of outputs.
    """
    rng = generator(seed, BLOCKS, block)
    coins = np.unpackbits(np.frombuffer(rng.bytes((size + 7) // 8), np.uint8), count=size)
    ones = int(np.count_nonzero(coins))
    drawn = [outputs(sampler, pair, b, n, rng) for b, n in enumerate((size - ones, ones)) if n]
    if layout is not None and layout.ordered:
        return layout.settled(joined(drawn)), np.repeat(np.arange(2, dtype=np.int8), (size - ones, ones))
    places = [at for at in (np.flatnonzero(coins == label) for label in (0, 1)) if at.size]
    placed = _placed(drawn, places, size)
    return placed if layout is None else layout.settled(placed), coins.astype(np.int64)


def _placed(drawn: list[Block], places: list[NDArray[np.intp]], size: int) -> Block:
    """Put the rows of each part at its places, in an array of numbers if that holds them all."""
    together = joined(drawn)
    placed = np.empty_like(together, shape=(size, *together.shape[1:]))
    placed[np.concatenate(places)] = together
    return placed


def outputs(sampler: Auditable, pair: Neighbours, label: int, n: int, rng: np.random.Generator) -> Block:
    """Call the mechanism once on an input of the pair and check what it returns.

    Raises:
        MechanismError: as in `draw`, naming the input.
    """
    check_time()
    made, data = as_mechanism(sampler), (pair.first, pair.second)[label]
    where = f"on the {('first', 'second')[label]} input"
    try:
        returned = made(data, n, rng)
    except MechanismError as failure:
        raise MechanismError(f"mechanism: {failure}, {where}") from failure
    except (Exception, SystemExit) as failure:
        raised = f"raised {type(failure).__name__} ({failure})"
        raise MechanismError(f"mechanism: {raised} {where}{_how_often(made, data, n, rng)}") from failure
    try:
        return _checked(as_block(returned), n, made.nan == "token")
    except (TypeError, ValueError, RecursionError) as wrong:
        raise MechanismError(f"mechanism: {wrong}, {where}") from wrong


def _checked(block: Block, n: int, nan: bool) -> Block:
    if len(block) != n:
        raise ValueError(f"the outputs' shape {block.shape} must begin with {n}, one per sample")
    if is_numeric(block) and not has_nan(block):
        return block
    found = nan_count(block)
    if found and not nan:
        raise ValueError(f'{found} of {n} outputs are NaN, or hold one (nan="token" makes NaN an output)')
    return block


def _how_often(made: Mechanism, data: object, n: int, rng: np.random.Generator) -> str:
    """Text that says how often single calls raise."""
    failed = 0
    for _ in range(AGAIN):
        check_time()
        try:
            made(data, 1, rng)
        except (Exception, SystemExit):
            failed += 1
    return f" when asked for {n} samples, and in {failed} of {AGAIN} further calls for one{HINT}"


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
    """A mechanism in the form in which the audit calls it, and what counts as its output.

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


def as_mechanism_with(given: Auditable, options: Mapping[str, Any]) -> Mechanism:
    """A callable as a mechanism, with the options of a `Mechanism`.

    Raises:
        MechanismError: it is none.
        ValueError: an option has no such value, or what has its own is told another.
    """
    if not options:
        return as_mechanism(given)
    if isinstance(given, Mechanism):
        raise ValueError(f"{next(iter(options))} must be left out for a Mechanism, which says so itself")
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
    """A measurement as a `Mechanism`; its noise comes from OpenDP's own secure source, without a seed.

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
