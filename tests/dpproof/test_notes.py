"""Proof notes: each names what it speaks of, and none is older than that."""

from __future__ import annotations

import ast

import pytest

from dpproof.report import notes


def test_no_note_is_stale():
    assert notes.stale() == []


def test_every_note_speaks_of_something():
    for path in notes.FOLDER.glob("*.md"):
        assert notes.entries(path.read_text(encoding="utf-8")), path.name


def written(tmp_path, monkeypatch, body, name="module_of_a_note"):
    (tmp_path / f"{name}.py").write_text(body, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    notes._module.cache_clear()
    return notes.fingerprint(f"{name}:half")


PLAIN = "def half(x):\n    return x / 2\n"


@pytest.mark.parametrize(
    "same",
    [
        "# why\n\n\ndef half(x):  # of it\n    return (x\n            / 2)\n",
        'def half(x):\n    """Say something."""\n    return x / 2\n',
        "import math\n\n\n" + PLAIN + "\n\ndef other():\n    return math.pi\n",
    ],
)
def test_layout_comments_and_neighbours_do_not_count(tmp_path, monkeypatch, same):
    first = written(tmp_path, monkeypatch, PLAIN)
    assert written(tmp_path, monkeypatch, same) == first


@pytest.mark.parametrize(
    "other",
    [
        PLAIN.replace("2", "3"),
        PLAIN.replace("/", "//"),
        PLAIN.replace("(x)", "(x, y=1)"),
        PLAIN.replace("2", "2.0"),
    ],
)
def test_a_change_of_meaning_counts(tmp_path, monkeypatch, other):
    first = written(tmp_path, monkeypatch, PLAIN)
    assert written(tmp_path, monkeypatch, other) != first


def test_methods_and_constants_have_hashes():
    assert len(notes.fingerprint("dpproof.accountant.theorems.group_privacy:GroupProfile._epsilon_at")) == 16
    assert len(notes.fingerprint("dpproof.report.notes:FOLDER")) == 16
    assert notes.fingerprint("classic.markov") != notes.fingerprint("classic.azuma")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("dpproof.accountant.nowhere:f", "module"),
        ("nowhere.at_all:f", "module"),
        ("dpproof.report.notes:nothing", "function"),
        ("classic.nothing", "not registered"),
    ],
)
def test_what_does_not_exist_is_named(name, words):
    with pytest.raises(ValueError, match=words):
        notes.fingerprint(name)


@pytest.mark.parametrize(
    "text",
    [
        "# A note without a header\n",
        "---\nfunctions:\n---\n\n# Nothing named\n",
        "---\nfunctions:\nclassic.markov\n---\n",
        "---\nfunctions:\n  - classic.markov a b\n---\n",
        "---\nfunctions:\n  - classic.markov\n",
    ],
)
def test_a_header_that_cannot_be_read_is_refused(text):
    with pytest.raises(ValueError, match=r"A note must begin with|of a header must have"):
        notes.entries(text)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(notes, "FOLDER", tmp_path)
    return tmp_path


def test_a_stale_note_fails_and_an_update_mends_it(folder, capsys):
    note = folder / "markov.md"
    note.write_text(
        "---\nfunctions:\n  - classic.markov 0123456789abcdef\n---\n\n# Markov\n", encoding="utf-8"
    )
    assert notes.main([]) == 1
    assert "classic.markov has changed" in capsys.readouterr().err
    assert notes.main(["--update"]) == 0
    assert notes.main([]) == 0
    assert note.read_text(encoding="utf-8").endswith("---\n\n# Markov\n")


def test_only_the_notes_that_were_read_are_updated(folder, capsys):
    for name in ("read.md", "unread.md"):
        (folder / name).write_text("---\nfunctions:\n  - classic.azuma\n---\n\n# Azuma\n", encoding="utf-8")
    assert notes.main(["--update", "read.md"]) == 1
    assert capsys.readouterr().err.startswith("docs/notes/unread.md")
    with pytest.raises(ValueError, match=r"note \(none.md\) does not exist"):
        notes.main(["--update", "none.md"])


def test_a_new_note_needs_names_only(folder, capsys):
    (folder / "new.md").write_text("---\nfunctions:\n  - classic.azuma\n---\n\n# Azuma\n", encoding="utf-8")
    assert notes.main([]) == 1
    assert "no hash yet" in capsys.readouterr().err
    assert notes.main(["--update"]) == 0


def test_a_note_without_a_header_fails(folder):
    (folder / "bare.md").write_text("# Bare\n", encoding="utf-8")
    assert notes.main(["--update"]) == 1


def test_an_update_of_an_unknown_name_writes_nothing(folder):
    text = "---\nfunctions:\n  - classic.nothing\n---\n\n# No\n"
    (folder / "no.md").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="not registered"):
        notes.main(["--update"])
    assert (folder / "no.md").read_text(encoding="utf-8") == text


def test_syntax_trees_are_written_alike_by_all_pythons():
    """Empty fields differ between versions of Python and are left out."""
    assert notes._dumped(ast.parse("def f(): return 1").body[0]) == (
        "FunctionDef(name='f',args=arguments(),body=[Return(value=Constant(value=1))])"
    )
