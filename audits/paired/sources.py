"""The primitives of numpy, `random` and `secrets`, replaced while a mechanism is recorded or replayed."""

from __future__ import annotations

import random
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from dpproof.audits.paired.noisy import drawn, resolved
from dpproof.audits.paired.seeds import seedings, unless_seeded
from dpproof.audits.paired.trace import Draw, Family, Trace, here

NUMPY_OTHER = (
    "binomial", "poisson", "integers", "randint", "permutation", "shuffle", "geometric", "exponential", "gamma",
    "beta", "logistic", "standard_exponential", "standard_gamma", "standard_cauchy", "multivariate_normal",
    "multinomial", "bytes", "dirichlet", "chisquare", "standard_t", "permuted", "negative_binomial", "lognormal",
)  # fmt: skip
"""Primitives of numpy whose draws are repeated, but whose law is not followed."""
RANDOM_OTHER = (
    "choice", "choices", "sample", "shuffle", "randint", "randrange", "getrandbits", "expovariate", "betavariate",
    "gammavariate", "triangular", "randbytes", "paretovariate", "vonmisesvariate", "weibullvariate", "lognormvariate",
)  # fmt: skip
UNTOUCHED = ("numpy", "random", "secrets", "dpproof", "scipy", "tempfile")
"""Packages whose own imports of primitives stay as they are."""
ORIGINAL, BITS, LEGACY = np.random.Generator, np.random.PCG64, np.random.RandomState


class Source:
    """The primitives of numpy under record or replay."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Return Laplace noise."""
        return self._noise(Family.LAPLACE, "laplace", loc, scale, size)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Return Gaussian noise."""
        return self._noise(Family.GAUSSIAN, "standard_normal", loc, scale, size)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Return Gumbel noise."""
        return self._noise(Family.GUMBEL, "gumbel", loc, scale, size)

    def standard_normal(self, size: Any = None, *_: Any, **__: Any) -> Any:
        """Return Gaussian noise of scale 1."""
        return self._noise(Family.GAUSSIAN, "standard_normal", None, 1.0, size)

    def random(self, size: Any = None, *_: Any, **__: Any) -> Any:
        """Return uniform numbers between 0 and 1."""
        return self._noise(Family.UNIFORM, "random", None, 1.0, size)

    def randn(self, *shape: int) -> Any:
        """Return Gaussian noise of scale 1."""
        return self.standard_normal(shape or None)

    def rand(self, *shape: int) -> Any:
        """Return uniform numbers between 0 and 1."""
        return self.random(shape or None)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Return uniform numbers."""
        if (low, high) == (0.0, 1.0):
            return self.random(size)
        return self.other("uniform", low, high, size)

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, *rest: Any, **more: Any
    ) -> Any:
        """Return a random choice; its probabilities may depend on the data."""
        if p is None or size is not None:
            return self.other("choice", a, size, replace, p, *rest, **more)
        chances = np.asarray(resolved(p), float)
        picked = int(self.trace.source.choice(chances.size, p=chances))
        if self.trace.inside:
            return np.arange(a)[picked] if np.ndim(a) == 0 else np.asarray(a)[picked]
        made = Draw(Family.CHOICE, "choice", (f"{chances.size} outcomes",), here(), scores=chances)
        old = self.trace.draw(made)
        made.picked = picked if old is None else old.picked
        return np.arange(a)[made.picked] if np.ndim(a) == 0 else np.asarray(a)[made.picked]

    def other(self, name: str, *args: Any, **options: Any) -> Any:
        """Return a draw of another law. Its parameters must not depend on the data."""
        draw = getattr(self.trace.source, {"randint": "integers"}.get(name, name))
        return self.kept(name, draw, *args, **options)

    def kept(self, name: str, draw: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Return a draw of a primitive, or in a replay the recorded one."""
        args, options = resolved(args), resolved(options)
        if self.trace.inside:
            return draw(*args, **options)
        fixed = () if name == "shuffle" else (*args, *options.values())
        made = Draw(Family.OTHER, name, fixed, here())
        old = self.trace.draw(made)
        new = draw(*args, **options)
        made.picked = new if old is None else old.picked
        return made.picked

    def _noise(self, family: Family, name: str, loc: Any, scale: Any, size: Any) -> Any:
        loc, scale = resolved(loc), resolved(scale)
        if size is None:
            size = np.broadcast_shapes(np.shape(0 if loc is None else loc), np.shape(scale))
        draw = getattr(self.trace.source, name)
        noise = draw(size=size) if name in ("standard_normal", "random") else draw(0.0, 1.0, size)
        if self.trace.inside:
            return noise * scale + (0 if loc is None else loc)
        return drawn(self.trace, family, name, noise, scale, loc)


NAMED = ("laplace", "normal", "gumbel", "standard_normal", "random", "uniform", "choice")


