"""The recipes of docs/how-to, followed: a made-up paper, its algorithm, and the audit of it, in a copy of the tree.

The algorithm pulls every arm of a bandit b times, releases the mean of each arm with Gaussian noise, and keeps the
best arm. What is written by hand stands in tests/recipes, under the path where it goes. The commands are those of
the recipes. The fourth recipe, of a noise mechanism, was followed for the staircase mechanism (tests/test_house.py).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAPER, ALGORITHM, TARGET = "add-a-paper", "add-an-algorithm", "add-an-audit-target"
STATEMENTS = ("demo.lemma1", "demo.theorem2", "demo.corollary3")
MEANT = {"ID": " ".join(STATEMENTS), "<name>": "explore"}
"""What stands for the words of the recipes' commands."""
SIZES = ("explore", "--arms", 2, "--pulls", 10, "--adjacency", "rewards-only", "--delta", "1e-6")
LEDGER = """
import json
from dpproof.report import graph, ledger
edges = graph.edges("demo")
found = {one.id: one for one in ledger.verify(set(edges).union(*edges.values()))}  # all others take a minute
paper = ledger.papers()["demo"]
page = ledger._paper(paper.name, paper.title, paper.citation, paper.prefix, found)
print(json.dumps([ledger.ledger(found), page]))
"""
GENERATED = re.compile(
    r"docs/(ledger(/demo)?\.md|ledger/demo\.svg|assets/badge-\w+\.svg|explanation/glossary\.md|parameters\.md|reference/names\.md|claim-file\.schema\.json)|dpproof/front/(account|calibrate)\.pyi"
    r"|dpproof/answers/recorded_verdicts\.json|proofs_check/(papers/manifest\.json|certificates/demo\.jsonl)"
)
pytestmark = pytest.mark.slow


def by_hand(recipe):
    """(path, where in it, text) of each edit that is made for a recipe; a new file has no where."""
    text = (ROOT / "tests" / "recipes" / f"{recipe}.txt").read_text(encoding="utf-8")
    return re.findall(r"^==> (\S+)(?: (after .+|at its end))? <==\n((?:(?!==>).*\n)*)", text, re.MULTILINE)


class Copy:
    """A copy of the tracked files, to which recipes add."""

    def __init__(self, folder):
        self.folder = folder
        if not (ROOT / ".git").exists():
            pytest.skip("not a repository")
        for name in filter(None, git(ROOT, "ls-files", "-z").split("\0")):
            if os.path.lexists(ROOT / name):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
        git(folder, "init")
        git(folder, "add", "--all")

    def python(self, *words, ends=0):
        """What Python prints in the copy."""
        environment = {
            **os.environ, "PYTHONPATH": str(self.folder / "tools/editable"), "PYTHONDONTWRITEBYTECODE": "1"
        }  # fmt: skip
        command = [sys.executable, *map(str, words)]
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == ends, done.stdout + done.stderr
        return done.stdout

    def dpproof(self, *words, ends=0):
        """The answer of the command line."""
        code = "from dpproof.cli import main; main()"
        return json.loads(self.python("-c", code, *words, "--json", ends=ends))

    def follow(self, *recipes):
        """Add what the recipes ask for, and run their commands, each one once."""
        for path, where, text in (edit for recipe in recipes for edit in by_hand(recipe)):
            target = self.folder / path
            assert target.exists() == bool(where)
            target.parent.mkdir(exist_ok=True)
            old = target.read_text(encoding="utf-8") if where else ""
            line = where.removeprefix("after ") + "\n" if where.startswith("after ") else old
            assert old.count(line) == 1 or not old
            target.write_text(old.replace(line, line + text) if old else text, encoding="utf-8")
        last_first = [command for recipe in reversed(recipes) for command in reversed(commands(recipe))]
        for command in reversed(dict.fromkeys(last_first)):
            for word, meaning in MEANT.items():
                command = command.replace(word, meaning)
            self.python(*command.split())

    def changed(self):
        """The paths that differ from the tracked files."""
        return {*git(self.folder, "diff", "--name-only").split(), *others(self.folder)}


