"""Every code block of the documentation runs, page by page, in a folder of its own.

Python blocks of a page share their names; a block with a title is a file instead; of console blocks the lines
after ``$`` run. The other lines of a console block, and a text block after Python, must be among what was printed.
``<!-- exit: N -->`` before a console block is the exit code of its last command, and ``<!-- not run: why -->``
leaves a block out.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
BIN = Path(sys.executable).parent
COMMENT = re.compile(r"<!-- (exit|not run): (.*) -->")
TITLE = re.compile(r'title="([^"]+)"')
SNIPPET = re.compile(r'^--8<-- "([^"]+)"$', re.MULTILINE)
LANGUAGES = {"console", "markdown", "python", "toml", "yaml", "ini", "json", "text", "bash"}


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    language: str
    title: str | None
    text: str
    exit_code: int
    runs: bool


def included(snippet: re.Match[str]) -> str:
    """The file of the repository that the site shows in a titled block."""
    return (ROOT / snippet.group(1)).read_text(encoding="utf-8")


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, each with the comment that stands right before it."""
    comment: dict[str, str] = {}
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        if token.type == "html_block":
            comment = dict(COMMENT.findall(token.content))
        elif token.type == "fence":
            title = TITLE.search(token.info)
            language = token.info.strip().removeprefix("{ ." if title else "").partition(" ")[0]
            yield Block(
                language,
                None if title is None else title.group(1),
                token.content if title is None else SNIPPET.sub(included, token.content),
                int(comment.get("exit", 0)),
                "not run" not in comment,
            )
            comment = {}


PAGES = sorted(
    page
    for page in (
        ROOT / "README.md",
        *DOCS.glob("*.md"),
        *DOCS.glob("how-to/*.md"),
        *DOCS.glob("explanation/*.md"),
    )
    if any(block.runs and (block.title or block.language in ("console", "python")) for block in blocks(page))
)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, object] = {}
    before = ""
    for block in filter(lambda block: block.runs, blocks(page)):
        assert block.language in LANGUAGES, f"{page.name}: a block of {block.language or 'no language'}"
        if block.title is not None:
            Path(block.title).parent.mkdir(parents=True, exist_ok=True)
            Path(block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "python" and not block.text.startswith(">>>"):  # those are doctests
            exec(compile(block.text, f"{page.name}", "exec"), names)
        elif block.language == "console":
            console(block)
        elif block.language == "text" and before == "python":
            assert_printed(block.text.splitlines(), capsys.readouterr().out)
        before = block.language


@pytest.mark.slow
def test_every_example_is_typed(tmp_path):
    """The Python of each page as one module, through a type checker; functions of readers may lack annotations."""
    for page in PAGES:
        code = []
        for block in (block for block in blocks(page) if block.language == "python"):
            text = doctest.script_from_examples(block.text) if block.text.startswith(">>>") else block.text
            if block.title is not None:
                (tmp_path / block.title).write_text(text, encoding="utf-8")
            else:
                code.append(text)
        (tmp_path / f"page_{page.stem.replace('-', '_')}.py").write_text("\n".join(code), encoding="utf-8")
    untyped = [f"--allow-{what}" for what in ("untyped-defs", "untyped-calls", "incomplete-defs")]
    settings = ["--strict", *untyped, "--config-file", str(ROOT / "pyproject.toml")]
    pages = sorted(path.name for path in tmp_path.glob("*.py"))
    found = subprocess.run(
        [sys.executable, "-m", "mypy", *settings, *pages],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout


def console(block: Block) -> None:
    """Run the commands of a block; the last one ends with the code that is announced."""
    text = block.text.replace("\\\n", " ")
    commands = [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]
    assert commands, f"a console block without a command:\n{block.text}"
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    printed = ""
    for place, command in enumerate(commands, 1):
        ran = subprocess.run(
            ["bash", "-c", command],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PATH": path},
        )
        expected = {block.exit_code} if place == len(commands) else {0, block.exit_code}
        assert ran.returncode in expected, f"{command}\n{ran.stdout}\n{ran.stderr}"
        printed += ran.stdout
    assert_printed([line for line in text.splitlines() if not line.startswith("$ ")], printed)


def assert_printed(shown: list[str], printed: str) -> None:
    """Compare the lines that a page shows with what was printed. A page may leave lines out."""
    lines = {line.rstrip() for line in printed.splitlines()}
    assert [line for line in shown if line and line not in lines] == [], printed


def test_the_runner_sees_a_block_that_fails():
    failing = Block("console", None, "$ true\n$ exit 3\n", 0, True)
    with pytest.raises(AssertionError, match="exit 3"):
        console(failing)
    with pytest.raises(AssertionError, match="four"):
        console(Block("console", None, "$ echo three\nfour\n", 0, True))


@pytest.mark.slow
def test_the_site_is_built_with_warnings_as_errors(tmp_path):
    # --quiet would hide the warnings from --strict, too
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path]
    ran = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    page = (tmp_path / "statements" / "rlsvi" / "theorem13" / "index.html").read_text(encoding="utf-8")
    assert "<math" in page
    assert "../../../proofs_check/certificates/rlsvi.jsonl#L" in page
    assert (tmp_path / "proofs_check" / "certificates" / "rlsvi.jsonl").is_file()
    assert not [path for path in tmp_path.rglob("*.html") if r"\[" in path.read_text(encoding="utf-8")]
