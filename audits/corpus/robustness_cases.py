"""Test cases that break the rules for mechanisms; an audit must raise an error or give a documented verdict."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpproof.accountant.guarantees.notions import PureDP
from dpproof.audits.corpus.case import NUMBERS, Case
from dpproof.audits.engine.sampling.callables import Auditable, MechanismError
from dpproof.audits.recording.evidence import Finding

PLACE = 6


def _constant(value: float, n: int, rng: np.random.Generator) -> Any:
    return np.zeros(n)


def _fixed_seed(value: float, n: int, rng: np.random.Generator) -> Any:
    return value + np.random.default_rng(0).laplace(0, 1, n)


def _ignores_the_generator(value: float, n: int, rng: np.random.Generator) -> Any:
    return value + np.random.default_rng().laplace(0, 1, n)


def _one_draw_a_call(value: float, n: int, rng: np.random.Generator) -> Any:
    return value + np.full(n, rng.laplace())


def _nan_at_times(value: float, n: int, rng: np.random.Generator) -> Any:
    drawn = value + rng.laplace(0, 1, n)
    drawn[rng.random(n) < 0.05] = np.nan
    return drawn


def _fails_at_times(value: float, rng: np.random.Generator) -> float:
    if rng.random() < 0.05:
        raise RuntimeError("no answer")
    return value + float(rng.laplace())


def _varying_length(value: float, rng: np.random.Generator) -> list[float]:
    return [value + float(x) for x in rng.laplace(0, 1, rng.integers(1, 4))]


def _abstains(value: float, rng: np.random.Generator) -> float | None:
    return None if rng.random() < 0.3 else value + float(rng.laplace())


def _case(
    name: str, sampler: Auditable, expected: Finding | type[Exception], reason: str, epsilon: float = 1
) -> Case:
    return Case(
        name=name,
        mechanism=sampler,
        pair=NUMBERS,
        claim=PureDP(epsilon),
        expected=expected,
        truth=None,
        reason=reason,
        budget=20_000,
    )


CASES: tuple[Case, ...] = (
    _case("constant", _constant, Finding.INCONCLUSIVE, "reveals nothing; nothing can be planted in it"),
    _case("the same noise in every call", _fixed_seed, MechanismError, "rows differ, calls do not"),
    _case("draws from elsewhere", _ignores_the_generator, MechanismError, "could not be replayed"),
    _case("one draw for a whole call", _one_draw_a_call, MechanismError, "rows of a call are dependent"),
    _case("NaN at times", _nan_at_times, MechanismError, "NaN is no output unless declared one"),
    _case("fails at times", _fails_at_times, MechanismError, "a failure is no output unless declared one"),
    _case("one to three outputs", _varying_length, Finding.VIOLATION, "three releases for the price of one"),
    _case("abstains at times", _abstains, Finding.FLOATING_POINT, "on its claim, but for its bits"),
)  # fmt: skip
