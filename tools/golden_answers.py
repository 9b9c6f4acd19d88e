"""Writes what the command line answers to a fixed list of questions, or compares two such files.

    python tools/golden_answers.py write FILE [--only TEXT]
    python tools/golden_answers.py compare OLD NEW

A file has one JSON line an answer; answers of earlier commits, packed, are in tests/golden. Only the command line is
used, so that any commit can be asked. The questions: every mechanism under every relation, calibrations, every
statement, audits with small budgets, claim files, and inputs that must be refused. A report counts by the hash of
its page.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import lzma
import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

MECHANISMS = {
    "gaussian": "--sigma 5 --sensitivity 1 --compositions 3",
    "laplace": "--scale 5 --sensitivity 1 --compositions 2",
    "dp-sgd": "--sampling-rate .01 --noise-multiplier 1 --steps 100",
    "geometric": "--scale 5 --sensitivity 1 --compositions 2",
    "discrete-gaussian": "--sigma 5 --sensitivity 1",
    "binomial": "--trials 1000 --sensitivity 1",
    "randomised-response": "--randomness .5",
    "exponential": "--scale 5 --sensitivity 1",
    "permute-and-flip": "--scale 5 --sensitivity 1",
    "tree": "--leaves 16 --sigma 10 --sensitivity 1",
    "laplace-tree": "--leaves 4 --scale 10 --sensitivity 1",
    "matrix-counting": "--leaves 16 --sigma 10 --sensitivity 1",
    "sparse-vector": "--query-scale 40 --sensitivity 1",
    "smooth-gaussian": "--noise 10 --smoothing .01",
    "smooth-laplace": "--noise 10 --smoothing .01",
    "smooth-cauchy": "--noise 10 --smoothing .5",
    "smooth-student": "--noise 10 --smoothing .01",
    "smooth-log-normal": "--noise 10 --smoothing .01 --spread 1",
    "central-counts": "--states 2 --actions 2 --horizon 2 --episodes 4 --printed-epsilon 3",
    "local-counts": "--states 2 --actions 2 --horizon 2 --episodes 4 --scale 3",
    "batched-counts": "--states 2 --actions 2 --horizon 2 --episodes 4 --sigma 5",
    "policy-evaluation": "--dimension 4 --noise 9 --beta .01",
    "selective-dpsgd": "--sampling-rate .1 --branch-probability .5 --noise-multiplier 1 --steps 9",
    "thompson": "--arms 2 --rounds 10 --variance 1",
    "rlsvi": "--states 2 --actions 2 --horizon 2 --episodes 4",
}
"""Mechanisms by name, each with parameters that it accepts."""
RELATIONS = ("add-remove", "replace", "rewards-only", "expert")
QUESTIONS = ("--delta 1e-6", "--delta 0", "--epsilon 0.5")
PAPERS = ("rlsvi", "private-ucb", "sdp-pe", "policy-evaluation", "expert", "classic")
REFUSED = (
    "--delta -1",
    "--delta 2",
    "--epsilon -1",
    "--delta nan",
    "--epsilon many",
    "--delta 1e-6 --adjacency neighbours",
    "",
)


def questions() -> Iterator[str]:
    """Every question, as one would type it after ``dpproof``."""
    for name, flags in MECHANISMS.items():
        for relation in RELATIONS:
            yield from (f"account {name} {flags} {asked} --adjacency {relation}" for asked in QUESTIONS)
        yield f"account {name} {flags} --delta 1e-6"
        yield from (f"account {name} {flags} {wrong}" for wrong in REFUSED)
        yield f"explain {name}"
    for name in ("gaussian", "laplace", "geometric", "tree", "randomised-response", "exponential"):
        for target in ("1", "0.1"):
            yield f"calibrate {name} --target-epsilon {target} --delta 1e-6" + (
                " --leaves 16" if name == "tree" else ""
            )
    yield from (f"verify {paper}" for paper in PAPERS)
    for name in ("gaussian", "laplace", "geometric", "randomised-response", "rlsvi"):
        for seed in (0, 1):
            yield f"audit {name} {MECHANISMS[name]} --budget 3000 --seed {seed} --adjacency " + (
                "rewards-only" if name == "rlsvi" else "add-remove"
            )
    yield "audit corpus --only rlsvi"
    yield "check examples/dpproof.toml"
    yield "check papers"


def statements() -> list[str]:
    """Ids of all statements, from the command line's own answers."""
    found = []
    for paper in PAPERS:
        found += [entry["id"] for entry in json.loads(answer(f"verify {paper}")["out"])["statements"]]
    return found


def answer(question: str) -> dict[str, object]:
    """Exit code, output and messages of one question."""
    from dpproof.cli import main as dpproof

    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(out), redirect_stderr(err):
        sys.argv = [
            "dpproof",
            *question.split(),
            *(["--json"] if not question.startswith("explain") else []),
            *(["--html", folder] if question.startswith("check") else []),
        ]
        try:
            dpproof()
        except SystemExit as stopped:
            code = stopped.code
        page = Path(folder) / "index.html"
        shown = hashlib.sha256(page.read_bytes()).hexdigest() if page.exists() else None
    return {
        "asked": question,
        "exit": code,
        "out": out.getvalue().replace(folder, "FOLDER"),
        "err": err.getvalue(),
        "page": shown,
    }


def write(path: Path, only: str) -> None:
    """Ask everything and write one line an answer, in the order of the questions."""
    asked = [*questions(), *(f"{verb} {name}" for name in statements() for verb in ("verify", "explain"))]
    chosen = [question for question in asked if only in question]
    with ProcessPoolExecutor(os.cpu_count()) as executor, path.open("w", encoding="utf-8") as file:
        for place, found in enumerate(executor.map(answer, chosen, chunksize=4), 1):
            file.write(json.dumps(found, sort_keys=True) + "\n")
            print(f"\r{place} of {len(chosen)}", end="", file=sys.stderr)
    print(file=sys.stderr)


def read(path: Path) -> dict[str, dict[str, object]]:
    """Question -> answer, from a file that may be packed (``.xz``)."""
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return {entry["asked"]: entry for entry in map(json.loads, file)}


def compare(old: Path, new: Path) -> int:
    """Print each question whose answer differs; return how many do."""
    before, after = read(old), read(new)
    changed = [asked for asked in before if before[asked] != after.get(asked)]
    for asked in changed:
        print(asked)
        for key, value in before[asked].items():
            if after.get(asked, {}).get(key) != value:
                print(f"  {key}: {str(value)[:200]!r}\n   -> {str(after.get(asked, {}).get(key))[:200]!r}")
    print(f"{len(changed)} of {len(before)} answers differ")
    return len(changed)


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    writing = verbs.add_parser("write")
    writing.add_argument("file", type=Path)
    writing.add_argument("--only", default="", metavar="TEXT")
    comparing = verbs.add_parser("compare")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    given = parser.parse_args()
    if given.verb == "compare":
        return min(1, compare(given.old, given.new))
    write(given.file, given.only)
    return 0


if __name__ == "__main__":
    sys.exit(main())
