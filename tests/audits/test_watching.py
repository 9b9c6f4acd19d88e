"""Whoever looks on is told of every block and changes nothing."""

from __future__ import annotations

from dpproof.accountant.guarantees.notions import PureDP
from dpproof.audits.engine.sampling.progress import watched, watcher
from dpproof.audits.targets.call import audit


def test_progress_is_told_up_to_the_end_and_changes_nothing(bits, laplace):
    def audited():
        return audit("laplace", PureDP(1.0), laplace(1.0), bits, seed=4, budget=3000)

    told = []
    with watched(lambda drawn, budget: told.append((drawn, budget))):
        seen = audited()
    assert seen == audited()
    assert told[-1] == (3000, 3000)
    assert told == sorted(told)
    assert watcher() is None


def test_a_failing_audit_leaves_nobody_watching():
    try:
        with watched(lambda drawn, budget: None):
            raise KeyError
    except KeyError:
        assert watcher() is None
