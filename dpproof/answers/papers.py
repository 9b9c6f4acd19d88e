"""All results for a paper: the verdicts on its statements, its bounds, audits of its mechanisms, its experiment.

The figures and findings of an experiment are read from ``docs/experiments``. ``dpproof reproduce PAPER``
writes them; this module does not run the experiment. An installed package lacks these documents, so this module
shows only the command.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpproof.accountant.catalogue import accountant_for
from dpproof.answers import account as accounts
from dpproof.answers.account import Account
from dpproof.answers.verify import Verified, departures, ids_named, verify
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.proofs_check.papers.paper import Deployment, Paper
from dpproof.reproduction import first_lines
from dpproof.reproduction.experiments import experiments

if TYPE_CHECKING:
    from dpproof.audits.corpus.case import CorpusCase

FOLDER = Path(__file__).resolve().parent.parent.parent / "docs" / "experiments"
_FINDINGS = "## What it shows\n"


@dataclass(frozen=True)
class Shown:
    """The experiment of a paper with what the report shows of it: command, page, figures and findings."""

    paper: str
    title: str
    command: str
    """The command that repeats the experiment."""
    page: Path | None
    """The page on the experiment, if the file exists."""
    figures: tuple[Path, ...]
    findings: tuple[str, ...]
    """Sentences of the page: its first lines (disagreements with the paper) and its list of findings."""

    def pictures(self) -> list[tuple[str, str]]:
        """Return the name of each figure, and the figure as a data URL, so that the report is a single file."""
        return [
            (path.stem, f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode()}")
            for path in self.figures
        ]


def experiment_of(paper: str, folder: Path = FOLDER) -> Shown | None:
    """Return the experiment of a paper, with its files in ``folder``, or None if the paper has none.

    >>> experiment_of("classic") is None
    True
    """
    if paper not in experiments():
        return None
    experiment, name = experiments()[paper], paper.replace("-", "_")
    page = folder / f"{name}.md"
    figures = [folder / name / f"{figure}.svg" for figure in experiment.figures]
    return Shown(
        paper,
        experiment.title,
        f"dpproof reproduce {paper}",
        page if page.is_file() else None,
        tuple(path for path in figures if path.is_file()),
        _findings(page.read_text(encoding="utf-8")) if page.is_file() else (),
    )


def _findings(page: str) -> tuple[str, ...]:
    """Return the sentences of the page's first lines, and the items of its section on findings."""
    _, _, section = page.partition(_FINDINGS)
    lines = section.partition("\n## ")[0].splitlines()
    return (*first_lines.read(page), *(line.removeprefix("- ") for line in lines if line.startswith("- ")))


Stage = Callable[[str], None]


@dataclass(frozen=True)
class ExpectedAudit:
    """The finding of an audit of a paper's mechanism, with the expected finding and the reason for it."""

    evidence: Evidence
    expected: Finding
    reason: str


@dataclass(frozen=True)
class PaperLedger:
    """All results for one paper.

    ``departures`` lists what differs from the recorded verdicts and the expected audits.
    """

    paper: Paper
    verified: Verified
    account: Account | None
    """The guarantee of the paper's mechanism; None if it has no accountant here."""
    audits: Sequence[ExpectedAudit]
    departures: Sequence[str]
    experiment: Shown | None = None
    """The paper's experiment; None if it has none here."""


def corpus_cases(paper: str) -> tuple[CorpusCase, ...]:
    """Return the cases of the audit corpus that are about the mechanisms of a paper."""
    from dpproof.audits.corpus.all_cases import cases_of_paper

    return cases_of_paper(paper)


def check_paper(
    paper: Paper, stage: Stage = lambda _text: None, *, seed: int = 0, executor: Executor | None = None
) -> PaperLedger:
    """Return all results for a paper: verdicts, the guarantee of its main mechanism, and audits.

    The function ``stage`` is called with texts on the progress.
    """
    stage(f"{paper.name}: checking certificates")
    verified = verify(ids_named(paper.name))
    account = None
    if paper.deployment is not None:
        stage(f"{paper.name}: accounting")
        account = _account(paper.deployment)
    audits, missed = [], []
    for case in corpus_cases(paper.name):
        stage(f"{paper.name}: auditing {case.name}")
        assert not isinstance(case.expected, type)  # no case of a paper ends in an error
        evidence = case.audit(seed=seed, executor=executor)
        audits.append(ExpectedAudit(evidence, case.expected, case.reason))
        if evidence.verdict is not case.expected:
            missed.append(f"{case.name}: expected {case.expected.value}, found {evidence.verdict.value}")
    departed = [*departures(verified.statements, f"{paper.prefix}."), *missed]
    return PaperLedger(paper, verified, account, audits, departed, experiment_of(paper.name))


def _account(deployment: Deployment) -> Account:
    accountant = accountant_for(deployment.mechanism)
    parameters = accountant.parameters.read(deployment.parameters)
    return accounts.account(accountant, parameters, deployment.adjacency, delta=deployment.delta)
