"""docs/audits.md: what was measured, and what it means."""

from __future__ import annotations

import os
import platform
import textwrap
from collections.abc import Sequence
from pathlib import Path

from benchmarks.audits import alarms, figure, peers, power
from benchmarks.audits.rows import Row, read
from benchmarks.audits.tables import (
    alarm_table,
    overhead_table,
    peer_table,
    power_table,
    seen_table,
    shares_table,
)

PAGE, IMAGE = Path("docs/audits.md"), Path("docs/images/audits.svg")


def write(root: Path, folder: Path, version: str) -> list[Path]:
    """Write the page and its figure from the rows of this engine; a part without rows says so."""
    measured = {
        part: read(folder / f"{part}.jsonl", engine=version)
        for part in ("alarms", "power", "shares", "seen", "overhead")
    }
    others = read(folder / "peers.jsonl")
    figure.draw(measured["power"], root / IMAGE)
    lines = [
        *_head(version),
        *_alarms(measured["alarms"]),
        *_power(measured["power"]),
        *_shares(measured["shares"]),
        *_seen(measured["seen"]),
        *_overhead(measured["overhead"]),
        *_peers(others, measured["power"], measured["alarms"]),
        UNSEEN,
    ]
    (root / PAGE).write_text("\n".join(map(_wrapped, lines)), encoding="utf-8")
    return [root / PAGE, root / IMAGE]


def _wrapped(text: str) -> str:
    """A paragraph at the width of the page; lists, tables and titles as they are."""
    return text if text[:1] in "-|#!" else textwrap.fill(" ".join(text.split()), 115)


def _head(version: str) -> list[str]:
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return [
        "# The audits, measured",
        "",
        f"""Written by `python -m benchmarks.audits` (engine {version}, a hash of the code that
`dpproof.audits.engine.runner` loads) on {machine}. Counts of samples and of alarms depend on the seeds only. Times are
processor seconds on a machine that was shared with other work; there they vary by a third or so.""",
        "",
    ]


def _or_missing(rows: Sequence[Row], lines: list[str], part: str) -> list[str]:
    return lines if rows else [f"Not measured with this engine: `python -m benchmarks.audits {part}`.", ""]


def _alarms(rows: Sequence[Row]) -> list[str]:
    return [
        "## False alarms",
        "",
        f"""Sound mechanisms exactly on their claims: the truth, computed by the accountant or by
enumeration, equals the claim, so nothing but the test's level keeps the audit from calling a violation.
Each run is a whole audit (`dpproof.audit`: the checks of the generator, the bets, the interval) with
a seed of its own, {alarms.SEEDS} seeds a mechanism (fewer in the table: not finished). The test is
anytime-valid: the wealth is looked at after every block, some twenty times a run, and an alarm at any
of them counts. So the counts are over the whole stream and there is no correction for looking.
"Allowed" is the 99.9 % quantile of the number of alarms that a test of level exactly alpha would raise
in as many runs ({alarms.allowed(1000, 0.05)} and {alarms.allowed(1000, 0.01)} of 1,000). "Refused" are
runs in which the checks of the generator took the outputs for dependent; further seeds replace them.
"Floating point only" are runs in which low bits alone refuted: they are no alarms, for they are true of
numpy's noise, which keeps these claims on real numbers only.
""",
        "",
        *_or_missing(rows, [*alarm_table(rows), ""], "alarms"),
        """Each seed is audited at both levels, for when an audit looks depends on its level. Proof of the
level: [notes/audit_betting.md](notes/audit_betting.md).""",
        "",
    ]


def _power(rows: Sequence[Row]) -> list[str]:
    return [
        "## Samples until a violation is found",
        "",
        f"""At alpha = {power.ALPHA}; samples of both inputs together; the mechanism is a black box and
no score is given. "a -> b": claimed and true epsilon. The Gaussian claims are (1, 1e-5), as the whole
curve of the Gaussian mechanism ("curve") or as that one point of it ("point"); the mechanism has the
stated share of the noise that the claim needs. Every run goes on until the violation is found or
{_budgets()} samples are spent.""",
        "",
        *_or_missing(rows, [*power_table(rows), ""], "power"),
        f"![samples against the true epsilon](images/{IMAGE.name})",
        "",
        """Lines are limits, dots means, bars reach up to what nine of ten runs keep within; the horizontal
axis is logarithmic in what the ratio exceeds 1 by.""",
        "",
        """**The limit.** Whoever refutes at level .01, and with probability .9 where the claim is
false, spends on average at least kl(.9, .01) / KL = 3.82 / KL samples; KL is the smallest relative
entropy, per labelled sample, between the mechanism and one that keeps the claim. This holds for any
test, also one that knows both laws. For pure claims KL has a closed form (the posterior of the label is
clipped at the claim); for Gaussian claims it is the growth rate of the best mixture of bets, computed
to 0.1 % on some hundred tail depths, which makes the limit up to 3 % too large
(`benchmarks/audits/limits.py`). A run here waits until it is certain, which costs ln(100) / 3.82 = 1.21
times the limit with everything known; the rest of the ratio is the price of not knowing the law, its
direction, nor the true epsilon.""",
        "",
        """**Audit the curve, not the point.** A Gaussian claim refuted at its stated point alone takes
many times the samples: at epsilon = 1 only events of small mass differ by more than the claim allows.
Where a claim is a curve (a noise multiplier, zCDP, Gaussian DP, a privacy loss distribution), the audit
bets at several of its points.""",
        "",
    ]


