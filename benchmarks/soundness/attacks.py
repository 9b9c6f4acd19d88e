"""Run the attacks by brute force, go on where they stopped, and write their section of docs/soundness.md.

    python -m benchmarks.soundness.attacks [--minutes M] [--folder DIR] [--only NAME]

Each instance has a seed of its own and is stored when it is done. The attacks take turns. An instance whose bound
looks wrong is computed again on a finer grid.
"""

from __future__ import annotations

import argparse
import json
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.soundness import attack_sampling, attack_selection, attack_sparse
from benchmarks.soundness.attack import Attack, Seen

ATTACKS = (*attack_sampling.ATTACKS, *attack_sparse.ATTACKS, *attack_selection.ATTACKS)
FILE, TITLE = "attacks.jsonl", "## Attacked by brute force"
ROOT = Path(__file__).resolve().parents[2]
_FINE = 3


def seen(attack: Attack, number: int) -> Seen:
    """Return the result of one instance. A finer grid must confirm that a bound is wrong."""

    def once(fine: int) -> Seen:
        return attack.once(np.random.default_rng([zlib.crc32(attack.name.encode()), number]), fine)

    found = once(1)
    return once(_FINE) if found.wrong else found


def read(folder: Path) -> list[dict[str, Any]]:
    """Return the instances that are stored in a folder."""
    path = folder / FILE
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def run(folder: Path, minutes: float, only: str | None) -> None:
    """Attack until the time is over or all instances are done."""
    folder.mkdir(parents=True, exist_ok=True)
    deadline, known = time.monotonic() + 60 * minutes, read(folder)
    done = {(row["attack"], row["number"]) for row in known}
    spent = {a.name: sum(r["seconds"] for r in known if r["attack"] == a.name) for a in ATTACKS}
    left = {
        attack.name: [(attack, n) for n in range(attack.points)[::-1] if (attack.name, n) not in done]
        for attack in ATTACKS
        if only in (None, attack.name)
    }
    with (folder / FILE).open("a", encoding="utf-8") as file:
        while (waiting := [name for name in left if left[name]]) and time.monotonic() < deadline:
            attack, number = left[min(waiting, key=lambda name: spent[name])].pop()
            start = time.process_time()
            found = seen(attack, number)
            seconds = time.process_time() - start
            spent[attack.name] += seconds
            row = {"attack": attack.name, "number": number, "seconds": seconds, **vars(found)}
            file.write(json.dumps(row) + "\n")
            file.flush()
            if found.wrong:
                print(attack.name, number, found.detail, flush=True)


def section(folder: Path) -> list[str]:
    """Return the lines of the page, or none if no attack was made in this folder."""
    rows = read(folder)
    if not rows:
        return []
    lines = ["", TITLE, "", *_WORDS.strip().splitlines(), ""]
    lines += ["| attacked | independent method | instances | largest share of an upper bound | wrong now |"]
    lines += ["|---|---|---|---|---|"]
    for attack in ATTACKS:
        here = [row for row in rows if row["attack"] == attack.name]
        if here:
            reach, wrong = max(row["reach"] for row in here), sum(row["wrong"] for row in here)
            lines += [f"| {attack.name} | {attack.method} | {len(here)} | {reach:.4f} | {wrong} |"]
    return [*lines, *_FOUND.rstrip().splitlines()]


_WORDS = """
`python -m benchmarks.soundness.attacks` writes this section. Each instance is a small mechanism. Its delta is
computed by a method that shares no code with the accountant. A bound is wrong if the computed delta is above the upper
bound, or if the lower bound is above what its pair of neighbours reaches. Sums over grids of outputs are compared
within 0.1 %. An instance that looks wrong is computed again on a grid that is three times as fine.
"""
_FOUND = """
These attacks, and the reading of the code for them, found no bound on the wrong side of what it claims. They found
three answers that said too little. All are mended:

- Partition selection: both bounds were the optimum for arbitrary (epsilon, delta)-DP decisions. So they enclosed the
  best value of the guarantee, and not the delta of the mechanism, and nothing in the printed number said so. At
  group_epsilon 1, group_delta 0.01, one group and epsilon 0 they were 0.4675, and the true delta is 0.4386. The lower
  bound is now that of a few explicit tables.
- Random allocation with banded noise, or with a column norm other than 1: where the upper bound was that of a known
  draw, the lower bound was the same number. No pair is known to reach it. With independent noise of deviation 1, and
  one of 3 steps, it was 0.3829 at epsilon 0, and the true delta is 0.2540. The lower bound is now 0.
- Random allocation at deltas of 1e-100 and below: the upper bound of epsilon was infinite. It is now at most that of
  a known draw. At noise 1, 10 steps and delta 1e-300, epsilon is between 12.3 and 37.5.

The largest share of an upper bound says how strong the attacks are. For sparse vectors and for filters it is small:
these attacks would not see an upper bound that is a little too low.

Earlier rounds attacked other theorems by programs that are not in the repository. So these figures cannot be
regenerated: 1,235 shuffled mechanisms, 450 trees of counters, 254 ways to sample, about 96 sparse vectors, and 176
regrets. They found two wrong lower bounds of mu: for several guarantees together, and for one Renyi order. Both are
mended.
"""


def write(page: Path, folder: Path) -> None:
    """Replace the section at the end of the page."""
    before = page.read_text(encoding="utf-8").split(f"\n{TITLE}\n")[0].rstrip("\n")
    page.write_text("\n".join([before, *section(folder), ""]), encoding="utf-8")


def main() -> None:
    """Parse, run, write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "campaign")
    parser.add_argument("--only", choices=[attack.name for attack in ATTACKS])
    given = parser.parse_args()
    run(given.folder, given.minutes, given.only)
    write(ROOT / "docs" / "soundness.md", given.folder)


if __name__ == "__main__":
    main()
