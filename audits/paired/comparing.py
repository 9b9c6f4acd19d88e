"""Replay a mechanism on a neighbour with the same noise, and report what differs besides the noise.

This is a comparison of two runs, not a proof. It covers one pair of inputs and one sequence of noise.
"""

from __future__ import annotations

import copy
import inspect
import math
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import CodeType, FrameType
from typing import Any

import numpy as np

from dpproof.accountant.guarantees.profile import Profile
from dpproof.audits.paired.charging import Charge, charges, composed
from dpproof.audits.paired.finding import Compared, Seen
from dpproof.audits.paired.libraries import library_replacements
from dpproof.audits.paired.noisy import resolved
from dpproof.audits.paired.sources import generator_of, holders, replaced, replacements
from dpproof.audits.paired.trace import (
    COINS,
    PACKAGE,
    RUNNER,
    DivergedError,
    Family,
    Trace,
    first_difference,
    named,
    same,
)

Known = Mapping[int, Sequence[tuple[Any, str]]]
"""For each primitive, the modules and the names under which modules of users hold it."""
MEASURED = ("sensitivity", "declared sensitivity")
"""Observations that random answers in the same run do not make doubtful."""
UNCOVERED = ("output without noise", "control flow", "exception")
"""Observations that noise from a given seed explains."""
CLOSE = 1 + 1e-9
"""Relative tolerance of sensitivities: they come from rounded sums."""


@dataclass
class _Run:
    """One run of the mechanism: its trace, its output, the exception that it raised, and its last line."""

    trace: Trace
    output: Any = None
    raised: str = ""
    diverged: DivergedError | None = None
    place: str = ""


def compare_runs(
    mechanism: Callable[..., Any],
    first: object,
    second: object,
    *,
    epsilon: float,
    delta: float = 0.0,
    package: str = "",
) -> Compared:
    """Return what differs between two runs of a mechanism on neighbouring data sets with the same noise.

    The mechanism is ``f(data)``, ``f(data, rng)`` or ``f(data, n, rng)`` with ``n = 1``. It may draw its noise from
    numpy (its generators and its functions), `random` or `secrets`, or use mechanisms of OpenDP, diffprivlib or
    Opacus. The first run is recorded. In the second run, each number that was released with noise has the recorded
    value. So both runs continue with the same released numbers, and must do the same.

    The comparison measures how much each protected number differs. The accountant composes the losses of this pair.

    Args:
        mechanism: the function. It must not keep a state between calls.
        first, second: two neighbouring data sets. dpproof copies them for each run. It does not check the relation:
            `privacy.compare` in pytest does.
        epsilon, delta: the claim.
        package: the folder of an installed package. The answer then names lines of this package. By default, it names
            lines outside installed packages.

    Raises:
        ValueError: the claim is not a privacy claim.

    >>> import numpy as np
    >>> def mean(ages, rng):
    ...     return (np.clip(ages, 0, 100).sum() + rng.laplace(0, 100)) / len(ages)
    >>> compare_runs(mean, [50, 20, 90], [50, 20], epsilon=1).seen[0].text
    'The scale of the Laplace noise depends on the data: 33.3333 and 50.'
    """
    told = (epsilon, delta)
    if any(isinstance(one, str) for one in told) or not 0 <= epsilon < math.inf or not 0 <= delta < 1:
        rule = "must have a finite epsilon of at least 0 and a delta in [0, 1)"
        raise ValueError(f"claim (epsilon {epsilon!r}, delta {delta!r}) {rule}")
    token = PACKAGE.set(package)
    try:
        return _compared(mechanism, first, second, epsilon, delta)
    finally:
        PACKAGE.reset(token)


def _compared(
    mechanism: Callable[..., Any], first: object, second: object, epsilon: float, delta: float
) -> Compared:
    _import_all(mechanism, first)
    known = holders(_primitives(Trace()))
    recorded = _run(mechanism, first, None, known)
    again = _run(mechanism, first, recorded.trace, known)
    other = _run(mechanism, second, recorded.trace, known)
    paid = charges(recorded.trace, other.trace)
    loss = composed(paid)
    exceeds = loss is not None and loss.epsilon(delta).lower > epsilon * CLOSE
    if exceeds and other.diverged is None and not recorded.raised and not other.raised:
        _mark_visible(partial(_run, mechanism, first, known=known), recorded, paid)
    doubts = [*_doubts(recorded, again), *_drawn_seeds(recorded.trace)]
    seen = [*_structure(recorded, other, delta), *_sensitivities(paid, delta)]
    seen += _excess(paid, loss, epsilon, delta, _numbers(recorded.output))
    seen += _seeds(recorded, again, other, seen)
    if recorded.raised:  # then the second run is the doubtful one only if it raises, too
        doubts = [one for one in doubts if one.kind != "exception" or other.raised]
    if doubts or any(draw.family in COINS for draw in recorded.trace.draws):
        sound = () if doubts else MEASURED
        seen = [
            one if one.kind in sound or _early(one, recorded, again, other) else one.doubtful()
            for one in seen
        ]
    seen = sorted([*seen, *doubts, *_unpriced(paid)], key=lambda one: (not one.sure, one.kind != "seed"))
    return Compared(tuple(seen), loss, epsilon, delta, _counted(recorded.trace))


