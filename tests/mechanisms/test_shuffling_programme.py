"""The linear programme: against HiGHS, its four properties, and what privatizers release."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from dpproof.mechanisms.rl.sdp_pe.privatizer import made_consistent, nearest_consistent

NUMBERS = st.floats(-50, 50, allow_nan=False, width=32)


def by_highs(raw, total, slack):
    """The least t, by linear programming; None where nothing is feasible."""
    size = len(raw)
    cost = np.r_[np.zeros(size), 1.0]
    unit = np.eye(size)
    rows = np.r_[
        np.c_[unit, -np.ones(size)],
        np.c_[-unit, -np.ones(size)],
        [np.r_[np.ones(size), 0.0]],
        [np.r_[-np.ones(size), 0.0]],
    ]
    limits = np.r_[raw, -np.asarray(raw), total + slack, slack - total]
    found = linprog(cost, A_ub=rows, b_ub=limits, bounds=[(0, None)] * (size + 1), method="highs")
    return found.fun if found.status == 0 else None


@pytest.mark.slow
@given(st.lists(NUMBERS, min_size=1, max_size=6), NUMBERS, st.floats(0, 30, width=32))
@settings(max_examples=150, deadline=None)
def test_the_closed_form_is_a_minimiser(raw, total, slack):
    kept, t = nearest_consistent(np.array([raw]), np.array([total]), slack)
    assert (kept >= 0).all()
    assert abs(kept - raw).max() <= t[0] + 1e-9
    best = by_highs(raw, total, slack)
    if best is None:
        assert total + slack < 1e-6
        return
    assert abs(kept.sum() - total) <= slack + 1e-9
    assert t[0] == pytest.approx(best, abs=1e-6)


@given(
    st.lists(st.integers(0, 200), min_size=1, max_size=6),
    st.lists(st.floats(-1, 1), min_size=7, max_size=7),
    st.floats(0.5, 400),
)
@settings(max_examples=200, deadline=None)
def test_four_properties_wherever_raw_counts_are_near(true, errors, level):
    """Raw counts within E/4: transitions positive, sums equal, visits in [N, N + E], transitions within E."""
    truth = np.array(true, float)
    raw = truth + level / 4 * np.array(errors[: len(true)])
    visits, transitions = made_consistent(np.array(truth.sum() + level / 4 * errors[-1]), raw, level)
    room = 1e-9 * (1 + truth.sum() + level)
    assert (transitions > 0).all()
    assert visits == transitions.sum()
    assert truth.sum() - room <= visits <= truth.sum() + level + room
    assert abs(transitions - truth).max() <= level + room


def test_known_bad_raw_counts_are_neither():
    """Without the programme the same properties fail: signs and sums."""
    raw = np.array([3.0, -1.0])
    assert raw.min() < 0
    assert made_consistent(np.array(5.0), raw, 4.0)[1].min() > 0


def test_all_cells_at_once_are_each_alone():
    rng = np.random.default_rng(3)
    raw, totals = rng.normal(5, 20, (7, 6, 4, 2, 4)), rng.normal(20, 30, (7, 6, 4, 2))
    kept, t = nearest_consistent(raw, totals, 6.0)
    one, value = nearest_consistent(raw[2, 3, 1, 0], totals[2, 3, 1, 0], 6.0)
    np.testing.assert_array_equal(kept[2, 3, 1, 0], one)
    assert t[2, 3, 1, 0] == value


def test_refusals():
    with pytest.raises(ValueError, match="shape of visits"):
        nearest_consistent(np.zeros((2, 3)), np.zeros(3), 1.0)
    with pytest.raises(ValueError, match="slack"):
        nearest_consistent(np.zeros((2, 3)), np.zeros(2), -1.0)
