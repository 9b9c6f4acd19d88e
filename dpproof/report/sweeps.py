"""The page on sweeps of packages, made from the recorded sweeps.

``python -m dpproof.report.pages`` writes it to ``docs/sweep.md`` with the other generated pages.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.sweep.coverage import answer_on
from dpproof.audits.sweep.record import VIOLATIONS, Record, recorded
from dpproof.audits.sweep.table import Meaning, Package, known_packages, package_named

HEAD = """# Sweeps of packages

`dpproof audit sweep PACKAGE` audits the private mechanisms of an installed package. The documentation of a package
rarely names a neighbouring relation. So each mechanism on data sets is audited under every relation that the
documentation could mean. A noise primitive has inputs that differ by its sensitivity ("by-sensitivity").

This page is generated from recorded sweeps. `dpproof audit sweep PACKAGE --replay` runs every recorded violation again
from its witness: the same inputs, the same seed, the same samples. If a package draws its noise from the operating
system, no seed determines it. The replay then has other noise and compares the verdict alone. If it does not confirm a
violation, it runs once more with four times the samples. On 2026-12-01 the 38 violations of diffprivlib, the 11 of
pipeline-dp, the 6 of multi-freq-ldpy and the 2 of python-dp replayed, and on 2026-11-30 the one of smartnoise-sql.
`python -m dpproof.report.pages` writes this page.

All 38 violations of diffprivlib were swept again on 2026-11-30, with the same verdicts as in the first sweep. Four of
them have smaller data sets than in the first sweep: three of KMeans, and RandomForestClassifier under
add-remove. Eight of them, and RandomForestClassifier under replace, were swept on a busy machine: the three of KMeans,
GaussianNB, LinearRegression, RandomForestClassifier and LaplaceBoundedDomain. Their seconds are up to seven times those
of the first sweep.

The power was measured for opendp and for some rows of diffprivlib. The sweep of opendp, of 2026-11-30, took 14
processor minutes. In its further classes of events, narrow events were rare then: the [page on planted
faults](planted-faults.md) says why that matters. The rows name the classes as they were named then. "Presence or order
of a token" mixes both, so it says little about one order of words. In the other sweeps the power was not measured
("power=False was given"), so none of these rows can be *consistent*. On 2026-11-30 the power of three rows of
diffprivlib was measured in a trial: tools.count_nonzero under replace, tools.histogram and tools.histogram2d under
add-remove. This took 22, 54 and 156 processor seconds, and none of the three became consistent. All of these rows
together would take too long.

- **One error probability covers a whole sweep.** Each claim has an equal share. Half of it is for the audit of the
  claim, and half for the audits that try smaller data sets.
- **A violation** is false with at most this probability. A bound "epsilon at least" holds with the same confidence.
- **Recorded** says where two runs with the same noise differ, with the file and the line in the package, if the
  package's noise can be recorded. It explains a violation and is no proof of one.
- **A violation through floating-point bits only** was not found without the lowest bits. So the claim may hold in real
  arithmetic. That is not shown.
- **Consistent and inconclusive are no proofs of privacy.** The last column says what the audit would have found, or why
  this is not known.
- **Status.** *Known*: the package's tracker has it, or a part of it. *New*: a search in a stored copy of the tracker
  did not find it. *By design*: the code is written for another relation. The documentation says so, or does not exclude
  it. No audit shows that the claim holds under the other relation. *Float only*: only bits show it. The drafts of
  reports in `docs/sweep/` have the details. Nothing was sent to anybody.
- **A finding that we call new may be known.** The stored copy shows only the beginning of each thread. It has no thread
  of multi-freq-ldpy. An issue of diffprivlib (104) names k-means, and we could not read that item.
- **"Computed exactly"** stands before a figure that a test computes without samples, from a reading of the published
  code (`tests/audits/test_exact_k_means.py`, `test_exact_findings.py`, `test_exact_bits.py` and `test_sweep.py`). The
  computation is in real arithmetic, or in doubles for a violation through floating-point bits. A figure is shown for
  the deltas that it names. That does not mean that the claim holds at a larger delta. If diffprivlib is installed,
  tests compare the readings of KMeans, GaussianNB, LinearRegression, the variances and the noise in doubles with its
  code.
- **"With confidence 1 - 1e-6"** stands before a figure that is exact in part (`tests/audits/test_exact_bits.py`). The
  arithmetic of doubles excludes an event on one input, whatever the noise is. Its probability on the other input comes
  from 10,000 samples of the package (a Clopper-Pearson bound), not from a computation. The confidence is for each
  figure alone. For a violation with neither figure, the audit alone shows it.

