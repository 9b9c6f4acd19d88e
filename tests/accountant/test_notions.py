"""The notions of privacy against closed forms, and which notion implies which.

One suite of laws for all notions of privacy.

The independent route is a pair of distributions that satisfies each guarantee and whose profile mpmath
knows: randomised response for pure and approximate privacy, two Gaussians for the others.

Implications between notions: parameters against exact fractions, profiles one below the other.
"""

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproof.accountant.guarantees.conversion import CANONNE_KAMATH_STEINKE, MIRONOV
from dpproof.accountant.guarantees.implied import gaussian_to_zcdp, pure_to_zcdp, zcdp_to_renyi
from dpproof.accountant.guarantees.notions import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    PureDP,
    RenyiDP,
)
from dpproof.accountant.guarantees.orders import Orders
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of
from dpproof.accountant.theorems.composition import (
    compose_approx,
    compose_gaussian,
    compose_renyi,
    compose_zcdp,
)
from tests.rows import rows, tiered

DIGITS = mpmath.MPContext()
DIGITS.dps = 60
EPSILONS = (0.0, 1e-9, 0.4, 1.0, 3.0, 40.0)
DELTAS = (1e-300, 1e-9, 1e-3, 0.2, 0.999)
WEAKER = (Fraction(1, 2), Fraction(5, 8), Fraction(3))
"""Parameters from the strongest guarantee to the weakest."""


def gaussian(mu: Any, epsilon: float) -> Any:
    ratio, half = DIGITS.mpf(epsilon) / mu, mu / 2
    return DIGITS.ncdf(half - ratio) - DIGITS.exp(DIGITS.mpf(epsilon)) * DIGITS.ncdf(-half - ratio)


def response(own: Any, failure: Any, epsilon: float) -> Any:
    p = 1 / (1 + DIGITS.exp(-own))
    return failure + (1 - failure) * max(p - DIGITS.exp(DIGITS.mpf(epsilon)) * (1 - p), 0)


@dataclass(frozen=True)
class Notion:
    name: str
    make: Callable[[Any], Profile]
    true: Callable[[Any, float], Any]
    """(parameter, epsilon) -> the delta of a pair that satisfies the guarantee."""
    compose: Callable[..., Any]
    nothing: Profile
    pure: bool = False
    floor: float = 0.0
    """The delta that no epsilon undercuts."""


def curve(rho: Fraction) -> Callable[[flint.arb], flint.arb]:
    return lambda order: arb_of(rho) * order


def gauss_of_rho(rho: Any, epsilon: float) -> Any:
    return gaussian(DIGITS.sqrt(2 * rho), epsilon)


LISTED = Orders(listed=tuple(Fraction(k, 4) for k in (5, 8, 16, 40, 200)))
BELOW = Orders(below=Fraction(12))
NOTHING = RenyiDP(lambda order: 0 * order)
ZERO = ApproxDP(0, 0)
NOTIONS = (
    Notion("pure", PureDP, lambda p, e: response(p, 0, e), compose_approx, ZERO, pure=True),
    Notion(
        "approximate",
        lambda p: ApproxDP(p, "1e-4"),
        lambda p, e: response(p, DIGITS.mpf("1e-4"), e),
        compose_approx,
        ZERO,
        floor=1e-4,
    ),
    Notion("gaussian", GaussianDP, gaussian, compose_gaussian, GaussianDP(0)),
    Notion("zcdp", ZCDP, gauss_of_rho, compose_zcdp, ZCDP(0)),
    Notion(
        "zcdp-canonne",
        lambda p: ZCDP(p, CANONNE_KAMATH_STEINKE),
        gauss_of_rho,
        compose_zcdp,
        ZCDP(0, CANONNE_KAMATH_STEINKE),
    ),
    Notion("renyi-listed", lambda p: RenyiDP(curve(p), LISTED), gauss_of_rho, compose_renyi, NOTHING),
    Notion("renyi-interval", lambda p: RenyiDP(curve(p), BELOW), gauss_of_rho, compose_renyi, NOTHING),
    Notion(
        "renyi-mironov",
        lambda p: RenyiDP(curve(p), BELOW, MIRONOV),
        gauss_of_rho,
        compose_renyi,
        RenyiDP(lambda order: 0 * order, conversion=MIRONOV),
    ),
)
COSTLY = ("zcdp", "renyi-interval")
"""Half a second for each epsilon, most of it for the lower end."""
every_notion = pytest.mark.parametrize("notion", NOTIONS, ids=lambda notion: notion.name)