def _early(one: Seen, recorded: _Run, again: _Run, other: _Run) -> bool:
    """Return whether an exception comes before the first draw, so that no random number can explain it."""
    raising = recorded if recorded.raised else other
    return one.kind == "exception" and not raising.trace.draws and again.raised == recorded.raised


def _unpriced(paid: Sequence[Charge]) -> Iterator[Seen]:
    """Generate the mechanisms of libraries whose loss on this pair is not known."""
    for one in paid:
        if one.unknown:
            text = (
                f"The loss on these inputs is not known, because {one.unknown}, which dpproof does not convert to an"
                " epsilon of this pair; check the whole function with `dpproof audit`, which needs its outputs only."
            )
            yield Seen("library", text, one.place, sure=False)


def _seeds(recorded: _Run, again: _Run, other: _Run, seen: Sequence[Seen]) -> Iterator[Seen]:
    """Generate each line that gives a generator a seed; where the outputs differ, it is a difference."""
    sure = any(one.sure and one.kind in UNCOVERED for one in seen)
    fixed = [place for _, seed, place in recorded.trace.seeded if not recorded.trace.drew(seed)]
    for place in dict.fromkeys(fixed):
        first, repeated, second = (
            [seed for _, seed, at in run.trace.seeded if at == place] for run in (recorded, again, other)
        )
        given = f"{first[0]!r}"[:60] if same(first, second) else "computed from the data"
        if not same(first, repeated):
            given = "another number in each run"
        text = (
            f"The seed of this generator is {given}. Noise of a seed that is written in the code or computed from the"
            " data is not random to somebody who knows the code, so dpproof does not count it as noise. Draw from a"
            " generator without a given seed, or from one that the caller passes."
        )
        yield Seen("seed", text, place, sure)


def _drawn_seeds(trace: Trace) -> Iterator[Seen]:
    """Generate a doubt for each line that gives a generator a drawn seed, as a forest does for each of its trees."""
    for place in dict.fromkeys(place for _, seed, place in trace.seeded if trace.drew(seed)):
        text = (
            "The seed of this generator was drawn in the run. dpproof does not follow the noise of such a generator, so"
            " it does not know what this noise covers. Check the whole function with `dpproof audit`, which needs its"
            " outputs only."
        )
        yield Seen("seed", text, place, sure=False)


def _primitives(trace: Trace) -> list[tuple[Any, str, Any]]:
    return [*replacements(trace), *library_replacements(trace)]


def _import_all(mechanism: Callable[..., Any], data: object) -> None:
    """Run the mechanism once, so that no module that it imports keeps a replaced primitive."""
    with suppress(Exception):
        _called(mechanism, copy.deepcopy(data), np.random.default_rng)


def _counted(trace: Trace) -> Mapping[str, int]:
    names = [draw.name for draw in trace.draws]
    return {name: names.count(name) for name in dict.fromkeys(names)}


def _run(
    mechanism: Callable[..., Any],
    data: object,
    before: Trace | None,
    known: Known,
) -> _Run:
    """Run the mechanism once under record, or under replay of ``before``."""
    trace = Trace(before)
    found = _Run(trace)
    given = copy.deepcopy(data)
    watch = _Last(getattr(inspect.unwrap(mechanism), "__code__", None))
    earlier = sys.getprofile()
    with replaced(_primitives(trace), known):
        sys.setprofile(watch)
        try:
            found.output = resolved(_called(mechanism, given, partial(generator_of, trace)))
        except DivergedError as error:
            found.diverged = error
        except Exception as error:  # an exception is an output, too
            found.raised = f"{type(error).__name__}: {error}"
            found.place = _raised_at(error)
        finally:
            sys.setprofile(earlier)
    found.place = found.place or watch.place
    return found


def _raised_at(error: Exception) -> str:
    """Return where an exception was raised, and the line of the mechanism that led there."""
    steps = [(step.filename, step.lineno or 0) for step in traceback.extract_tb(error.__traceback__)]
    return named(reversed([step for step in steps if step[0] != RUNNER]))