def _budgets() -> str:
    found = sorted({trial.budget for trial in power.TRIALS.values()})
    return f"{found[0]:,} ({found[-1]:,} for the slowest row)"


def _shares(rows: Sequence[Row]) -> list[str]:
    return [
        "## What the default scores cost",
        "",
        """By default an audit also looks at the low bits of numbers and at whole outputs as tokens, each
with a small share of the bets. Where an output is one number, low bits have 5 %, of whole numbers
also tokens. Where there are several, each of the two linear discriminants has 35 %, atoms have 15 %, tokens
10 % and low bits 5 %. Here each seed is audited twice: with the main scores alone, and with the default.
Mean samples until the violation is found without bits, at alpha = 0.01.""",
        "",
        *_or_missing(rows, [*shares_table(rows), ""], "shares"),
        """What a share w costs the others is ln(1 / (1 - w)) of the evidence that refutes, which is
ln(1 / alpha) = 4.6 and some: 1 % for a share of 5 %. Where bits refute first the others pay nothing, for
the second question has a level of its own ([Theorem 6](notes/audit_betting.md)). What only a score of share
w sees needs ln(1 / w) more evidence than if one bet on nothing else: 3.0 more for low bits.""",
        "",
    ]


def _seen(rows: Sequence[Row]) -> list[str]:
    return [
        '## What "consistent" is worth',
        "",
        f"""\"Consistent\" says that twice the claimed epsilon would have been seen with power 0.9. An audit
says so of itself, by simulating its bets on a reference pair with thresholds at the exact quantiles. Here
whole audits are run, with thresholds that they learn, on mechanisms with exactly twice the claimed epsilon
at the stated delta, within the smallest budget (to 10 %) at which an audit of the true claim comes out
consistent: where the word says least. Alpha = {power.ALPHA}.""",
        "",
        *_or_missing(rows, [*seen_table(rows), ""], "seen"),
    ]


def _overhead(rows: Sequence[Row]) -> list[str]:
    return [
        "## What an audit costs in time",
        "",
        """Processor seconds for a million samples of one number each: numpy drawing them in two calls,
and a whole audit of a true claim, which spends them all: the checks of the generator, two calls with a
seed of their own for each of 30 to 40 blocks, bets, interval, and the violation that would have been seen.
The least of fifteen, so portfolios of the claim are computed already. Overhead is what the audit takes beyond
the draws. """
        + _overhead_verdict(rows)
        if rows
        else "",
        "",
        *_or_missing(rows, [*overhead_table(rows), ""], "overhead"),
    ]


def _overhead_verdict(rows: Sequence[Row]) -> str:
    """Whether the target is met and, if not, why: docs/notes/audit_power.md has the breakdown."""
    if all(row["audited"] < 3 * row["drawn"] for row in rows):
        return "The target, below 2, is met."
    return "The target, below 2, is not met ([what takes the time](notes/audit_power.md))."


def _peers(rows: Sequence[Row], own: Sequence[Row], alarm_rows: Sequence[Row]) -> list[str]:
    versions = sorted({f"{row['peer']} {row['version']}" for row in rows})
    runs = ", ".join(f"{name} {peer.runs}" for name, peer in peers.PEERS.items())
    missing = [name for name in peers.PEERS if name not in {row["peer"] for row in rows}]
    return [
        "## Beside other tools",
        "",
        f"""On the same claims, at confidence 99 %. {"; ".join(versions)}. Runs of each size: {runs}. The
others take a number of samples fixed beforehand, so each was tried with several: "refutes with" is the fewest
samples, of both inputs together, from which on at least nine of ten runs refuted the claim; for
dpproof, which stops by itself, the mean and what nine of ten runs kept within. "Bound" is the median
lower bound on epsilon. Times are medians of processor seconds of one run.""",
        "",
        """- jax-privacy: `CanaryScoreAuditor.epsilon_clopper_pearson` over all thresholds. It is given
  the output as the score, which is the optimal one here; the others have to find theirs.
- dp-sniper: logistic regression with its own defaults, event mass at least .01, then an exact interval
  on fresh samples; as many samples per input in each of its phases (training on both inputs, threshold
  on one, bound on both: five times the size in all). One pair of inputs, one process. It judges pure
  claims only.
- dp_auditorium: the hockey-stick tester with its default network, half of the samples for training,
  Hoeffding's bound on the other half; both orders of the inputs at half the failure probability each.
  It rejects or does not, and bounds delta.""",
        "",
        *_or_missing(rows, [*peer_table(rows, own, alarm_rows), ""], "peers --peer NAME=PYTHON"),
        *([f"Not measured: {', '.join(missing)}.", ""] if missing else []),
    ]


UNSEEN = """## What no audit of this kind can see

- A leak of probability mass m does not show before about ln(1 / alpha) / m samples: at alpha = .01 and
  m = 1e-5 that is 460,000, and whoever leaks with chance 1e-9 passes every black-box audit that can be
  paid for.
- One pair of inputs is compared. A mechanism that misbehaves on other inputs passes;
  `dpproof.WorstOf` searches among pairs that are given.
- A mechanism that waits, and breaks its promise after so many calls or on a certain date, passes
  before.
- "Consistent" therefore always comes with the violation that would have been seen with 90 % power on a
  reference pair, and never means "private". What proves privacy is the accountant's bound and the
  statement it rests on, for the algorithm; the audit looks for what the implementation does otherwise.
"""