@functools.cache
def delta(notion: Notion, parameter: Fraction, epsilon: float) -> Bound:
    return notion.make(parameter).delta(epsilon)


@functools.cache
def epsilon(notion: Notion, parameter: Fraction, delta: float) -> Bound:
    return notion.make(parameter).epsilon(delta)


@pytest.mark.parametrize(
    "notion",
    [pytest.param(one, marks=[pytest.mark.slow] * (one.name in COSTLY), id=one.name) for one in NOTIONS],
)
def test_delta_is_a_probability_and_never_below_the_truth(notion):
    for parameter in WEAKER:
        p = DIGITS.mpf(parameter.numerator) / parameter.denominator
        for point in EPSILONS:
            found = delta(notion, parameter, point)
            assert 0 <= found.lower <= found.upper <= 1
            assert notion.true(p, point) <= found.upper


@every_notion
def test_epsilon_is_never_below_the_truth(notion):
    p = DIGITS.mpf(WEAKER[0].numerator) / WEAKER[0].denominator
    for target in DELTAS[1:3] if notion.name in COSTLY else DELTAS:
        found = epsilon(notion, WEAKER[0], target)
        assert found.lower >= 0
        if found.upper < math.inf:
            assert notion.true(p, found.upper) <= target


@every_notion
def test_delta_decreases_in_epsilon_and_epsilon_in_delta(notion):
    for ask, points in ((delta, EPSILONS), (epsilon, DELTAS[1:3] if notion.name in COSTLY else DELTAS)):
        found = [ask(notion, WEAKER[0], point) for point in points]
        for before, after in itertools.pairwise(found):
            assert before.upper >= after.upper
            assert before.upper >= after.lower


@every_notion
def test_a_weaker_guarantee_is_never_answered_better(notion):
    for ask, points in ((delta, EPSILONS), (epsilon, (1e-3,))):
        for point in points:
            found = [ask(notion, parameter, point) for parameter in WEAKER]
            for stronger, weaker in itertools.pairwise(found):
                assert weaker.upper >= stronger.upper * (1 - 1e-9)  # each is the least up to its search
                assert weaker.upper >= stronger.lower


@every_notion
@pytest.mark.parametrize("target", [1e-9, 1e-3, 0.2])
def test_delta_at_epsilon_comes_back(notion, target):
    found = epsilon(notion, WEAKER[0], target)
    if found.upper == math.inf:
        assert target < notion.floor
        return
    assert notion.make(WEAKER[0]).delta(found.upper).upper <= target * (1 + 1e-12)
    if found.upper > 0 and found.upper != float(WEAKER[0]):
        assert notion.make(WEAKER[0]).delta(found.upper * (1 - 1e-6)).upper > target * (1 - 1e-12)


@every_notion
@pytest.mark.parametrize("e", tiered([1.0, 0.4]))
def test_epsilon_at_delta_is_no_larger(notion, e):
    reached = delta(notion, WEAKER[0], e)
    if reached.upper == 1:
        assert notion.name == "renyi-mironov"  # says nothing at so small an epsilon
        return
    assert notion.make(WEAKER[0]).epsilon(reached.upper).upper <= e * (1 + 1e-8)  # to the search's accuracy


@every_notion
def test_composing_with_nothing_changes_nothing(notion):
    alone = notion.make(WEAKER[0])
    for together in (notion.compose(alone), notion.compose(alone, notion.nothing)):
        assert together.delta(0.4) == alone.delta(0.4)
        if notion.name in ("pure", "approximate", "gaussian", "zcdp-canonne"):
            assert together.epsilon(0.2) == alone.epsilon(0.2)


@every_notion
def test_nothing_is_perfectly_private(notion):
    for target in (0, *DELTAS):
        # A closed form is minimised over the orders a search can reach, up to about e^60.
        assert notion.nothing.epsilon(target).upper <= (1e-12 if notion.name == "renyi-mironov" else 0)
    # Mironov's delta at epsilon 0 is 1 at every order, whatever the curve.
    assert notion.nothing.delta(0).upper == (1 if notion.name == "renyi-mironov" else 0)


@every_notion
def test_delta_0_is_finite_only_for_a_pure_guarantee(notion):
    found = notion.make(WEAKER[0]).epsilon(0)
    assert found.upper == (float(WEAKER[0]) if notion.pure else math.inf)
    assert found.lower == found.upper


def test_a_bounded_curve_claims_no_infinite_lower_end_at_delta_0():
    found = RenyiDP(lambda order: 0 * order + 1).epsilon(0)
    assert found.lower <= 1 <= found.upper


