"""Shells complete verbs, mechanisms, flags, relations and statements."""

from __future__ import annotations

import pytest
from click.shell_completion import BashComplete

from dpproof.cli import app
from dpproof.cli.completion import FILES, install, source


@pytest.mark.parametrize(
    ("given", "begun", "found"),
    [
        ([], "ex", "explain"),
        (["account"], "sele", "selective-dpsgd"),
        (["calibrate", "gaussian"], "--ta", "--target-epsilon"),
        (["account", "gaussian", "--adjacency"], "add", "add-remove"),
        (["audit"], "lap", "laplace"),
        (["audit", "laplace"], "--sc", "--scale"),
        (["check"], "pap", "papers"),
        (["verify"], "rlsvi.tig", "rlsvi.tight"),
        (["explain"], "permute", "permute-and-flip"),
    ],
)
def test_words_are_completed(given, begun, found):
    shell = BashComplete(app, {}, "dpproof", "_DPPROOF_COMPLETE")
    assert found in [item.value for item in shell.get_completions(given, begun)]


@pytest.mark.parametrize("shell", FILES)
def test_a_completion_is_installed_once(shell, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    file = install(shell)
    assert file.read_text() == source(shell)
    files = {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    install(shell)
    assert {path: path.read_text() for path in files} == files
    assert len(files) == 1 + (FILES[shell][1] is not None)


def test_a_shell_without_completion_is_refused(refused):
    assert "must be one of: bash, zsh, fish" in refused("--show-completion", "csh")
