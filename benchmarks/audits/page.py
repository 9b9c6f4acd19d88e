"""docs/audits.md: what was measured, and what it means."""

from __future__ import annotations

import os
import platform
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.audits import alarms, beside, boundary, figure, power, rich
from benchmarks.audits.rows import Row, read
from benchmarks.audits.tables import (
    alarm_table,
    boundary_table,
    overhead_table,
    power_table,
    seen_table,
    shares_table,
)

PAGE, IMAGE = Path("docs/audits.md"), Path("docs/images/audits.svg")


def write(root: Path, folder: Path, version: str) -> list[Path]:
    """Write the page and its figure; a section without rows of this engine stays as it is on the page."""
    measured = {part: read(folder / f"{part}.jsonl", engine=version) for part in SECTIONS}
    old = _text(root / PAGE)
    if measured["power"]:
        figure.draw(measured["power"], root / IMAGE)
    sections = {part: _section(part, rows, version, old) for part, rows in measured.items()}
    lines = [
        *_head(),
        *(line for part, found in sections.items() if part != "overhead" for line in found),
        *rich.section(rich.stored()),
        *sections["overhead"],
        *_beside(root, folder, measured["power"], measured["alarms"]),
        UNSEEN,
    ]
    (root / PAGE).write_text("\n".join(map(_wrapped, lines)), encoding="utf-8")
    return [root / PAGE, root / IMAGE]


def _section(part: str, rows: Sequence[Row], version: str, old: str) -> list[str]:
    """Return the lines of a section, with a table of the rows.

    Without rows, the section of the old page is returned; if it has none, the section says that nothing was measured.
    """
    title, *rest = SECTIONS[part](rows)
    how = f"`python -m benchmarks.audits {part}`"
    if rows:
        return [title, "", f"Measured with engine {version} by {how}.", *rest]
    start = old.find(f"{title}\n")
    if start < 0:
        return [title, "", f"Not measured yet: {how}.", ""]
    return [*old[start : old.index("\n## ", start)].splitlines(), ""]


def write_beside(root: Path, folder: Path) -> list[Path]:
    """Write the section on other tools, from the rows of the tools, and leave the rest of the page as it is."""
    beside.rewrite(root / PAGE, list(map(_wrapped, _beside(root, folder, [], []))))
    return [root / PAGE]


def _beside(root: Path, folder: Path, own: Sequence[Row], alarm_rows: Sequence[Row]) -> list[str]:
    return beside.section(read(folder / "peers.jsonl"), own, alarm_rows, _text(root / PAGE))


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8") if page.exists() else ""


def _wrapped(text: str) -> str:
    """A paragraph at the width of the page; lists, tables and titles as they are."""
    return text if text[:1] in "-|#!" else textwrap.fill(" ".join(text.split()), 115)


def _head() -> list[str]:
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return [
        "# The audits, measured",
        "",
        f"""Written by `python -m benchmarks.audits` on {machine}. Each section says which engine it was measured with.
An engine is named by a hash of the code that `dpproof.audits.engine.runner` loads. Counts of samples and of alarms
depend on the seeds only. Times are processor seconds on a machine with other work. They vary by about a third.""",
        "",
    ]


def _alarms(rows: Sequence[Row]) -> list[str]:
    return [
        "## False alarms",
        "",
        f"""These mechanisms meet their claims exactly: the true privacy, computed by the accountant or by
enumeration, equals
the claim. Only the test's level limits the number of false alarms. Each run is a whole audit (`dpproof.audit`:
the checks of the generator, the bets, the interval) with
a seed of its own, {alarms.SEEDS} seeds a mechanism (fewer in the table: not finished). The test is
anytime-valid: it checks its wealth after every block, about twenty times a run. An alarm at any
check counts, so the counts need no correction.
"Allowed" is the 99.9 % quantile of the number of alarms that a test of level exactly alpha would raise
in as many runs ({alarms.allowed(1000, 0.05)} and {alarms.allowed(1000, 0.01)} of 1,000). "Refused" counts runs
in which the checks of the generator found
the outputs to be dependent. Other seeds replace them.
"Floating point only" are runs in which low bits alone refuted: they are no alarms, for they are true of
numpy's noise, which keeps these claims on real numbers only.
""",
        "",
        *alarm_table(rows),
        "",
        """Each seed is audited at both levels, because the times of the checks depend on the level. The proof of
the level is in [notes/audit_betting.md](notes/audit_betting.md).""",
        "",
    ]


def _boundary(rows: Sequence[Row]) -> list[str]:
    return [
        "## False alarms by kind of output",
        "",
        f"""Sixty more mechanisms are exactly on their claims, ten for each kind of output
(`benchmarks/audits/boundary.py`). Each is audited with the default scores, {boundary.BUDGET:,} samples and alpha =
{boundary.ALPHA}, with {boundary.SEEDS} seeds a mechanism (fewer in the table: not finished). The last column shows the
mechanism with the most alarms. "Floating point only" is no alarm: low bits refute numpy's noise, and they are
right.""",
        "",
        *boundary_table(rows),
        "",
    ]


