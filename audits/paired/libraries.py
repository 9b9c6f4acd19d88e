"""The mechanisms of OpenDP, diffprivlib and Opacus, replaced while a mechanism is recorded or replayed.

Only libraries that are already imported are touched. A mechanism of a library is one draw. Its own noise is not
followed. dpproof takes its law on trust, and compares its input and its parameters.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from dpproof.audits.paired.noisy import drawn, resolved
from dpproof.audits.paired.trace import Draw, Family, Trace, here

NORMS = {"Absolute": 1, "L1": 1, "L2": 2, "LInf": np.inf}
"""The metrics of OpenDP that are norms of a change."""


def declared(
    trace: Trace,
    made: Draw,
    value: Any,
    run: Callable[[], Any],
    put: Callable[[Any], Any] = lambda found: found,
) -> Any:
    """Return the answer of a library's mechanism: a new one, or in a replay the recorded one."""
    made.scores = resolved(value)
    old = trace.draw(made)
    if old is not None:
        made.picked = old.picked
        return put(old.picked)
    trace.inside = True
    try:
        made.picked = run()
    finally:
        trace.inside = False
    return made.picked


def library_replacements(trace: Trace) -> Iterator[tuple[Any, str, Any]]:
    """Generate the object, the name and the replacement of each mechanism of an imported library."""
    for name, found in (
        ("opendp.mod", _opendp),
        ("diffprivlib.mechanisms", _diffprivlib),
        ("opacus", _opacus),
    ):
        if name in sys.modules:
            yield from found(trace, sys.modules[name])


def _opendp(trace: Trace, module: Any) -> Iterator[tuple[Any, str, Any]]:
    original = module.Measurement.__call__

    def call(self: Any, arg: Any) -> Any:
        if trace.inside:
            return original(self, arg)
        made = Draw(
            Family.DECLARED, "OpenDP measurement", (str(self.input_metric), str(self.output_measure)), here()
        )
        scale = _scale(self, arg)
        if scale is not None:  # bare noise, which the caller adds to a number
            family, name = (
                (Family.LAPLACE, "laplace")
                if "MaxD" in made.fixed[1]
                else (Family.GAUSSIAN, "standard_normal")
            )
            return drawn(trace, family, "OpenDP noise", getattr(trace.source, name)(size=()), scale, None)
        metric, measure = made.fixed
        made.stated = f"{measure} for {metric}"
        made.order, made.one_way = NORMS.get(metric.split("Distance")[0], 2), "monotonic" in metric
        made.priced = lambda change: _mapped(self, change)
        return declared(trace, made, arg, lambda: original(self, arg))

    yield module.Measurement, "__call__", call
    yield module.Measurement, "invoke", call


def _scale(measurement: Any, arg: Any) -> float | None:
    """Return the scale of Laplace or Gaussian noise that is drawn with the input 0.0; None for any other call.

    OpenDP states a loss of 1/scale for Laplace noise, and of 1/(2 scale**2) for Gaussian noise. Both are recognised by
    the stated losses at the distances 1 and 2.
    """
    if type(arg) is not float or arg or not str(measurement.input_metric).startswith("AbsoluteDistance(f"):
        return None
    power = {"MaxDivergence": 1, "ZeroConcentratedDivergence": 2}.get(
        str(measurement.output_measure).split("(")[0]
    )
    with suppress(Exception):
        one, two = (float(measurement.map(distance)) for distance in (1.0, 2.0))
        if power is not None and math.isclose(two, 2**power * one, rel_tol=1e-6):
            return 1 / one if power == 1 else math.sqrt(0.5 / one)
    return None


def _mapped(measurement: Any, change: float) -> float | None:
    """Return the epsilon that OpenDP states for inputs at a measured distance; None if it states none."""
    norm = str(measurement.input_metric).split("Distance")[0]
    if str(measurement.output_measure) != "MaxDivergence" or norm not in NORMS or not math.isfinite(change):
        return None
    for distance in (change, math.ceil(change)):  # the distance of whole numbers is a whole number
        with suppress(Exception):
            return float(measurement.map(distance))
    return None


def _diffprivlib(trace: Trace, module: Any) -> Iterator[tuple[Any, str, Any]]:
    kinds = {one for one in vars(module).values() if isinstance(one, type) and "randomise" in vars(one)}
    for kind in sorted(kinds, key=lambda one: one.__name__):
        yield kind, "randomise", _randomise(trace, kind.__name__, vars(kind)["randomise"])


def _randomise(trace: Trace, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def randomise(self: Any, value: Any = None) -> Any:
        args = () if value is None else (value,)
        if trace.inside or trace.is_seeded(getattr(self, "_rng", None)):
            return original(self, *args)
        settings = {
            name: one for name, one in vars(self).items() if name[0] != "_" and name != "random_state"
        }
        about = settings.pop("utility", value)
        sensitivity = settings.get("sensitivity")
        made = Draw(
            Family.DECLARED,
            f"diffprivlib {name}",
            tuple(f"{name} {one!r}" for name, one in sorted(settings.items())),
            here(),
        )
        made.stated = "an epsilon with a delta"
        made.priced = lambda change: None if self.delta else float(self.epsilon)
        made.declared = None if sensitivity is None else float(sensitivity)
        if value is None:  # a choice by utilities, each of which moves by at most the sensitivity
            made.order, made.one_way = np.inf, bool(settings.get("monotonic"))
        return declared(trace, made, about, lambda: original(self, *args))

    return randomise


def _opacus(trace: Trace, module: Any) -> Iterator[tuple[Any, str, Any]]:
    kind = module.optimizers.DPOptimizer
    original = kind.add_noise

    def add_noise(self: Any) -> None:
        if trace.inside or trace.is_seeded(self.generator or sys.modules["torch"]):
            original(self)
            return
        fixed = (self.noise_multiplier, self.max_grad_norm, self.expected_batch_size, self.loss_reduction)
        made = Draw(Family.DECLARED, "Opacus noise", fixed, here(), declared=float(self.max_grad_norm))
        made.stated = "a noise multiplier"
        summed = np.concatenate([one.summed_grad.detach().numpy().ravel() for one in self.params])

        def run() -> list[Any]:
            original(self)
            return [one.grad.detach().clone() for one in self.params]

        def put(found: list[Any]) -> None:
            for one, grad in zip(self.params, found, strict=True):
                one.grad = grad.clone()

        declared(trace, made, summed, run, put)

    yield kind, "add_noise", add_noise
