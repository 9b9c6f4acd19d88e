"""Experiments in the report: what is kept of each is found, and what is not there is not made up."""

from __future__ import annotations

import base64

import pytest

from dpproof.answers import as_json
from dpproof.answers.papers import FOLDER, PaperLedger, experiment_of
from dpproof.answers.verify import Verified
from dpproof.proofs_check.registry import papers
from dpproof.reproduction.experiments import experiments

PAPERS = tuple(papers().values())


@pytest.mark.parametrize("paper", experiments())
def test_every_figure_that_the_report_names_is_kept(paper):
    shown = experiment_of(paper)
    assert shown.page == FOLDER / f"{paper.replace('-', '_')}.md"
    assert tuple(path.stem for path in shown.figures) == experiments()[paper].figures != ()
    for path, (name, address) in zip(shown.figures, shown.pictures(), strict=True):
        assert name == path.stem
        assert base64.b64decode(address.partition(",")[2]) == path.read_bytes()


def test_the_findings_are_the_page_s_own_lines():
    shown = experiment_of("private-ucb")
    text = shown.page.read_text(encoding="utf-8")
    assert len(shown.findings) > 3
    assert all(f"- {line}\n" in text for line in shown.findings)


def test_without_the_documents_only_the_command_is_left(tmp_path):
    shown = experiment_of("private-ucb", tmp_path)
    assert (shown.page, shown.figures, shown.findings, shown.pictures()) == (None, (), (), [])
    assert shown.as_json()["command"] == "dpproof reproduce private-ucb"


def test_the_ledger_carries_the_experiment_as_data():
    paper = next(paper for paper in PAPERS if paper.name == "private-ucb")
    found = as_json.paper(PaperLedger(paper, Verified(()), None, [], [], experiment_of("private-ucb")))
    assert found["experiment"]["page"] == "private_ucb.md"
    assert as_json.paper(PaperLedger(PAPERS[0], Verified(()), None, [], []))["experiment"] is None
