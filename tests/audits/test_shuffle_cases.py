"""Shuffle cases of the corpus: verdicts, witnesses, full trajectories. Alpha 0.01, fixed seeds."""

import numpy as np
import pytest

from audits.corpus.shuffle_cases import CASES, SHAPE, SIZES, raw_release
from audits.evidence import Verdict
from audits.replaying import replay

FAST = [case for case in CASES if case.expected is Verdict.VIOLATION]


@pytest.mark.parametrize("case", FAST, ids=lambda case: case.name)
def test_a_violation_is_found_with_a_witness(case):
    found = case.audit(seed=11)
    assert found.verdict is Verdict.VIOLATION
    assert found.epsilon_lower >= 0
    assert replay(found.witness()) == found


@pytest.mark.parametrize("case", [c for c in CASES if c.truth is not None], ids=lambda case: case.name)
def test_the_truth_is_on_the_side_of_the_verdict(case):
    claimed, truth = case.claim.epsilon(case.delta), case.truth()
    if case.expected is Verdict.VIOLATION:
        assert truth.lower > claimed.upper
    else:
        assert truth.lower <= claimed.upper


def test_a_replaced_user_changes_what_the_shape_says():
    case = next(case for case in CASES if "all changes" in case.name)
    one, other = (data.counts(SIZES).sum(axis=0) for data in (case.pair.first, case.pair.second))
    assert ((other - one) == 1).sum() == ((other - one) == -1).sum() == SHAPE.changes
    assert len(one) == SHAPE.counters


def test_a_release_is_unbiased():
    """500 releases of 42 counters: the mean within 6 standard errors."""
    data = next(case for case in CASES if "all changes" in case.name).pair.first
    drawn = raw_release(data, 500, np.random.default_rng(0), threshold=60.0)
    off = drawn.mean(axis=0) - data.counts(SIZES).sum(axis=0)
    assert (abs(off) < 6 * np.sqrt(30 / 500)).all()