def _power(rows: Sequence[Row]) -> list[str]:
    return [
        "## Samples until a violation is found",
        "",
        f"""The table counts samples of both inputs together at alpha = {power.ALPHA}. The mechanism is a black
box, and no score is given.
"a -> b" means claimed epsilon a and true epsilon b. The Gaussian claims are (1, 1e-5), as the whole curve of the
Gaussian mechanism ("curve") or as one point of it ("point"). The mechanism has the stated share of the noise that
the claim needs. Every run continues until the violation is found or
{_budgets()} samples are spent.""",
        "",
        *power_table(rows),
        "",
        f"![samples against the true epsilon](images/{IMAGE.name})",
        "",
        """Lines are limits, and dots are means. Nine of ten runs end within the bar. The horizontal axis shows the
logarithm of the ratio minus 1.""",
        "",
        """**The limit.** A test of level .01 that refutes a false claim with probability .9 needs on average
at least
kl(.9, .01) / KL = 3.82 / KL samples. KL is the smallest relative entropy, per labelled sample, between the
mechanism and one that keeps the claim. This holds for any test, even if the test knows both distributions. For
pure claims KL has a closed form (the posterior of the label is clipped at the claim). For Gaussian claims it is
the growth rate of the best mixture of bets. It is computed to 0.1 % on about a hundred tail depths, which makes the
limit up to 3 % too large (`benchmarks/audits/limits.py`). Each run here continues until it refutes the claim. With
everything known, that needs ln(100) / 3.82 = 1.21 times the limit. The rest of the ratio is due to the unknown
distribution, its direction and the true epsilon.""",
        "",
        """**Audit the curve, not the point.** To refute a Gaussian claim at its stated point alone takes many
times the
samples: at epsilon = 1 only events of small mass differ by more than the claim allows. If a claim is a curve (a
noise multiplier, zCDP, Gaussian DP, a privacy loss distribution), the audit bets at several of its points.""",
        "",
    ]


def _budgets() -> str:
    found = sorted({trial.budget for trial in power.TRIALS.values()})
    return f"{found[0]:,} ({found[-1]:,} for the slowest row)"


def _shares(rows: Sequence[Row]) -> list[str]:
    return [
        "## What the default scores cost",
        "",
        """By default an audit also looks at the low bits of numbers and at whole outputs as tokens, each with
a small share of
the bets. If an output is one number, low bits have 5 %; for whole numbers tokens have 5 %, too. For several numbers the
weights are 0.35 for each of two linear discriminants, 0.3 for the best single coordinate, 0.15 for atoms,
0.1 for tokens and 0.05 for low bits. Scores of interactions, objects and images have 0.08 to 0.2 each. Here
each seed is
audited twice: with the main scores alone, and with the default. The table shows the mean samples until the
violation
is found without bits, at alpha = 0.01.""",
        "",
        *shares_table(rows),
        "",
        """A refutation needs evidence of at least ln(1 / alpha) = 4.6. A score with share w costs the other
scores ln(1 / (1 - w))
of this evidence: 1 % for a share of 5 %. If bits refute first, the other scores pay nothing, because the
second question
has its own level ([Theorem 6](notes/audit_betting.md)). A violation that only a score of share w detects needs
ln(1 / w)
more evidence than if all bets were on this score: 3.0 more for low bits.""",
        "",
    ]


def _seen(rows: Sequence[Row]) -> list[str]:
    return [
        '## What "consistent" is worth',
        "",
        f"""\"Consistent\" means that the audit would have detected twice the claimed epsilon with power 0.9.
The audit computes this
power from simulated bets on a reference pair with thresholds at the exact quantiles. Here whole audits are
run, with learned thresholds, on mechanisms with exactly twice the claimed epsilon at the
stated delta. The budget is the smallest (to 10 %) at which an audit of a true claim is consistent, because
*consistent* is then the weakest evidence. Alpha = {power.ALPHA}.""",
        "",
        *seen_table(rows),
        "",
    ]


def _overhead(rows: Sequence[Row]) -> list[str]:
    return [
        "## What an audit costs in time",
        "",
        """The table shows processor seconds for a million samples of one number each. Numpy draws them in two
calls. The audit of
a true claim uses all of them: the checks of the generator, two calls with their own seed for each of 30 to 40
blocks, bets, interval, and the violation that it would have detected. Each time is the least of fifteen, so
the portfolios
of the claim are already computed. The overhead is the time of the audit beyond the draws. """
        + _overhead_verdict(rows),
        "",
        *overhead_table(rows),
        "",
    ]


def _overhead_verdict(rows: Sequence[Row]) -> str:
    """Whether the target is met and, if not, why: docs/notes/audit_power.md has the breakdown."""
    if all(row["audited"] < 3 * row["drawn"] for row in rows):
        return "The target, below 2, is met."
    return "The target, below 2, is not met ([what takes the time](notes/audit_power.md))."


SECTIONS: dict[str, Callable[[Sequence[Row]], list[str]]] = {
    "alarms": _alarms,
    "boundary": _boundary,
    "power": _power,
    "shares": _shares,
    "seen": _seen,
    "overhead": _overhead,
}
"""The sections by their parts in the command line."""

UNSEEN = """## What no audit of this kind can see

- A leak of probability mass m cannot be detected before about ln(1 / alpha) / m samples. At alpha = .01 and
  m = 1e-5 that is 460,000. A leak with probability 1e-9 passes every feasible black-box audit.
- One pair of inputs is compared. A mechanism that violates its claim on other inputs passes.
  `dpproof.WorstOf` searches among given pairs.
- A mechanism that breaks its promise only after a number of calls or on a certain date passes before
  that.
- "Consistent" therefore always comes with the violation that would have been detected with 90 % power on a
  reference pair. It never means "private". The accountant's bound and the statement it rests on prove that the
  algorithm is private. The audit looks for deviations of the implementation.
"""
