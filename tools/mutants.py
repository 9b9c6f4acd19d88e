"""Break the code in 40 fixed places, one at a time, and see whether the tests notice.

    python tools/mutants.py [--fast | --all] [--files N] [NUMBER ...]

Each mutant is applied to a copy of the tracked files. The examples of its module run there, and N test files that
reach it by imports, up to the first failure: first those of its name, then those that name the mutated function,
then those fewest imports away. With --fast only the tests of ``make test`` run.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dpproof.accountant.catalogue import CATALOGUE

ROOT = Path(__file__).resolve().parent.parent
FINDERS = {
    "dpproof.accountant": "dpproof.accountant.catalogue",
    "dpproof.mechanisms": "dpproof.mechanisms.primitives",
    "dpproof.audits.targets": "dpproof.audits.target",
}
"""A layer -> the module that imports its leaves by name."""
UNCOPIED = shutil.ignore_patterns(".git", ".venv", "build", "__pycache__", ".*_cache")


@dataclass(frozen=True)
class Mutant:
    """A change of one line: the folder where its text stands, the text, and what replaces it."""

    folder: str
    old: str
    new: str


MUTANTS = (
    Mutant("accountant", "if self.lower > self.upper:", "if self.lower > self.upper + 1:"),
    Mutant("accountant", "if self.lower >= high:", "if self.upper >= high:"),
    Mutant(
        "accountant", "found.delta(epsilon)[1] <= delta, guess", "found.delta(epsilon)[0] <= delta, guess"
    ),
    Mutant(
        "accountant", "return round_down(value), round_up(value)", "return round_up(value), round_up(value)"
    ),
    Mutant(
        "accountant", "round_down(log_mgf), round_up(log_mgf)", "round_down(log_mgf), round_down(log_mgf)"
    ),
    Mutant("accountant", "found.delta(epsilon)[0] > delta, guess", "found.delta(epsilon)[1] > delta, guess"),
    Mutant("accountant", "rare = round_down(1 / (arb_of(", "rare = round_up(1 / (arb_of("),
    Mutant(
        "accountant", "scale = round_up(family.shift() / left)", "scale = round_down(family.shift() / left)"
    ),
    Mutant(
        "accountant", "sizes.states == 1 and not (own_actions and sizes.actions > 1)", "sizes.states == 1"
    ),
    Mutant(
        "accountant", "exact(round_up(log)), exact(round_up(log.exp()))", "exact(round_up(log)), exact(1)"
    ),
    Mutant("mechanisms", "if not 0 <= value < 1:", "if not 0 <= value <= 1:"),
    Mutant(
        "mechanisms",
        "return side < 2 * k or (side == 2 * k and",
        "return side <= 2 * k or (side == 2 * k and",
    ),
    Mutant("mechanisms", "(_YES if side < _TWO * k else _NO)", "(_YES if side > _TWO * k else _NO)"),
    Mutant("mechanisms", "if held.size * each > MOST_MESSAGES:", "if held.size * each > 2 * MOST_MESSAGES:"),
    Mutant("mechanisms", "if not 0 <= ones <= parameters.users:", "if not 0 <= ones < parameters.users:"),
    Mutant("mechanisms", "if not 0 < scale <= LARGEST:", "if not 0 <= scale <= LARGEST:"),
    Mutant("mechanisms", "if not -1 <= vector <= 1:", "if not -2 <= vector <= 2:"),
    Mutant("mechanisms", "if randomness.simulated != self.simulated:", "if False:"),
    Mutant("proofs_check", 'if _canonical(data["claim"]) != _canonical(claim):', "if False:"),
    Mutant("proofs_check", "return low >= ia.ZERO and (nz or not strictly)", "return low >= ia.ZERO"),
    Mutant(
        "proofs_check", "if not hi[0] and (ends[1] or hi[1].denominator != 1):", "if not hi[0] and ends[1]:"
    ),
    Mutant("proofs_check", "if last >= (0, Fraction(first)):", "if last > (0, Fraction(first)):"),
    Mutant("proofs_check", "if a.lo < ZERO < a.hi:", "if a.lo < ZERO < a.lo:"),
    Mutant("proofs_check", "if t.budget[0] < 0 or depth == 0:", "if t.budget[0] < 0:"),
    Mutant("proofs_check", "if c < 0 or not all(side[0]", "if not all(side[0]"),
    Mutant("proofs_check", "if old == new:", "if True:"),
    Mutant("audits", "self.right <= self.guesses <= self.canaries", "self.right <= self.guesses"),
    Mutant(
        "audits",
        "one_run_tail(found, epsilon, delta) <= alpha",
        "one_run_tail(found, epsilon, delta) <= 10 * alpha",
    ),
    Mutant("audits", "if seen <= 2 * claimed", "if seen <= 4 * claimed"),
    Mutant("audits", "value.dtype.itemsize > 8:", "value.dtype.itemsize > 16:"),
    Mutant("audits", "if more > 1:", "if more > 2:"),
    Mutant("audits", "if scores.shape != (len(outputs),):", "if False:"),
    Mutant("audits", "if not 0 < self.sampling_rate <= 1:", "if not 0 < self.sampling_rate <= 2:"),
    Mutant("dpproof", "least[0] > promised", "least[0] >= promised / 2"),
    Mutant("dpproof", "attained.delta(promised).lower > delta", "attained.delta(promised).upper > delta / 2"),
    Mutant(
        "dpproof",
        "raise Exit(2 if reading.refusals else",
        "raise Exit(1 if reading.refusals else",
    ),
    Mutant("dpproof", "if found not in VIOLATIONS:", "if False:"),
    Mutant("dpproof", "if not _covers(account, claim):", "if False:"),
    Mutant("dpproof", 'if "adjacency" not in given:', "if False:"),
    Mutant("dpproof", "if verdict is Finding.FLOATING_POINT:", "if False:"),
)


def module(path: Path) -> str:
    """The dotted name of a file of the product, or the path of a test."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    name = ".".join(parts if parts[0] in ("dpproof", "tests", "benchmarks") else ("dpproof", *parts))
    return name.removesuffix(".__init__")