@pytest.mark.slow
@pytest.mark.parametrize(
    "notion", [n for n in NOTIONS if not n.name.startswith("renyi")], ids=lambda n: n.name
)
def test_a_parameter_known_between_two_ends_gives_the_ends_of_both(notion):
    low, high = WEAKER[0], WEAKER[1]
    both = notion.make(Bound(float(low), float(high)))
    for point in (0.0, 0.4):
        found = both.delta(point)
        assert (found.lower, found.upper) == (
            delta(notion, low, point).lower,
            delta(notion, high, point).upper,
        )
    if notion.name in COSTLY:
        return
    found = both.epsilon(1e-3)
    assert (found.lower, found.upper) == (epsilon(notion, low, 1e-3).lower, epsilon(notion, high, 1e-3).upper)
    assert notion.make(Bound(0.5, 0.5)).delta(0.4) == notion.make("0.5").delta(0.4)


@every_notion
@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1e-300, "x", None, True])
def test_a_wrong_epsilon_is_refused(notion, wrong):
    for guarantee in (notion.make(WEAKER[0]), notion.nothing):
        with pytest.raises(ValueError, match=r"^epsilon \(.*\) must be"):
            guarantee.delta(wrong)


@every_notion
@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1e-300, 1, 1.5, "x", None, False])
def test_a_wrong_delta_is_refused(notion, wrong):
    for guarantee in (notion.make(WEAKER[0]), notion.nothing):
        with pytest.raises(ValueError, match=r"^delta \(.*\) must be"):
            guarantee.epsilon(wrong)


@rows("make", [PureDP, lambda p: ApproxDP(1, p), GaussianDP, ZCDP])
@rows("wrong", [math.nan, math.inf, -1, "x", None, True, Bound(-1.0, 1.0), Bound(0.0, math.inf)])
def test_a_wrong_parameter_is_refused(make, wrong):
    with pytest.raises(ValueError, match=r"^(epsilon|delta|mu|rho) \(.*\) must be"):
        make(wrong)


def test_approximate_privacy_refuses_a_delta_above_1():
    with pytest.raises(ValueError, match=r"delta \(1\.5\) must be in \[0, 1\]"):
        ApproxDP(1, 1.5)
    assert ApproxDP(1, 1).delta(40).lower == 1


@pytest.mark.parametrize(
    ("own", "target"), [("1e-400", "1e-500"), ("1e-330", "1e-400"), ("1e400", "1e-5"), (1e-300, 1e-310)]
)
def test_extreme_epsilons_end_the_search(own, target):
    found = ApproxDP(own, 0).epsilon(target)
    assert 0 <= found.lower <= found.upper
    assert (
        found.upper == math.inf or Fraction(found.lower) <= Fraction(own if isinstance(own, float) else 0) + 1
    )


def test_a_tie_with_its_own_delta_gives_its_own_epsilon():
    assert ApproxDP("0.7", "1e-6").epsilon("1e-6").contains(0.7)
    assert ApproxDP(0.7, 1e-6).epsilon(1e-6) == Bound(0.7, 0.7)
    assert ApproxDP(0.7, "1e-6").epsilon(math.nextafter(1e-6, 0)).lower == math.inf


def test_every_notion_is_a_guarantee():
    assert all(isinstance(notion.make(WEAKER[0]), Profile) for notion in NOTIONS)
    assert not isinstance(object(), Profile)


@given(st.fractions(0, 1000))
def test_half_the_square(parameter):
    for rho in (gaussian_to_zcdp(GaussianDP(parameter)).rho, pure_to_zcdp(PureDP(parameter)).rho):
        assert Fraction(rho.lower) <= parameter**2 / 2 <= Fraction(rho.upper)
        assert rho.relative_width < 1e-15


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 2.0])
def test_what_is_implied_is_weaker(epsilon):
    assert GaussianDP(0.8).delta(epsilon).lower <= gaussian_to_zcdp(GaussianDP(0.8)).delta(epsilon).upper
    assert PureDP(0.8).delta(epsilon).lower <= pure_to_zcdp(PureDP(0.8)).delta(epsilon).upper


def test_only_pure_privacy_implies_zcdp():
    with pytest.raises(ValueError, match=r"delta \('1e-300'\) must be 0"):
        pure_to_zcdp(ApproxDP(1, "1e-300"))


def test_zcdp_is_its_renyi_curve():
    assert zcdp_to_renyi(ZCDP("0.3")).delta(1) == ZCDP("0.3").delta(1)
