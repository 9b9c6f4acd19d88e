"""A thousand million draws of each rounded noise against exact probabilities of their cells.

    python -m benchmarks.soundness.rounded_noise [--draws N] [--folder DIR]

The compiled code draws from the operating system's entropy. The probabilities are differences of tails by Arb (erfc and
exp), while the sampler inverts the tail. Alpha is 1e-6 for each chi-square test. As a control, the same counts must be
rejected for a noise scale that is larger by a factor of 1.0005.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
from flint import arb
from numpy.typing import NDArray
from scipy import stats

from dpproof.accountant.numbers.enclosures import arb_of, precision
from dpproof.mechanisms.release.rounded_noise import RoundedLaplace, RoundedNormal

FILE = "rounded_noise.json"
DRAWS, ALPHA, CONTROL = 10**9, 1e-6, Fraction(10_005, 10_000)
CASES = (
    RoundedNormal(Fraction(1, 3)),
    RoundedNormal(Fraction(5, 2)),
    RoundedNormal(Fraction(1000)),
    RoundedNormal(Fraction(2**30)),
    RoundedLaplace(Fraction(5, 2)),
)
_PART, _CELLS = 10**6, 128
Noise = RoundedNormal | RoundedLaplace


@dataclass(frozen=True)
class Row:
    """What one case gave: the p-value, that of the control, and the cells that were compared."""

    name: str
    draws: int
    cells: int
    p_value: float
    control: float
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether the law was accepted and the control rejected."""
        return self.p_value > ALPHA > self.control


def checked(noise: Noise, draws: int) -> Row:
    """Draw, count the cells, and compare the counts with both laws."""
    start, shift = time.perf_counter(), max(0, int(_scale(noise) / 8).bit_length() - 1)
    counts = np.zeros(_CELLS, np.int64)
    for begin in range(0, draws, _PART):
        drawn = noise.draw(min(_PART, draws - begin)) >> shift
        counts += np.bincount(np.clip(drawn + _CELLS // 2, 0, _CELLS - 1), minlength=_CELLS)
    seconds = time.perf_counter() - start
    (p_value, cells), (control, _) = (
        _tested(noise, shift, counts, factor) for factor in (Fraction(1), CONTROL)
    )
    return Row(repr(noise), draws, cells, p_value, control, seconds)


def _scale(noise: Noise) -> Fraction:
    return noise.sigma if isinstance(noise, RoundedNormal) else noise.scale


def _tested(noise: Noise, shift: int, counts: NDArray[np.int64], factor: Fraction) -> tuple[float, int]:
    """Return the p-value, and the number of cells. Cells with an expectation below 5 are one cell."""
    law = _probabilities(noise, shift, factor) * counts.sum()
    kept = law >= 5
    seen, expected = np.append(counts[kept], counts[~kept].sum()), np.append(law[kept], law[~kept].sum())
    if expected[-1] < 5:
        seen[-2:], expected[-2:] = (0, seen[-2:].sum()), (0, expected[-2:].sum())
        seen, expected = np.delete(seen, -2), np.delete(expected, -2)
    return float(stats.chisquare(seen, expected * (seen.sum() / expected.sum())).pvalue), len(seen)


def _probabilities(noise: Noise, shift: int, factor: Fraction) -> NDArray[np.float64]:
    """Return the probabilities of the cells. The first and the last cell have the tails."""
    with precision(100):
        scale = arb_of(_scale(noise) * factor)
        edges = [arb(2 * (cell << shift) - 1) / 2 / scale for cell in range(1 - _CELLS // 2, _CELLS // 2)]
        below = [arb(0), *(_below(noise, edge) for edge in edges), arb(1)]
        return np.array([float(b - a) for a, b in pairwise(below)])


def _below(noise: Noise, x: arb) -> arb:
    """Return the probability that the noise of scale 1 is below x."""
    if isinstance(noise, RoundedNormal):
        return (-x / arb(2).sqrt()).erfc() / 2
    return x.exp() / 2 if x < 0 else 1 - (-x).exp() / 2


def section(folder: Path) -> list[str]:
    """Return the lines of the page, or none if this was never run."""
    path = folder / FILE
    if not path.exists():
        return []
    rows = [Row(**row) for row in json.loads(path.read_text(encoding="utf-8"))]
    lines = ["", "## Rounded noise", ""]
    lines += [
        f"`python -m benchmarks.soundness.rounded_noise`: {' '.join((__doc__ or '').split('DIR]')[1].split())}"
    ]
    lines += ["", "| noise | draws | cells | p-value | p-value of the control | seconds | passed |"]
    lines += ["|---|---|---|---|---|---|---|"]
    return lines + [
        f"| `{row.name}` | {row.draws:.0e} | {row.cells} | {row.p_value:.3f} | {row.control:.0e} | {row.seconds:.0f} "
        f"| {'yes' if row.passed else 'no'} |"
        for row in rows
    ]


def main() -> None:
    """Run all cases, store the rows and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument(
        "--folder", type=Path, default=Path(__file__).resolve().parents[2] / "build" / "campaign"
    )
    given = parser.parse_args()
    rows = []
    given.folder.mkdir(parents=True, exist_ok=True)
    for noise in CASES:
        rows.append(checked(noise, given.draws))
        (given.folder / FILE).write_text(json.dumps([asdict(row) for row in rows]), encoding="utf-8")
        print(rows[-1], flush=True)
    if not all(row.passed for row in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
