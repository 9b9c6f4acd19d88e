"""Whoever looks on is told of every block and changes nothing."""

from __future__ import annotations

import io
import sys

from dpproof.accountant.guarantees.notions import PureDP
from dpproof.audits.engine.sampling import progress
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


def test_progress_is_one_line_on_a_terminal_and_nothing_in_a_pipe(monkeypatch):
    for terminal in (True, False):
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda terminal=terminal: terminal)
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(progress, "QUIET", 0)
        with progress.on_screen():
            if terminal:
                progress.watcher()(10, 12)
            else:
                assert progress.watcher() is None
        assert ("10 of at most 12 samples" in stream.getvalue()) == terminal
        assert "\n" not in stream.getvalue()