@cache
def importers() -> dict[str, set[str]]:
    """Module -> the modules and tests whose text imports it, or that find it by its leaf."""
    found: dict[str, set[str]] = {}
    for layer, finder in FINDERS.items():
        for leaf in set(CATALOGUE.values()):
            found.setdefault(f"{layer}.{leaf}", set()).add(finder)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "*.py", "*.pyi"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for path in (ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [x.name for x in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            base = node.module if isinstance(node, ast.ImportFrom) else None
            for name in [f"{base}.{x}" for x in names] + [base] if base else names:
                found.setdefault(name, set()).add(module(path))
    return found


def nearest_tests(name: str, most: int, words: set[str]) -> list[str]:
    """The module itself, for its examples, and the test files that reach it: by its name, the words, the distance."""
    order, ring, seen = [], {name}, {name}
    while ring:
        ring = set().union(*(importers().get(x, set()) for x in ring)) - seen
        seen |= ring
        order += sorted(x for x in ring if x.rpartition(".")[2].startswith("test_"))
    examples, files = f"{name.replace('.', '/')}.py", [f"{x.replace('.', '/')}.py" for x in order]
    mentions = re.compile(rf"\b({'|'.join(map(re.escape, words))})\b")
    leaf = name.rpartition(".")[2].strip("_")

    def distance(file: str) -> tuple[bool, bool]:
        return leaf not in Path(file).stem, not mentions.search((ROOT / file).read_text(encoding="utf-8"))

    return [examples, *sorted(files, key=distance)[:most]]


def around(mutant: Mutant, path: Path) -> set[str]:
    """The names of the functions and classes in which the text of a mutant stands."""
    text = path.read_text(encoding="utf-8")
    line = text[: text.index(mutant.old)].count("\n") + 1
    found = {
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.lineno <= line <= (node.end_lineno or 0)
    }
    return {name for name in found if not name.startswith("_")} or {path.stem}


def place(mutant: Mutant) -> Path | None:
    """The first file below the folder that has the text."""
    for path in sorted((ROOT / mutant.folder).rglob("*.py")):
        if not any(part.is_symlink() for part in path.parents) and mutant.old in path.read_text(
            encoding="utf-8"
        ):
            return path
    return None


def killed(copy: Path, mutant: Mutant, path: Path, tests: list[str], marks: list[str]) -> str:
    """What the tests say of a mutant: killed (by which test), survived, or broken where they cannot run."""
    target = copy / path.relative_to(ROOT)
    text = target.read_text(encoding="utf-8")
    target.write_text(text.replace(mutant.old, mutant.new, 1), encoding="utf-8")
    try:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "--tb=no",
            "-p",
            "no:cacheprovider",
            *marks,
            *tests,
        ]
        environment = {
            **os.environ,
            "PYTHONPATH": str(copy / "tools/editable"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        ran = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    finally:
        target.write_text(text, encoding="utf-8")
    failed = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return {0: "survived", 1: f"killed: {failed[0][:110] if failed else ''}"}.get(
        ran.returncode, f"not run: exit code {ran.returncode}"
    )


def main() -> int:
    """Run the mutants that are asked for and count them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--fast", action="store_true", help="only the fast tier")
    parser.add_argument("--all", action="store_true", help="every test (the default)")
    parser.add_argument("--files", type=int, default=8, help="so many test files for each mutant")
    parser.add_argument("numbers", type=int, nargs="*")
    given = parser.parse_args()
    marks = ["-m", "not slow"] if given.fast else []
    counts: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        shutil.copytree(ROOT, copy, symlinks=True, ignore=UNCOPIED)
        for command in ("init", "add --all"):  # some tests ask which files are tracked
            subprocess.run(["git", *command.split()], cwd=copy, check=True, capture_output=True)
        for number in given.numbers or range(1, len(MUTANTS) + 1):
            mutant, start = MUTANTS[number - 1], time.monotonic()
            path = place(mutant)
            tests = nearest_tests(module(path), given.files, around(mutant, path)) if path else []
            said = killed(copy, mutant, path, tests, marks) if path else "the text is gone"
            counts[said.split(":")[0]] = counts.get(said.split(":")[0], 0) + 1
            where = path.relative_to(ROOT) if path else mutant.folder
            print(
                f"{number} {where}: {mutant.old} -> {mutant.new}: {said} ({time.monotonic() - start:.0f} s)",
                flush=True,
            )
    print(counts)
    return int("survived" in counts)


if __name__ == "__main__":
    sys.exit(main())