class _Last:
    """A profiler that keeps the line from which the mechanism returned."""

    def __init__(self, code: CodeType | None) -> None:
        self.code = code
        self.place = "" if code is None else f"{code.co_filename}:{code.co_firstlineno}"

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        if event == "return" and frame.f_code is self.code:
            self.place = f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _called(mechanism: Callable[..., Any], data: object, generator: Callable[[], np.random.Generator]) -> Any:
    needed = [
        one
        for one in inspect.signature(mechanism).parameters.values()
        if one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    more: dict[int, Callable[[], tuple[Any, ...]]] = {
        2: lambda: (generator(),),
        3: lambda: (1, generator()),
    }
    return mechanism(data, *more.get(len(needed), tuple)())


def _doubts(recorded: _Run, again: _Run) -> Iterator[Seen]:
    """Generate the reasons why the comparison is incomplete."""
    if recorded.raised:
        yield Seen(
            "exception", f"The run on the first data set raises {recorded.raised}", recorded.place, sure=False
        )
    if again.diverged or again.raised != recorded.raised or not same(recorded.output, again.output):
        draws = "only a part" if recorded.trace.draws else "none"
        text = (
            f"Two runs on the same data differ: dpproof observes {draws} of the randomness of this function, or the"
            " function keeps a state. Noise that a library makes in compiled code, such as that of PyDP, cannot be"
            " repeated: use `dpproof audit` for it, which needs outputs only. Noise that your own code draws from"
            " numpy can be repeated if it comes from the generator that dpproof passes as rng."
        )
        yield Seen("same data", text, recorded.place, sure=False)
    for draw in recorded.trace.draws:
        if draw.escaped:
            text = f"The comparison does not follow this use of {draw.family.value}."
            yield Seen("use of noise", text, draw.escaped, sure=False)
        elif not (draw.released or draw.values) and draw.family in (
            Family.LAPLACE, Family.GAUSSIAN, Family.GUMBEL, Family.UNIFORM
        ):  # fmt: skip
            yield Seen("unused noise", f"{draw.family.value} was drawn and not used.", draw.place, sure=False)
        elif draw.family is Family.OTHER:
            text = f"The comparison repeats draws of {draw.name}, but does not follow their law."
            yield Seen("other draw", text, draw.place, sure=False)


def _structure(recorded: _Run, other: _Run, delta: float) -> Iterator[Seen]:
    """Generate the differences of the control flow and of the outputs."""
    if other.diverged is not None:
        # With delta, a mechanism may leave out rare parts of its output, such as cells below a threshold.
        sure = not other.diverged.doubtful and (delta == 0 or other.diverged.always)
        yield Seen("control flow", str(other.diverged), other.diverged.place, sure)
    elif bool(recorded.raised) != bool(other.raised):
        which = "first" if recorded.raised else "second"
        text = f"The run on the {which} data set raises {recorded.raised or other.raised}, the other one does not."
        yield Seen("exception", text, (recorded if recorded.raised else other).place)
    elif len(other.trace.draws) < len(recorded.trace.draws):
        left = recorded.trace.draws[len(other.trace.draws)]
        text = f"The second run ends where the first run draws {left.family.value} ({left.name})."
        yield Seen("control flow", text, left.place, sure=delta == 0)
    else:
        where = first_difference(recorded.output, other.output)
        if where is not None:
            text = f"The result depends on the data besides the noise: {where} differs at equal released numbers."
            yield Seen("output without noise", text, other.place)


def _sensitivities(paid: list[Charge], delta: float) -> Iterator[Seen]:
    """Generate what is wrong with single draws: lost sensitivity, and noise of different scales."""
    for one in paid:
        if one.problem:
            yield Seen(one.kind, one.problem, one.place, sure=one.always or (delta == 0 and not one.doubtful))


def _excess(
    paid: list[Charge], loss: Profile | None, epsilon: float, delta: float, numbers: int
) -> Iterator[Seen]:
    """Generate the finding that the measured changes need a larger epsilon than the claim."""
    if loss is None or any(one.problem for one in paid):
        return
    found = loss.epsilon(delta)
    if found.lower <= epsilon * CLOSE:
        return
    most = max(paid, key=lambda one: one.weight)
    sure = all(one.exact and one.visible for one in paid if one.weight)
    sure = sure and sum(max(len(one.ids), 1) for one in paid if one.weight) <= numbers
    parts = ", ".join(one.text for one in paid if one.weight)
    need = f"epsilon {found.upper:.6g} at delta {delta:g}, above the claim {epsilon:g}"
    text = f"The measured changes need {need}: {parts}."
    yield Seen("sensitivity", text, most.place, sure=sure)


def _numbers(output: Any) -> int:
    """Return how many numbers an output consists of."""
    if isinstance(output, dict):
        return sum(map(_numbers, output.values()))
    if isinstance(output, list | tuple):
        return sum(map(_numbers, output))
    return int(np.size(output))


def _mark_visible(run: Callable[[Trace], _Run], recorded: _Run, paid: list[Charge]) -> None:
    """Find out for each release with a loss whether the output moves with it, one to one at five points."""
    for one in [one for one in paid if one.weight and one.ids]:
        old = recorded.trace.draws[one.at]
        place = one.ids[0]
        factor = abs(old.values[place][1])
        outs = [recorded.output]
        for step in (-1.0, -0.01, 0.01, 1.0):
            nudged = copy.copy(recorded.trace)
            nudged.draws = list(recorded.trace.draws)
            moved = copy.copy(old)
            moved.released = {**old.released, place: old.released[place] + step * factor}
            nudged.draws[one.at] = moved
            found = run(nudged)
            outs.append(("failed", step) if found.diverged or found.raised else found.output)
        pairs = [(a, b) for at, a in enumerate(outs) for b in outs[at + 1 :]]
        one.visible = all(not same(a, b) for a, b in pairs)
