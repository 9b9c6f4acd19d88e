"""Record the noise calls of a mechanism on one input, replay them on a neighbour, and say where the two runs differ.

The second run gets the outputs of the first. If both runs make the same calls with the same settings, and each value
moves by at most its sensitivity, then the calls add up to a privacy loss that can be computed. Otherwise the first call
that differs shows where the fault is. The comparison needs no samples. It explains a violation and is not one itself:
one replayed run is not a probability.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

METHOD = "randomise"
UTILITY = "utility"
SAME = "The calls of the noise agree on both inputs, so the difference comes from a value that gets no noise."


@dataclass(frozen=True)
class NoiseCall:
    """One call of a noise primitive.

    Attributes:
        primitive: the name of its class.
        place: the file and the line from which the package called it.
        settings: its public attributes, such as epsilon and sensitivity.
        value: the private value; for a selection, its utilities.
        output: what it returned.
    """

    primitive: str
    place: str
    settings: Mapping[str, Any]
    value: Any
    output: Any


@contextmanager
def recording(primitives: Sequence[type], replayed: Sequence[NoiseCall] = ()) -> Iterator[list[NoiseCall]]:
    """Record the calls of the method ``randomise`` in the ``with`` block; the outputs are those of ``replayed``."""
    calls: list[NoiseCall] = []
    inside: list[object] = []
    usual = {one: vars(one)[METHOD] for one in primitives if METHOD in vars(one)}

    def recorded(original: Callable[..., Any]) -> Callable[..., Any]:
        def randomise(self: Any, value: Any = None) -> Any:
            given = () if value is None else (value,)
            if inside:  # a primitive that calls its parent class is one primitive
                return original(self, *given)
            inside.append(self)
            own, self._rng = self._rng, np.random.RandomState(len(calls))
            try:
                output = original(self, *given)
            finally:
                inside.pop()
                self._rng = own
            place = len(calls)
            kept = replayed[place].output if place < len(replayed) else output
            calls.append(NoiseCall(type(self).__name__, _caller(), *_settings(self, value), kept))
            return kept

        return randomise

    try:
        for one, original in usual.items():
            setattr(one, METHOD, recorded(original))
        yield calls
    finally:
        for one, original in usual.items():
            setattr(one, METHOD, original)


def _settings(primitive: Any, value: Any) -> tuple[dict[str, Any], Any]:
    """Return the public attributes without the value, and the value."""
    public = {name: one for name, one in vars(primitive).items() if name[0] != "_" and name != "random_state"}
    return public, public.pop(UTILITY, value)


def _caller() -> str:
    """Return the file and the line of the nearest frame that is neither in this module nor in the primitives."""
    frame = sys._getframe(2)
    while frame.f_back is not None and f"{METHOD}" in frame.f_code.co_name:
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}, line {frame.f_lineno}"


def difference(
    sampler: Callable[[Any, int, np.random.Generator], Any],
    first: Any,
    second: Any,
    primitives: Sequence[type],
    epsilon: float,
    seed: int = 0,
) -> str:
    """Return a sentence on where two runs with the same noise differ.

    Args:
        sampler: the mechanism ``(data, n, rng)``.
        first, second: the neighbouring inputs.
        primitives: the classes whose method ``randomise`` draws noise.
        epsilon: the claim.
        seed: the seed of the randomness that is not drawn by the primitives; equal in both runs.
    """
    with recording(primitives) as one:
        sampler(first, 1, np.random.default_rng(seed))
    with recording(primitives, one) as other:
        sampler(second, 1, np.random.default_rng(seed))
    pairs = list(zip(one, other, strict=False))
    told = [_settings_differ(*pair) for pair in pairs]
    if len(one) != len(other) and not any(told):
        longer = max(one, other, key=len)[len(pairs)]
        made = f"The first input makes {len(one)} calls of the noise, and the second makes {len(other)}"
        return f"{made}. The first call that only one input makes is in {longer.place}."
    told += [_value_moves(*pair) for pair in pairs]
    for (a, _), found in zip([*pairs, *pairs], told, strict=False):
        if found:
            return f"{found} ({a.primitive} in {a.place})."
    losses = [_loss(a, b) for a, b in zip(one, other, strict=True)]
    total = sum(losses)
    if total > epsilon * (1 + 1e-9):
        places = sorted({a.place for a, loss in zip(one, losses, strict=True) if loss})
        return (
            f"The noise calls in {' and '.join(places)} add up to a loss of {total:g}, more than {epsilon:g}."
        )
    return SAME if not any(losses) else ""


def _settings_differ(a: NoiseCall, b: NoiseCall) -> str:
    """Return how the primitive or the settings of two calls differ; empty if they do not."""
    if a.primitive != b.primitive:
        return f"The first input calls {a.primitive}, and the second calls {b.primitive}"
    for name, one in a.settings.items():
        other = b.settings.get(name)
        if repr(one) != repr(other):
            return f"The setting {name} depends on the data: {one!r:.20} and {other!r:.20}"
    return ""


def _value_moves(a: NoiseCall, b: NoiseCall) -> str:
    """Return how the values of two calls move further than the settings allow; empty if they do not."""
    moved = _moved(a, b)
    if moved is None:
        return ""
    if a.settings.get("monotonic") and moved.min() < 0 < moved.max():
        return "The utilities are called monotonic, but one falls and another rises"
    most, allowed = float(np.abs(moved).max(initial=0)), a.settings.get("sensitivity")
    if allowed is not None and most > allowed * (1 + 1e-9):
        return f"The value moves by {most:g}, and its sensitivity is set to {allowed:g}"
    return ""


def _moved(a: NoiseCall, b: NoiseCall) -> Any:
    """Return the change of the value as an array; None if the values are no numbers of one shape."""
    try:
        one, other = np.asarray(a.value, float), np.asarray(b.value, float)
    except (TypeError, ValueError):
        return None
    return np.ravel(other - one) if one.shape == other.shape else None


def _loss(a: NoiseCall, b: NoiseCall) -> float:
    """Return the privacy loss of a call: its epsilon times the share of its sensitivity by which the value moved."""
    moved, allowed = _moved(a, b), a.settings.get("sensitivity")
    if moved is None or not moved.any():
        return 0.0
    share = 1.0 if not allowed else float(np.abs(moved).max()) / allowed
    return float(a.settings["epsilon"]) * share
