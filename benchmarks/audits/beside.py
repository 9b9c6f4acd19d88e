"""The section of docs/audits.md on other tools. Rows that are not measured now are kept from the page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.audits import peers
from benchmarks.audits.rows import Row
from benchmarks.audits.tables import HEADS, by, peer_lines, table

TITLE = "## Beside other tools"
Lines = dict[tuple[str, ...], list[str]]
TOOLS = ("tool", "version", "last measured on", "runs of each size")


def section(rows: Sequence[Row], own: Sequence[Row], alarm_rows: Sequence[Row], old: str) -> list[str]:
    """Return the paragraphs of the section.

    Args:
        rows: the measured rows of the tools.
        own: dpproof's rows of samples until a violation is found.
        alarm_rows: dpproof's rows of false alarms.
        old: the text of the page as it was, whose rows stay where nothing was measured.
    """
    claims, order = [claim.name for claim in peers.CLAIMS], ["dpproof", *peers.PEERS]
    tools: Lines = {(line[0],): line for line in _tools(rows)}
    answers: Lines = {(line[0], line[1]): line for line in peer_lines(rows, own, alarm_rows)}
    shown = sorted(
        (_kept(old, HEADS, 2) | answers).values(),
        key=lambda line: (claims.index(line[0]), order.index(line[1])),
    )
    listed = sorted((_kept(old, TOOLS, 1) | tools).values(), key=lambda line: order.index(line[0]))
    return [
        TITLE,
        "",
        HEAD,
        "",
        *table(TOOLS, listed),
        "",
        GIVEN,
        "",
        *table(HEADS, shown),
        "",
        AFTER,
        "",
        _why(),
        "",
    ]


def rewrite(page: Path, lines: Sequence[str]) -> None:
    """Replace the section in the page, and leave the rest of the page as it is."""
    old = page.read_text(encoding="utf-8")
    start = old.index(TITLE)
    page.write_text(old[:start] + "\n".join(lines) + old[old.index("\n## ", start) :], encoding="utf-8")


def _tools(rows: Sequence[Row]) -> Iterator[list[str]]:
    """Lines on the tools that are measured: version, last day, number of runs."""
    for name, mine in by(rows, "peer").items():
        last = max(mine, key=lambda row: str(row.get("date", "")))
        yield [name, last["version"], last.get("date", ""), f"{peers.PEERS[name].runs}"]


def _kept(page: str, heads: Sequence[str], key: int) -> Lines:
    """Return the lines of the table with these heads, by their first cells; none if the page has no such table."""
    lines = page.splitlines()
    first = f"| {' | '.join(heads)} |"
    start = lines.index(first) + 2 if first in lines else len(lines)
    found: Lines = {}
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        found[tuple(cells[:key])] = cells
    return found


HEAD = """The tools run on the same claims, at confidence 99 %, with fixed seeds. `python -m benchmarks.audits peers
--peer NAME=PYTHON` measures the tools that are named, and rewrites their rows in the tables of this section. The
other rows stay as they are. `benchmarks/audits/peers.py` describes what such a Python needs."""
GIVEN = """- dpproof gets a function that draws outputs. Its rows on claims of epsilon 1 are from the sections above,
  and the row on the claim of 0.1 is from the version in the table. "paired runs" is `dpproof.compare_runs`.
- jax-privacy: `CanaryScoreAuditor.epsilon_clopper_pearson` over all thresholds. It is given the output as the score,
  which is optimal here. The other tools must find their scores.
- dp-sniper: logistic regression with its own defaults and event mass at least .01, then an exact interval on fresh
  samples. Each phase uses the same number of samples per input (training on both inputs, threshold on one, bound on
  both: five times the size in all). One pair of inputs, one process. It tests pure claims only.
- statdp: ten intervals of the output are tried on half of the samples, and the best one is tested on the other half.
  Each direction has half of the error probability. It tests pure claims and gives no bound.
- dp_auditorium: the hockey-stick tester with its default network. Half of the samples are for training, and
  Hoeffding's bound uses the other half. Each order of the inputs has half the failure probability. It rejects the
  claim or does not, and bounds delta.
