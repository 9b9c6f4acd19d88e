"""The journal: finished work is found again, changed work is done again, an interruption loses nothing."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import sys
from concurrent.futures import ProcessPoolExecutor

import pytest

from dpproof import executors as journal_module
from dpproof.executors import Journal, JournalExecutor, executor_for, journal_at

forks = pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
"""JAX, if an earlier test has imported it, warns of every fork. The processes of these tests do not use it."""


def noted(folder, number):
    """Count the calls in a file, and fail at 13."""
    with open(os.path.join(folder, "calls"), "a") as file:
        file.write(f"{number}\n")
    if number == 13:
        raise RuntimeError("no luck")
    return number**2


def calls(folder):
    path = folder / "calls"
    return path.read_text().split() if path.exists() else []


@forks
@pytest.mark.parametrize("workers", [None, 2])
def test_finished_work_is_not_done_again(tmp_path, workers):
    for _ in range(2):
        with Journal(tmp_path / "journal") as journal:
            inner = None if workers is None else ProcessPoolExecutor(workers)
            found = list(JournalExecutor(journal, inner).map(noted, [str(tmp_path)] * 3, [1, 2, 3]))
            assert found == [1, 4, 9]
            if inner is not None:
                inner.shutdown()
    assert sorted(calls(tmp_path)) == ["1", "2", "3"]


def test_what_failed_is_tried_again(tmp_path):
    with Journal(tmp_path / "journal") as journal:
        executor = JournalExecutor(journal, None)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="no luck"):
                executor.submit(noted, str(tmp_path), 13).result()
    assert calls(tmp_path) == ["13", "13"]


def test_an_interruption_keeps_what_was_finished(tmp_path):
    for numbers in ([1, 2, 13, 3], [1, 2, 4]):
        with Journal(tmp_path / "journal") as journal:
            executor = JournalExecutor(journal, None)
            for number in numbers:
                executor.submit(noted, str(tmp_path), number)
    assert calls(tmp_path) == ["1", "2", "13", "3", "4"]


def test_changed_code_is_done_again(tmp_path, monkeypatch):
    for code in (b"before", b"after"):
        monkeypatch.setattr(journal_module, "_own_code", lambda code=code: code)
        with Journal(tmp_path / "journal") as journal:
            JournalExecutor(journal, None).submit(noted, str(tmp_path), 1)
    assert calls(tmp_path) == ["1", "1"]


def test_a_changed_module_of_a_user_is_done_again(tmp_path, monkeypatch):
    import importlib
    import sys

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path, found = tmp_path / "module_of_a_user.py", []
    for value in (1, 22):
        path.write_text(f"def make():\n    return {value}\n", encoding="utf-8")
        module = importlib.reload(importlib.import_module("module_of_a_user"))
        with Journal(tmp_path / "journal") as journal:
            found.append(JournalExecutor(journal, None).submit(module.make).result())
    assert found == [1, 22]


def test_what_cannot_be_named_is_done_and_not_kept(tmp_path):
    with Journal(tmp_path / "journal") as journal:
        assert JournalExecutor(journal, None).submit(lambda: 5).result() == 5
    with sqlite3.connect(tmp_path / "journal") as rows:
        assert rows.execute("SELECT count(*) FROM done").fetchone() == (0,)


def test_executors_use_the_journal_of_the_context(tmp_path):
    with journal_at(tmp_path / "journal"), executor_for(1) as executor:
        assert isinstance(executor, JournalExecutor)
    with executor_for(1) as executor:
        assert executor is None


def test_a_corpus_goes_on_where_it_stopped_with_the_same_answer(run, tmp_path):
    asked = ("audit", "corpus", "--only", "randomised", "--budget", "2000", "--json", "--workers", "1")
    fresh = run(*asked)
    first, second = (run(*asked, "--journal", tmp_path / "journal") for _ in range(2))
    assert fresh.out == first.out == second.out
    with sqlite3.connect(tmp_path / "journal") as rows:
        (kept,) = rows.execute("SELECT count(*) FROM done").fetchone()
    assert kept == len(fresh.json["audits"]) > 0


@pytest.mark.parametrize("name", ["nowhere/journal", "text"])
def test_a_file_that_is_no_journal_is_refused(refused, tmp_path, name):
    (tmp_path / "text").write_text("this is no database, but a text of some length", encoding="utf-8")
    assert "must be a journal of dpproof, or a file that can be created" in refused(
        "audit", "corpus", "--only", "randomised", "--journal", tmp_path / name
    )


@forks
@pytest.mark.parametrize("imported", [False, True])
def test_a_process_that_has_imported_jax_is_not_forked(monkeypatch, imported):
    """A fork of it may never end."""
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    if imported:
        monkeypatch.setitem(sys.modules, "jax", None)
    with executor_for(2) as executor:
        assert executor.submit("jax".upper).result() == "JAX"
        found = multiprocessing.active_children()
        assert {type(one).__name__ for one in found} == {"SpawnProcess" if imported else "ForkProcess"}
