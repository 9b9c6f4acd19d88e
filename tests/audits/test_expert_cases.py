"""Expert-level release and training in the corpus: verdicts, the law that is sampled. Alpha 0.01 an audit."""

import math

import numpy as np
import pytest

from dpproof.audits.corpus.expert_cases import CASES, DESIGN, LEAST, PREFIXES, TrainingStep, claimed_of
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.recording.replaying import replay
from dpproof.audits.targets.rl.expert.release import PrefixRound, one_expert_more

FAST = {"expert release, counts that move one way", "expert release, threshold without noise"}
"""The cases of the fast tier."""
FAULTY = [case for case in CASES if case.expected is Finding.VIOLATION]


@pytest.mark.parametrize(
    "case", [pytest.param(x, id=x.name, marks=[pytest.mark.slow] * (x.name not in FAST)) for x in CASES]
)
def test_the_audit_comes_to_the_verdict(case):
    found = case.audit(seed=11)
    assert found.verdict is case.expected
    assert (found.would_have_seen is None) == (case in FAULTY)


def test_a_violation_is_replayed():
    found = FAULTY[-1].audit(seed=5)
    assert replay(found.witness()) == found


def test_the_law_of_a_round_is_the_one_sampled():
    """400 000 rounds; Hoeffding's band at 1e-6 over all outputs, and a law with other noise outside it."""
    n, rounds = 400_000, PrefixRound(DESIGN)
    law = rounds.law(PREFIXES.first)
    assert sum(law.values()) == pytest.approx(1, abs=1e-9)
    drawn = rounds(PREFIXES.first, n, np.random.default_rng(2))[:, 0].astype(int)
    seen = np.bincount(drawn, minlength=max(law) + 1) / n
    band = math.sqrt(math.log(2 * len(law) / 1e-6) / (2 * n))
    assert max(abs(seen[code] - chance) for code, chance in law.items()) < band
    other = PrefixRound(type(DESIGN)(8.0, 1.0, DESIGN.least_count, DESIGN.cutoff)).law(PREFIXES.first)
    assert max(abs(seen[code] - chance) for code, chance in other.items()) > band


def test_the_pairs_law_is_within_its_claim():
    more, fewer = (PrefixRound(DESIGN).law(table) for table in (PREFIXES.first, PREFIXES.second))
    claim = claimed_of(DESIGN, LEAST, 2576)
    for epsilon in (0.0, 0.1, 0.3, 1.0):
        for one, other in ((more, fewer), (fewer, more)):
            gap = sum(max(p - math.exp(epsilon) * other.get(code, 0.0), 0.0) for code, p in one.items())
            assert gap <= claim.delta(epsilon).upper + 1e-9


def test_a_plain_step_shows_its_coin_and_nothing_else():
    drawn = TrainingStep(0.5, 0.25, 1.0)(np.array([1.0]), 10_000, np.random.default_rng(0))
    plain = drawn[:, 0] == 0
    assert (drawn[plain, 1] == 0).all()
    assert (drawn[~plain, 1] != 0).all()
    assert abs(plain.mean() - 0.75) < 0.03


def test_other_pairs_are_no_neighbours():
    with pytest.raises(ValueError, match="one additional expert"):
        one_expert_more(np.zeros(3), np.zeros(3))
    with pytest.raises(ValueError, match="one additional expert"):
        one_expert_more(np.zeros(3), np.ones(2))
