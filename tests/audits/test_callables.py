"""Whatever is audited: a sound answer, a violation that is one, or an error that says what is wrong."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from dpproof.accountant.guarantees.notions import ApproxDP, PureDP
from dpproof.audits import front
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.betting.curves import CurvePoint
from dpproof.audits.engine.betting.trial import VERDICT, run_trial
from dpproof.audits.engine.checks.probing import check_randomness
from dpproof.audits.engine.power.measured import unmeasured
from dpproof.audits.engine.sampling.alone import TOGETHER, timed
from dpproof.audits.engine.sampling.blocks import draw_blocks
from dpproof.audits.engine.sampling.callables import Mechanism, MechanismError, as_mechanism, each, mechanism
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.recording.replaying import replay
from dpproof.audits.targets.call import audit
from dpproof.audits.training.canaries import Canaries
from tests.rows import rows, tiered

BITS = Neighbours(0.0, 1.0, "differ by at most 1", "0 or 1", lambda _a, _b: None)
TOLD = Neighbours(0.0, 1.0, "differ by at most 1", "0 or 1")
"""The same inputs without a function of a test, so that a witness can store them."""
CLAIM = PureDP(1.0)
CHANCE = 1 / (1 + math.exp(-1.0))
"""Of the truth in a randomised response that is exactly 1-DP."""


def respond(value, rng):
    return int(value if rng.random() < CHANCE else 1 - value)


def careless(value, rng):
    return int(value if rng.random() < 0.95 else 1 - value)


FORMS = {
    "number": lambda bit: bit,
    "text": lambda bit: ("no", "yes")[bit],
    "abort": lambda bit: (None, 1.5)[bit],
    "ragged": lambda bit: [7.0] * (1 + bit),
    "nested": lambda bit: {"answer": (bit, [None])},
    "tuple of both": lambda bit: ("a", float(bit)),
    "bytes": lambda bit: bytes([bit]),
    "set": lambda bit: {bit},
    "infinite": lambda bit: (-math.inf, 0.0)[bit],
    "infinite in an array": lambda bit: [math.inf, float(bit)],
    "array": lambda bit: np.array([[bit, 1], [2, 3]]),
}


def formed(response, form):
    return lambda value, rng: FORMS[form](response(value, rng))


def audited(function, budget=1500, seed=0, claim=CLAIM, **options):
    return audit("claim", claim, function, BITS, seed=seed, budget=budget, **options)


@pytest.mark.parametrize("form", FORMS)
def test_an_output_of_any_kind_is_audited(form):
    assert audited(formed(respond, form), power=False).verdict is not Finding.VIOLATION
    assert audited(formed(careless, form)).verdict is Finding.VIOLATION


@pytest.mark.slow
@pytest.mark.parametrize("form", tiered(["text", "ragged", "abort"], fast=1))
def test_level_on_randomised_responses_that_are_exact_in_any_form(form):
    """80 runs of 400 samples at level 0.05: at most 11 alarms, the 99.9% quantile; 0.25 is seen 99 in 100."""
    alarms, runs, alpha = 0, 80, 0.05
    for seed in range(runs):

        def drawn(value, n, rng):
            told = rng.random(n) < CHANCE
            return [FORMS[form](int(bit)) for bit in np.where(told, value, 1 - value)]

        if seed == 0:
            layout = check_randomness(drawn, BITS, 0)
        blocks = draw_blocks(drawn, BITS, seed, 400, None, layout)
        trial = run_trial((CurvePoint(1.0, 0.0),), blocks, layout.scores(), alpha / VERDICT)
        alarms += trial.refuted
    assert binom.sf(11, runs, alpha) < 1e-3
    assert binom.cdf(11, runs, 0.25) < 0.011
    assert alarms <= 11


def test_scalar_and_vectorised_are_told_apart_by_their_arguments():
    assert as_mechanism(respond).function.function is respond

    def vector(value, n, rng, *, scale=1.0):
        return value + scale * rng.laplace(size=n)

    assert mechanism(vector).function is vector
    assert mechanism(functools.partial(vector, scale=2.0)).function.func is vector
    assert mechanism(lambda value, rng, sharpness=3: value).function(0, 2, None) == [0, 0]
    with pytest.raises(MechanismError, match="requires 1 argument"):
        mechanism(lambda value: value)
    with pytest.raises(MechanismError, match="must be a function"):
        as_mechanism(3)

    class Ours:
        def sample(self, data, n, rng):
            return data + rng.laplace(size=n)

    assert audited(Ours()).verdict is not Finding.VIOLATION
    with pytest.raises(ValueError, match=r"nan \('drop'\) must be one of: error, token"):
        Mechanism(vector, nan="drop")


# What does not look like sampling at all


def constant(_value, n, _rng):
    return np.ones(n)


def reveals(value, n, _rng):
    return np.full(n, value)


@pytest.mark.parametrize("function", [constant, lambda v, rng: "same", lambda v, rng: [None, 3]])
def test_a_constant_is_not_refuted_and_nothing_can_be_planted_in_it(function):
    found = audited(function)
    assert found.verdict is Finding.INCONCLUSIVE
    assert "no event that a violation could be planted in" in found.weakness


@pytest.mark.parametrize(
    "function", [reveals, lambda v, rng: ["n", "y"][int(v)], lambda v, rng: [1] * int(1 + v)]
)
def test_a_deterministic_function_that_differs_on_the_pair_is_a_violation(function):
    found = audited(function, sharpen=True)
    assert found.verdict is Finding.VIOLATION
    assert found.epsilon_lower > 3
    assert audited(function, 20_000, claim=ApproxDP(5.0, 0.5), delta=0.5).verdict is Finding.VIOLATION


def test_a_seed_of_its_own_looks_deterministic_where_calls_give_one_output():
    noisy = each(lambda value, rng: value + np.random.default_rng(3).laplace())
    assert audited(noisy).verdict is Finding.VIOLATION


def rows_of_its_own_seed(value, n, _rng):
    return value + np.random.default_rng(3).laplace(size=n)


def sorted_rows(value, n, rng):
    return np.sort(value + rng.laplace(size=n))


def walking(value, n, rng):
    return np.cumsum(rng.laplace(size=n))


class Counting:
    """Every call gives the number of calls so far, and noise."""

    def __init__(self, period):
        self.calls, self.period = 0, period

    def __call__(self, _value, n, rng):
        self.calls += 1
        return rng.normal(size=n) + 3 * (self.calls % self.period)


class LastInput:
    """Gives away the input of the call before."""

    def __init__(self):
        self.last = 0.0

    def __call__(self, value, n, rng):
        drawn, self.last = rng.normal(size=n) + 5 * self.last, value
        return drawn


class Remembering:
    """Draws once for each input."""

    def __init__(self):
        self.answers = {}

    def __call__(self, value, rng):
        if value not in self.answers:
            self.answers[value] = value + rng.laplace(scale=10)
        return self.answers[value]


class Tiring:
    """Behaves for so many calls, then the label shows through the order of calls."""

    def __init__(self, calls=60):
        self.left, self.odd = calls, 0

    def __call__(self, _value, n, rng):
        self.left -= 1
        self.odd = 1 - self.odd
        return rng.normal(size=n) + (3 * self.odd if self.left < 0 else 0)


BAD = {
    "sorted": (lambda: sorted_rows, "depend on each other"),
    "walk": (lambda: walking, "depend on each other"),
    "counts by 2": (lambda: Counting(2), "different outputs for equal generators|depend on each other"),
    "counts by 3": (lambda: Counting(3), "different outputs for equal generators|depend on each other"),
    "counts by 7": (lambda: Counting(7), "different outputs for equal generators|depend on each other"),
    "last input": (LastInput, "different outputs for equal generators"),
    "remembers": (Remembering, "must not keep a state between calls"),
    "tires": (Tiring, "must not keep a state between calls"),
    "global generator": (lambda: lambda v, rng: v + np.random.laplace(), "It uses other randomness"),  # noqa: NPY002
    "raises": (
        lambda: lambda v, rng: 1 / 0,
        r"first input: it raised ZeroDivisionError .* in 64 of 64 calls",
    ),
    "raises on the second": (lambda: lambda v, rng: 1 / (1 - v), r"second input: .* in 64 of 64 calls"),
    "raises at times": (lambda: lambda v, rng: 1 / rng.integers(3), r"first input: .* in \d\d of 64 calls"),
    "NaN": (lambda: lambda v, rng: math.nan, "first input: 64 of 64 outputs are or contain NaN"),
    "NaN at times": (
        lambda: lambda v, n, rng: np.where(rng.random(n) < 0.5, np.nan, 0),
        "outputs are or contain NaN",
    ),
    "NaN inside": (lambda: lambda v, rng: ["a", math.nan], "64 of 64 outputs are or contain NaN"),
    "NaN for one input": (lambda: lambda v, rng: rng.random() if v else math.nan, "first input: .* NaN"),
    "one too many": (lambda: lambda v, n, rng: rng.normal(size=n + 1), "must begin with 64"),
    "nothing": (lambda: lambda v, n, rng: None, "Is a return missing"),
    "one number": (lambda: lambda v, n, rng: rng.normal(), "must be an array or a list"),
    "no text": (lambda: lambda v, rng: object(), "cannot be read"),
    "endless": (lambda: lambda v, rng: itertools.count(), "cannot be read"),
    "exits": (lambda: lambda v, n, rng: exit(0), "raised SystemExit"),
}


@rows("name", BAD)
def test_what_cannot_be_audited_is_an_error_whatever_the_seed(name):
    make, why = BAD[name]
    for seed in range(5):
        with pytest.raises(MechanismError, match=why):
            audited(make(), seed=seed, budget=4000)


def containing_itself(value, rng):
    inside = []
    inside.append(inside)
    return inside


def test_an_output_that_contains_itself_is_an_error():
    with pytest.raises(MechanismError, match="recursion"):
        audited(containing_itself)


# Failures and NaN as outputs


def aborting(chance):
    def run(value, rng):
        if rng.random() < chance(value):
            raise RuntimeError("unlucky")
        return rng.normal()

    return run


def test_exceptions_can_be_outputs():
    sound, leaky = aborting(lambda v: 0.2), aborting(lambda v: 0.1 + 0.7 * v)
    with pytest.raises(MechanismError, match=r'in \d+ of 64 calls\. With failures="token"'):
        audited(sound)
    assert audited(each(sound, failures="token")).verdict is not Finding.VIOLATION
    assert audited(each(leaky, failures="token")).verdict is Finding.VIOLATION

    def vector(value, n, rng):
        return [leaky(value, rng) for _ in range(n)]

    assert audited(mechanism(vector, failures="token")).verdict is Finding.VIOLATION


def test_nan_can_be_an_output():
    def missing(value, n, rng):
        return np.where(rng.random(n) < 0.1 + 0.7 * value, np.nan, rng.normal(size=n))

    assert audited(mechanism(missing, nan="token")).verdict is Finding.VIOLATION
    equal = mechanism(
        lambda v, n, rng: np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)), nan="token"
    )
    assert audited(equal).verdict is not Finding.VIOLATION


@pytest.mark.slow
def test_an_abort_that_the_probe_did_not_see_is_an_output_too():
    def rarely(value, n, rng):
        aborts = rng.random(n) < 0.01 * value
        return [None if abort else drawn for abort, drawn in zip(aborts, rng.normal(size=n), strict=True)]

    rng = np.random.default_rng(0)
    assert None in rarely(1.0, 2000, rng)
    found = audited(rarely, budget=60_000, seed=4, claim=ApproxDP(1.0, 1e-4), delta=1e-4)
    assert found.verdict is Finding.VIOLATION


def test_randomness_of_its_own_is_allowed_where_it_is_declared():
    source = np.random.default_rng(0)
    declared = mechanism(lambda v, n, rng: v + source.laplace(size=n), seeded=False)
    found = audited(declared)
    assert found.verdict is not Finding.VIOLATION
    assert found.replay["seeded"] is False


@pytest.mark.parametrize("seeded", [True, False])
def test_rows_of_a_seed_of_its_own_are_audited_one_by_one(seeded):
    """Every call on an input gives the same row, so the rows tell the inputs apart."""
    given = mechanism(rows_of_its_own_seed, seeded=seeded)
    found = audit("claim", CLAIM, given, TOLD, seed=0, budget=1500)
    assert found.verdict is Finding.VIOLATION
    assert TOGETHER in found.not_covered
    assert replay(found).verdict is Finding.VIOLATION


def test_a_seed_of_its_own_that_reveals_nothing_is_no_violation():
    found = audited(lambda value, n, rng: rows_of_its_own_seed(0, n, rng))
    assert found.verdict is Finding.INCONCLUSIVE


def count_up_to(value, rng):
    """Return a noisy bit after some work, which depends on the input."""
    sum(range(int(20_000 * value)))
    return respond(value, rng)


def test_a_running_time_that_depends_on_the_input_is_found_only_if_it_is_audited():
    """Alpha 1e-6, so that it is no false alarm; at most 1,500 calls."""
    asked = {"pair": TOLD, "guarantee": CLAIM, "budget": 1500, "alpha": 1e-6, "power": False}
    assert not front.audit(count_up_to, **asked).verdict.violated
    found = front.audit(count_up_to, **asked, timing=True)
    assert found.verdict is Finding.VIOLATION
    assert "'seconds'" in str(found)
    assert replay(found).verdict is Finding.VIOLATION


def test_a_running_time_that_does_not_depend_on_the_input_is_no_violation():
    """Alpha 1e-6; all calls do the same work. In `respond` only one branch subtracts, and the time may show which."""

    def steady(value, rng):
        return int((value, 1 - value)[rng.random() >= CHANCE])

    asked = {"pair": BITS, "guarantee": CLAIM, "budget": 1500, "alpha": 1e-6, "timing": True}
    assert not front.audit(steady, **asked).verdict.violated


def test_each_timed_call_gets_new_objects_so_that_their_place_in_memory_is_not_timed():
    given, seen = [[0.5], [0.25]], []
    timed(mechanism(lambda data, rng: len(seen.append(data) or seen)))(given, 2, np.random.default_rng(0))
    assert seen == [given, given]
    assert not {id(one[0]) for one in seen} & {id(given[0]), id(given[1])}
    assert seen[0] is not seen[1]


def test_a_timed_function_without_a_return_is_refused():
    with pytest.raises(MechanismError, match="every output is None"):
        front.audit(lambda data, rng: None, pair=BITS, guarantee=CLAIM, timing=True)


@pytest.mark.parametrize("wrong", [None, 0.5, [0, 1]])
def test_a_timed_function_must_return_as_many_outputs_as_it_is_asked_for(wrong):
    with pytest.raises(MechanismError, match="must return n outputs"):
        front.audit(lambda data, n, rng: wrong, pair=BITS, guarantee=CLAIM, timing=True)


def test_timing_of_canaries_is_refused():
    canaries = Canaries(2, lambda coins: coins, lambda output: output, "replace", "two records")
    with pytest.raises(ValueError, match="timing must be left out for Canaries"):
        front.audit(respond, pair=canaries, guarantee=CLAIM, timing=True)


def test_timing_of_varied_parameters_is_refused():
    with pytest.raises(ValueError, match="timing must be left out"):
        front.audit(count_up_to, data=[0, 1], adjacency="replace", epsilon=1, vary={"x": [1]}, timing=True)


# Whatever a mechanism that reveals nothing does besides, it is not called a violation


class Odd:
    """Outputs whose law does not depend on the data, with a state and with faults of every kind."""

    def __init__(self, law, state, fault, often, period):
        self.law, self.state, self.fault, self.often, self.period = law, state, fault, often, period
        self.calls, self.last, self.sum = 0, 0.0, 0.0

    def __call__(self, value, rng):
        self.calls += 1
        drawn = {
            "normal": lambda: rng.normal(),
            "coin": lambda: int(rng.integers(2)),
            "constant": lambda: 1.0,
            "fixed seed": lambda: np.random.default_rng(self.period).normal(),
        }[self.law]()
        drawn += {
            "none": lambda: 0,
            "parity": lambda: 3 * (self.calls % 2),
            "period": lambda: 3 * (self.calls % self.period == 0),
            "last input": lambda: 3 * self.last,
            "walk": lambda: self.sum,
            "late": lambda: 3 * (self.calls % 2) * (self.calls > 60 * self.period),
        }[self.state]()
        self.last, self.sum = value, self.sum + drawn
        if self.fault != "none" and rng.random() < self.often:
            return {
                "raises": lambda: 1 / 0,
                "NaN": lambda: math.nan,
                "None": lambda: None,
                "word": lambda: "abort",
                "ragged": lambda: [drawn] * (1 + self.calls % 3),
                "object": lambda: object(),
            }[self.fault]()
        return drawn


@pytest.mark.slow
@settings(max_examples=120)
@given(
    law=st.sampled_from(["normal", "coin", "constant", "fixed seed"]),
    state=st.sampled_from(["none", "none", "parity", "period", "last input", "walk", "late"]),
    fault=st.sampled_from(["none", "none", "raises", "NaN", "None", "word", "ragged", "object"]),
    often=st.sampled_from([0.001, 0.05, 0.5]),
    period=st.integers(2, 40),
    token=st.booleans(),
    rows=st.booleans(),
)
def test_what_reveals_nothing_is_never_a_violation(law, state, fault, often, period, token, rows):
    odd = Odd(law, state, fault, often, period)
    tokens = {"failures": "token", "nan": "token"} if token else {}
    made = (
        mechanism(lambda v, n, rng: [odd(v, rng) for _ in range(n)], **tokens)
        if rows
        else each(odd, **tokens)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "dpproof.audits.engine.runner.measured", lambda *_given, **_more: unmeasured("not asked here")
        )
        try:
            found = audit("odd", PureDP(0.2), made, BITS, seed=period, alpha=1e-6, budget=3000)
        except MechanismError:
            return
    assert found.verdict is not Finding.VIOLATION
    assert state not in ("last input", "walk")


@pytest.mark.parametrize("function", [lambda data, rng: None, lambda data, n, rng: None])
def test_a_forgotten_return_is_an_error(function):
    with pytest.raises(MechanismError, match="return missing"):
        audit(
            "x", PureDP(1.0), function, Neighbours([0], [1], "at most 1 apart", "0 or 1"), seed=0, budget=500
        )
