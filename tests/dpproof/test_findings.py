"""The findings speak of everything that is refuted or restricted, and of nothing that is not registered."""

from __future__ import annotations

import re
from pathlib import Path

from dpproof.answers.recorded import recorded
from dpproof.proofs_check.registry import lookup, papers
from tests.rows import rows

FINDINGS = (Path(__file__).resolve().parents[2] / "docs" / "findings.md").read_text(encoding="utf-8")
PREFIXES = "|".join(paper.prefix for paper in papers().values())
NAMED = set(re.findall(rf"`((?:{PREFIXES})\.[A-Za-z0-9_.]+)`", FINDINGS))
WANTED = sorted(
    name
    for name, entry in recorded().items()
    if entry["verdict"] in ("REFUTED", "PROVED ON A SUBDOMAIN") and lookup(name).kind != "project"
)


def speaks_of(name, named):
    """Whether a paragraph names the statement, or one that it is a part or a step of."""
    steps = name.split(".")
    return any(".".join(steps[:count]) in named for count in range(2, len(steps) + 1))


@rows("name", WANTED)
def test_what_is_refuted_or_restricted_has_its_paragraph(name):
    assert speaks_of(name, NAMED)


def test_a_missing_paragraph_would_be_noticed():
    assert not speaks_of("rlsvi.lemma6", NAMED - {"rlsvi.lemma6"})
    assert not speaks_of("ucb.lemma5_1.utility.printed", {"ucb.lemma5_1.privacy", "ucb"})
    assert len(WANTED) > 60


@rows("name", sorted(NAMED))
def test_what_is_named_is_registered(name):
    assert lookup(name).id == name