- MMD e-process: the sequential test of Gonzalez, Dulce-Rubio, Ramdas and Ribero ([arXiv
  2509.07055](https://arxiv.org/abs/2509.07055)), with the classes of the authors' notebook. It gets outputs only.
  The bandwidth of its kernel is the median distance of the first 20 samples of each input. We give it a smaller
  threshold than the notebook: the square root of 2 times the largest total variation distance that the claim allows.
  The MMD of a kernel with values from 0 to 1 exceeds it only if the claim is false.
- dp-recorder ([arXiv 2602.17454](https://arxiv.org/abs/2602.17454)): it needs the source code. We annotate the noise
  call, so the tool gets its input, its sensitivity (1) and its scale. It compares two runs first. They show nothing
  here, because the input of the call moves by at most its sensitivity. With *sampled noise* it then samples the call:
  half of the samples train a logistic regression, and the other half bound epsilon at one threshold. With *trusted
  noise* it gets an accountant for the call (dp-accounting) and computes epsilon from the scale, without a sampling
  error. A fault inside the noise primitive is invisible to it then. The paired runs of dpproof work in this way,
  too."""
AFTER = """dpproof and the MMD e-process stop by themselves. Their column "refutes with" shows the mean, and the
samples that nine of ten runs needed at most. The other black-box tools need a number of samples in advance, so each
was tried with several numbers. For them "refutes with" is the smallest number of samples, of both inputs together,
from which on at least nine of ten runs refuted the claim. "Bound" is the median lower bound on epsilon. Times are
medians of processor seconds of one run. A tool without a row was not run on this claim."""


def largest_mmd(claim: peers.Claim) -> float:
    """Return the largest MMD of the outputs on both inputs, over the bandwidths of the kernel of the MMD e-process.

    The squared MMD is 2 E[k(D) - k(D + 1)], where D is the difference of two noises. The expectation is computed by
    numerical integration.
    """
    step = claim.scale / 200
    at = np.arange(-60 * claim.scale, 60 * claim.scale, step)
    size = np.abs(at) / claim.scale
    density = (1 + size) * np.exp(-size) / 4 if claim.mechanism == "laplace" else _gaussian(size)

    def squared(bandwidth: float) -> float:
        apart = np.exp(-((at / bandwidth) ** 2) / 2) - np.exp(-(((at + 1) / bandwidth) ** 2) / 2)
        return float(2 * np.sum(density * apart) * step / claim.scale)

    return math.sqrt(max(squared(claim.scale * share) for share in np.geomspace(0.1, 4, 80)))


def _gaussian(size: Any) -> Any:
    """Density of the difference of two standard normal numbers."""
    return np.exp(-(size**2) / 4) / math.sqrt(4 * math.pi)


def threshold(claim: peers.Claim) -> float:
    """Return the threshold of the MMD e-process: the square root of 2 times the largest total variation distance.

    Let t be the total variation distance of P and Q. Then P - Q is t times a difference of two distributions, whose
    squared MMD is at most 2, because the kernel has values from 0 to 1. Under (epsilon, delta) in both directions, t is
    at most 1 - 2 (1 - delta) / (1 + e^epsilon).
    """
    return math.sqrt(2) * (1 - 2 * (1 - claim.delta) / (1 + math.exp(claim.claimed)))


def _why() -> str:
    """Say for which claims no number of samples helps the MMD e-process."""
    values = "; ".join(
        f"{claim.name}: {largest_mmd(claim):.3f}, threshold {threshold(claim):.3f}"
        for claim in peers.CLAIMS
        if claim.true > claim.claimed
    )
    return f"""The MMD e-process tests whether the MMD of the outputs exceeds its threshold. The largest MMD over all
bandwidths of the kernel, computed by numerical integration, is: {values}. Where it is below the threshold, no number of
samples refutes the claim. Where it exceeds the threshold by 0.01, many more samples are needed than were tried. The
test is made for small epsilons, so we added the claim of 0.1."""