**Packages without a sweep.** The installer found no version of ektelo, dp-stats, openmined and smartnoise for Python
3.11 in the package index ("from versions: none"). jax-privacy, opacus, smartnoise-synth, tmlt-analytics and
tensorflow-privacy have no table yet. The installer finds versions of the first four. The last one was installed without
TensorFlow only.

Samples include the search among the inputs and the audits of smaller data sets. They do not include the samples that
measure the power. Seconds are processor seconds of everything.
"""
CONFIDENCE = "With confidence 1 - 1e-6"
IMPOSSIBLE = "an event that cannot occur on one input has a probability of at least {:g} on the other"
COLUMNS = "| mechanism | relation | claim | verdict | epsilon at least | samples | seconds | what it means |"


def page() -> str:
    """Return the page as Markdown."""
    parts = [HEAD]
    for name in known_packages():
        try:
            parts += _package(recorded(name))
        except ValueError:  # no sweep of this package is recorded
            continue
    return "\n".join(parts)


def _package(record: Record) -> Iterator[str]:
    about, table = record.about, package_named(record.about["package"])
    beside = ", ".join(f"{name} {version}" for name, version in about["beside"].items())
    yield f"## {about['package']} {about['version']}\n"
    yield "\n".join(f"- {sentence}" for sentence in answer_on(record))
    seconds = sum(row["seconds"] for row in record.rows.values())
    yield f"- The sweep took {seconds / 60:.1f} processor minutes. Seed {about['seed']}."
    yield f"- {table.says}"
    yield f"- Python {about['python']}, {beside}. Files of the package: `{about['files']}`."
    for what, why in table.omitted.items():
        yield f"- Not audited: {what} ({why})."
    yield f"\n{COLUMNS}\n|---|---|---|---|---|---|---|---|"
    yield from (_row(row, table) for row in record.rows.values())
    yield ""


def _row(row: Mapping[str, Any], table: Package) -> str:
    claim = f"{row['epsilon']:g}" + (f", delta {row['delta']:g}" if row["delta"] else "")
    lower = f"{row['epsilon_lower']:.2f}" if row["verdict"] in VIOLATIONS else ""
    cells = [
        row["mechanism"],
        row["relation"],
        claim,
        row["verdict"],
        lower,
        f"{row['samples']:,}",
        f"{row['seconds']:g}",
    ]
    return f"| {' | '.join([*cells, _meaning(row, table)])} |"


def _meaning(row: Mapping[str, Any], table: Package) -> str:
    if row["verdict"] not in VIOLATIONS:
        return row.get("error") or row["weakness"] or _seen(row["power"])
    meaning = meaning_of(row, table)
    pair = f"Inputs: `{row['pair']}`." + (f" Recorded: {row['where']}" if "where" in row else "")
    if meaning is None:
        return pair
    exact = "" if meaning.exact is None else f" Computed exactly: {_exactly(meaning.exact, meaning.delta)}."
    if meaning.seen:
        exact += f" {CONFIDENCE}, {IMPOSSIBLE.format(meaning.seen)}. So {_exactly(math.inf, meaning.seen)}."
    draft = f" Draft, section {meaning.draft}." if meaning.draft else ""
    return f"**{meaning.status}.** {meaning.text}{exact} {pair}{draft}"


def meaning_of(row: Mapping[str, Any], table: Package) -> Meaning | None:
    """Return what people found out about a violation; None if nobody has written it down."""
    claim = row["mechanism"], Adjacency.of(row["relation"])
    bits = table.bits if row["verdict"] == Finding.FLOATING_POINT.value else None
    if bits:
        exact = math.inf if claim in table.bits_exact else None
        bits = replace(bits, exact=exact, seen=table.bits_seen.get(claim, 0.0))
    return table.meanings.get(claim) or bits


def _exactly(epsilon: float, delta: float) -> str:
    if epsilon == math.inf:
        return "no finite epsilon holds at " + (f"any delta below {delta:g}" if delta else "delta 0")
    if delta:
        return f"epsilon is at least {epsilon:.3g} at every delta below {delta:g}"
    return f"the least epsilon of these inputs is {epsilon:.3g}"


def _seen(power: Mapping[str, Any]) -> str:
    classes = ", ".join(power)
    return f"Twice the claim would have been found in: {classes}."