def git(folder, *words):
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout


def others(folder):
    return git(folder, "ls-files", "--others", "--exclude-standard").split()


def page(recipe):
    return (ROOT / "docs" / "how-to" / f"{recipe}.md").read_text(encoding="utf-8")


def commands(recipe):
    """The commands of a recipe that follow what is written by hand."""
    return re.findall(r"^python (-m dpproof\..+)", page(recipe), re.MULTILINE)


@pytest.mark.parametrize(("recipe", "edits"), [(PAPER, 8), (ALGORITHM, 8), (TARGET, 3)])
def test_a_recipe_names_every_place(recipe, edits):
    named = re.findall(r"`([\w.<>]+/[\w./<>]*)`", page(recipe))
    patterns = [re.sub(r"<\w+>", r"\\w+", place.replace(".", r"\.")) for place in named]
    paths = [path for path, _, _ in by_hand(recipe)]
    assert [path for path in paths if not any(re.search(place, path) for place in patterns)] == []
    assert len(paths) == edits


def paper_has_its_verdicts_and_its_page(copy):
    found = {name: copy.dpproof("verify", name, ends=name == "demo.corollary3") for name in STATEMENTS}
    verdicts = {name: answer["statements"][0]["verdict"] for name, answer in found.items()}
    assert verdicts == dict(zip(STATEMENTS, ("PROVED", "PROVED GIVEN", "REFUTED"), strict=True))
    assert found["demo.corollary3"]["statements"][0]["severity"] == "slip"
    index, page = json.loads(copy.python("-c", LEDGER))
    assert all(f"[{name}](" in page for name in STATEMENTS)
    assert "(ledger/demo.md) | 3 | 3 | 0 |" in index


def no_other_edit_is_needed(changed):
    hand = {path for recipe in (PAPER, ALGORITHM, TARGET) for path, _, _ in by_hand(recipe)}
    assert {path for path in changed if not GENERATED.fullmatch(path)} == hand


def algorithm_is_accounted_for_and_calibrated(copy):
    found = copy.dpproof("account", *SIZES, "--sigma", 0.1)
    assert "demo.theorem2" in json.dumps(found)
    assert found["epsilon"]["upper"] == pytest.approx(4.886555)
    least = copy.dpproof("calibrate", *SIZES, "--target-epsilon", 1)
    assert least["noise"] == {"name": "sigma", "value": pytest.approx(0.422467889)}
    assert least["epsilon"]["upper"] <= 1 < least["minimal"]["epsilon_lower"]


def audit_finds_half_the_noise_and_nothing_else(copy):
    asked = ("--budget", 3000, "--seed", 1)
    (sound,) = copy.dpproof("audit", *SIZES, "--sigma", 0.1, *asked)["audits"]
    assert sound["verdict"] == "consistent"
    assert sound["epsilon_lower"] < sound["claimed_epsilon"]
    (faulty,) = copy.dpproof("audit", "corpus", "--only", "explore, then commit", *asked)["audits"]
    assert faulty["found"] == faulty["expected"] == "violation"


def house_has_room_for_them(copy):
    git(copy.folder, "add", "--all")
    tests = ("tests/test_house.py", "tests/test_import_direction.py")
    others = "not certificates_give"  # it derives all verdicts again, which takes a minute
    copy.python("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", "-k", others, *tests)


def test_the_recipes_lead_to_a_paper_an_algorithm_and_its_audit(tmp_path):
    """One test, because the copy takes a minute to make."""
    copy = Copy(tmp_path)
    copy.follow(PAPER, TARGET, ALGORITHM)
    no_other_edit_is_needed(copy.changed())
    paper_has_its_verdicts_and_its_page(copy)
    algorithm_is_accounted_for_and_calibrated(copy)
    audit_finds_half_the_noise_and_nothing_else(copy)
    house_has_room_for_them(copy)
