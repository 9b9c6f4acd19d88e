"""Measure what is missing, then write docs/audits.md and its figure: ``make campaign``.

    python -m benchmarks.audits [alarms] [boundary] [power] [shares] [seen] [overhead] [peers] [stated]
                                [--seeds N] [--runs N] [--only NAME] [--peer NAME=PYTHON ...] [--folder DIR]
                                [--processes N]

Without a part, all but the peers and the stated power are measured. With the part "peers" alone, only the section on
other tools is written, and in it only the rows of the peers that were measured. The part "stated" takes hours and
writes the first section of docs/power.md; with this part alone, nothing else is written. Finished seeds are kept in the
folder's files: an interrupted campaign goes on where it stopped, with the same result. Rows of another engine are kept
and not counted.
"""

from __future__ import annotations

import argparse
import json
import os
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path

from rich.console import Console

from benchmarks.audits import alarms, boundary, page, peers, power, seen, shares, stated, stated_page
from benchmarks.audits.rows import append, collect, engine, read

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("alarms", "boundary", "power", "shares", "seen", "overhead", "peers", "stated")
MODULES = {"boundary": boundary, "power": power, "shares": shares, "seen": seen}
say = Console(stderr=True).print


def main() -> None:
    """Parse, measure, write the page."""
    given = _parser().parse_args()
    parts = given.parts or (
        ["alarms", "boundary", "power", "shares", "seen", "overhead"] + ["peers"] * bool(given.peer)
    )
    given.folder.mkdir(parents=True, exist_ok=True)
    version = engine()
    if "overhead" in parts:
        _overhead(given.folder / "overhead.jsonl", version)
    with ProcessPoolExecutor(given.processes) as executor:
        for part, module in MODULES.items():
            if part in parts:
                path = given.folder / f"{part}.jsonl"
                left = list(module.tasks(read(path, engine=version), given.runs))
                collect(path, module.measured, left, executor, engine=version)
        if "alarms" in parts:
            path = given.folder / "alarms.jsonl"
            while todo := list(alarms.tasks(read(path, engine=version), given.seeds)):
                collect(path, alarms.measured, todo, executor, engine=version)
        if "stated" in parts:
            _stated(given.folder / "stated.jsonl", given, executor, version)
    if parts == ["stated"]:
        return
    if "peers" in parts:
        _peers(given.folder / "peers.jsonl", dict(text.split("=", 1) for text in given.peer))
    only = parts == ["peers"]
    written = page.write_beside(ROOT, given.folder) if only else page.write(ROOT, given.folder, version)
    say(f"wrote {', '.join(str(path.relative_to(ROOT)) for path in written)}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.audits", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="*", type=_part, metavar="PART")
    parser.add_argument("--seeds", type=int, default=alarms.SEEDS, help="valid runs per sound mechanism")
    parser.add_argument("--runs", type=int, help="at most so many runs per false claim")
    parser.add_argument(
        "--only", default="", metavar="NAME", help="only the stated faults with NAME in their names"
    )
    parser.add_argument(
        "--peer", action="append", default=[], metavar="NAME=PYTHON", help=", ".join(peers.PEERS)
    )
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "audits")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    return parser


def _part(name: str) -> str:
    """One of the parts; argparse would hold an empty list against a list of choices."""
    if name not in (*PARTS, "page"):
        raise argparse.ArgumentTypeError(f"part ({name!r}) must be one of: {', '.join(PARTS)}, page")
    return name


def _stated(path: Path, given: argparse.Namespace, executor: Executor, version: str) -> None:
    """Measure the faults that have no rows yet, then write the section on stated and real power."""
    labels = {"engine": version, "faults": stated.faults()}
    while todo := list(stated.tasks(read(path, **labels), given.runs, given.only)):
        collect(path, stated.measured, todo, executor, **labels)
    stated_page.rewrite(ROOT / stated_page.PAGE, read(path, faults=stated.faults()))
    say(f"wrote {stated_page.PAGE}")


def _overhead(path: Path, version: str) -> None:
    if not read(path, engine=version):
        with path.open("a", encoding="utf-8") as file:
            append(file, power.overhead(), {"engine": version})


def _peers(path: Path, pythons: dict[str, str]) -> None:
    """Ask the tools that are there; say of each that is not that it is skipped, and why."""
    for peer in peers.PEERS.values():
        left = list(peers.tasks(peer, read(path)))
        if peer.name not in pythons:
            say(f"{peer.name}: skipped ({len(left)} tasks); --peer {peer.name}=PYTHON, one that has it")
            continue
        try:
            with path.open("a", encoding="utf-8") as file:
                for row in peers.measured(peer, pythons[peer.name], left):
                    file.write(json.dumps(row) + "\n")
                    file.flush()
                    say(f"{row['peer']}, {row['claim']}, {row['samples']} samples: {row['seconds']:.1f} s")
        except (OSError, RuntimeError) as failure:
            say(f"{peer.name}: skipped: {failure}")


if __name__ == "__main__":
    main()
