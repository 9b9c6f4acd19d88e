"""Generators that the mechanism itself gives a seed: their numbers are not random, so they do not count as noise."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dpproof.audits.paired.trace import Trace, here

DEFAULT_RNG, SEQUENCE = np.random.default_rng, np.random.SeedSequence
CLASSES = ("RandomState", "SeedSequence", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
NO_SEED = (np.random.Generator, np.random.BitGenerator, np.random.RandomState)
"""What numpy takes in the place of a seed, though it is a generator."""


class _Alike(type):
    """The class of stand-ins for a class of generators: their instances are those of the original."""

    def __instancecheck__(cls, one: Any) -> bool:
        return isinstance(one, cls.__mro__[1]) if "watch" in vars(cls) else type.__instancecheck__(cls, one)


class _Watched(_Alike):
    """The class of stand-ins that make objects of the original class and note their seeds."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        watch = vars(cls).get("watch")
        if watch is None:  # a class of the user, derived from the stand-in
            return type.__call__(cls, *args, **options)
        seed, legacy = _seed(args, options), vars(cls).get("legacy")
        if seed is None and legacy is not None:
            return legacy.__func__()
        made = cls.__mro__[1](*args, **options)
        watch.__func__(made, seed)
        return made


def _seed(args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    given = [*args[:1], *(options.get(name) for name in ("seed", "entropy", "a", "x"))]
    return next((one for one in given if one is not None), None)


def seedings(
    trace: Trace, follow: Callable[[], Any], legacy: Callable[[], Any]
) -> Iterator[tuple[Any, str, Any]]:
    """Generate the object, the name and the replacement of each place that takes a seed.

    ``follow`` makes the generator under record or replay, for `numpy.random.default_rng` without a seed. ``legacy``
    makes one for `numpy.random.RandomState` without a seed.
    """

    def watch(made: Any, seed: Any) -> None:
        if isinstance(made, SEQUENCE) and seed is None:
            trace.entropies.add(made.entropy)
        elif seed is not None and not isinstance(seed, NO_SEED) and not _fresh(trace, seed):
            trace.seeded.append((made, seed, here()))

    def default_rng(seed: Any = None) -> Any:
        if seed is None or _fresh(trace, seed):
            return follow()
        made = DEFAULT_RNG(seed)
        watch(made, seed)
        return made

    yield np.random, "default_rng", default_rng
    for name in CLASSES:
        members: dict[str, Any] = {"watch": staticmethod(watch)}
        if name == "RandomState":
            members["legacy"] = staticmethod(legacy)
        yield np.random, name, _Watched(name, (getattr(np.random, name),), members)
    yield np.random, "seed", _seeding(np.random, np.random.seed, watch)
    yield random, "seed", _seeding(random, random.seed, watch)
    yield random.Random, "seed", _own_seed(random.Random.seed, watch)
    if "torch" in sys.modules:
        yield from _torch(sys.modules["torch"], watch)


def _fresh(trace: Trace, seed: Any) -> bool:
    """Return whether a seed sequence (or its parent) got its entropy from the operating system in this run."""
    return isinstance(seed, SEQUENCE) and isinstance(seed.entropy, int) and seed.entropy in trace.entropies


def _seeding(module: Any, original: Callable[..., Any], watch: Callable[[Any, Any], None]) -> Any:
    def seed(*args: Any, **options: Any) -> Any:
        watch(module, _seed(args, options))
        return original(*args, **options)

    return seed


def _own_seed(original: Callable[..., Any], watch: Callable[[Any, Any], None]) -> Any:
    def seed(self: Any, *args: Any, **options: Any) -> Any:
        watch(self, _seed(args, options))
        return original(self, *args, **options)

    return seed


def _torch(torch: Any, watch: Callable[[Any, Any], None]) -> Iterator[tuple[Any, str, Any]]:
    yield torch, "manual_seed", _seeding(torch, torch.manual_seed, watch)

    methods = {"watch": None, "manual_seed": _own_seed(torch.Generator.manual_seed, watch)}
    kind: Any = type("_AlikeTorch", (_Alike, type(torch.Generator)), {})
    yield torch, "Generator", kind("Generator", (torch.Generator,), methods)


def unless_seeded(trace: Trace, module: Any, name: str, followed: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a module that draws under replay, or its original once the run gave the module a seed."""
    original = getattr(module, name)
    return lambda *args, **options: (original if trace.is_seeded(module) else followed)(*args, **options)