def generator_of(trace: Trace) -> np.random.Generator:
    """Return a generator of numpy whose primitives are under record or replay."""
    source = Source(trace)
    methods: dict[str, Any] = {name: _method(getattr(source, name)) for name in NAMED}
    methods |= {name: _named(source, name) for name in NUMPY_OTHER if hasattr(ORIGINAL, name)}
    made: np.random.Generator = type("Generator", (ORIGINAL,), methods)(BITS(20_260_218))
    return made


def legacy_of(trace: Trace) -> np.random.RandomState:
    """Return a legacy generator of numpy whose primitives are under record or replay."""
    source = Source(trace)
    plain = (*NAMED, "randn", "rand")
    methods: dict[str, Any] = {name: _method(getattr(source, name)) for name in plain}
    methods |= {name: _method(source.random) for name in ("random_sample",)}
    methods |= {name: _named(source, name) for name in NUMPY_OTHER if hasattr(LEGACY, name)}
    made: np.random.RandomState = type("RandomState", (LEGACY,), methods)(20_260_218)
    return made


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *args, **options: function(*args, **options)


def _named(source: Source, name: str) -> Callable[..., Any]:
    return lambda self, *args, **options: source.other(name, *args, **options)


def replacements(trace: Trace) -> Iterator[tuple[Any, str, Any]]:
    """Generate the object, the name and the replacement of each primitive of the standard places."""
    source = Source(trace)
    yield from seedings(trace, lambda: generator_of(trace), lambda: legacy_of(trace))
    for place, name, new in (*_numpy(source), *_standard(source)):
        kept = place is secrets or name == "SystemRandom"
        yield place, name, new if kept else unless_seeded(trace, place, name, new)


def _numpy(source: Source) -> Iterator[tuple[Any, str, Any]]:
    for name in (*NAMED, "randn", "rand"):
        yield np.random, name, getattr(source, name)
    for name in ("random_sample", "ranf", "sample"):
        yield np.random, name, source.random
    for name in NUMPY_OTHER:
        if hasattr(np.random, name):
            yield np.random, name, _free(source, name)


def _free(source: Source, name: str) -> Callable[..., Any]:
    return lambda *args, **options: source.other(name, *args, **options)


def _standard(source: Source) -> Iterator[tuple[Any, str, Any]]:
    kept = random.Random(20_260_219)
    yield random, "random", lambda: source.random()
    for name in ("gauss", "normalvariate"):
        yield random, name, lambda mu=0.0, sigma=1.0: source.normal(mu, sigma)
    yield random, "uniform", lambda a, b: source.uniform(a, b)
    for name in RANDOM_OTHER:
        yield random, name, _repeated(source, name, getattr(kept, name))
    others: dict[str, Callable[..., Any]] = {
        "randbelow": kept.randrange,
        "randbits": kept.getrandbits,
        "choice": kept.choice,
        "token_bytes": lambda n=32: kept.randbytes(n),
    }
    for name, draw in others.items():
        yield secrets, name, _repeated(source, name, draw)
    system = type("SystemRandom", (random.Random,), _system(source, kept))
    yield random, "SystemRandom", system
    yield secrets, "SystemRandom", system


def _system(source: Source, kept: random.Random) -> dict[str, Any]:
    methods: dict[str, Any] = {
        name: _method(_repeated(source, name, getattr(kept, name))) for name in RANDOM_OTHER
    }
    methods |= {"random": lambda self: source.random(), "seed": lambda self, *seed: None}
    for name in ("gauss", "normalvariate"):
        methods[name] = lambda self, mu=0.0, sigma=1.0: source.normal(mu, sigma)
    methods["uniform"] = lambda self, a, b: source.uniform(a, b)
    return methods


def _repeated(source: Source, name: str, draw: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **options: source.kept(name, draw, *args, **options)


@contextmanager
def replaced(
    found: Sequence[tuple[Any, str, Any]], known: Mapping[int, Sequence[tuple[Any, str]]]
) -> Iterator[None]:
    """Within this context, primitives are replaced, also where modules imported them by name (``known``)."""
    undo: list[tuple[Any, str, Any]] = []
    try:
        for place, name, new in found:
            old = getattr(place, name)
            for holder, alias in {
                (id(h), a): (h, a) for h, a in ((place, name), *known.get(id(old), ()))
            }.values():
                undo.append((holder, alias, old))
                setattr(holder, alias, new)
        yield
    finally:
        for holder, alias, old in reversed(undo):
            setattr(holder, alias, old)


def holders(found: Sequence[tuple[Any, str, Any]]) -> dict[int, list[tuple[Any, str]]]:
    """Return for each primitive the modules and the names under which modules of users hold it."""
    wanted = {id(getattr(place, name)) for place, name, _ in found}
    held: dict[int, list[tuple[Any, str]]] = {}
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in UNTOUCHED or not isinstance(module, ModuleType):
            continue
        for alias, value in list(vars(module).items()):
            if id(value) in wanted:
                held.setdefault(id(value), []).append((module, alias))
    return held
