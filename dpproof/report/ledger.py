"""The ledger of the papers: bounds, verdicts and evidence joined by id; that of claims is `report.claims`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from dpproof import answers, auditing
from dpproof.accountant.claims.result import accountant_for
from dpproof.proofs_check.papers.paper import Deployment, Paper
from dpproof.report.experiments import Shown, experiment_of
from dpproof.report.recorded import departures

__all__ = ["PaperLedger", "check_paper"]

Answer = Mapping[str, Any]
Stage = Callable[[str], None]


@dataclass(frozen=True)
class PaperLedger:
    """Everything known about one paper."""

    paper: Paper
    statements: Sequence[Answer]
    account: Answer | None
    """None if the paper's mechanism has no accountant here."""
    audits: Sequence[Answer]
    departures: Sequence[str]
    experiment: Shown | None = None
    """None if the paper has no experiment here."""
    readings_all: int = 0
    """How many readings all statements together rest on."""
    laws_all: Sequence[str] = ()
    """The laws that they take from the table."""

    def as_json(self) -> dict[str, Any]:
        """The ledger as data."""
        return {
            "paper": self.paper.name,
            "statements": list(self.statements),
            "readings_all": self.readings_all,
            "laws_all": list(self.laws_all),
            "account": None if self.account is None else dict(self.account),
            "audits": list(self.audits),
            "departures": list(self.departures),
            "experiment": None if self.experiment is None else self.experiment.as_json(),
        }


def check_paper(
    paper: Paper, stage: Stage = lambda _text: None, *, seed: int = 0, executor: Executor | None = None
) -> PaperLedger:
    """Verify every statement of a paper; account for its mechanism, audit its cases, show its experiment.

    ``departures`` says what did not come out as recorded: a verdict, or a case of the corpus.
    """
    from dpproof.cli.verify import ids_named

    stage(f"{paper.name}: checking certificates")
    verified = answers.verify(ids_named(paper.name))
    statements = verified["statements"]
    account = None
    if paper.deployment is not None:
        stage(f"{paper.name}: accounting")
        account = _account(paper.deployment)
    audits, missed = [], []
    for case in auditing.corpus_cases(paper.name):
        stage(f"{paper.name}: auditing {case.name}")
        assert not isinstance(case.expected, type)  # no case of a paper ends in an error
        evidence = case.audit(seed=seed, executor=executor)
        expected = {"expected": case.expected.value, "reason": case.reason}
        audits.append({**evidence.as_json(), **expected})
        if evidence.verdict is not case.expected:
            missed.append(f"{case.name}: expected {case.expected.value}, found {evidence.verdict.value}")
    departed = [*departures(statements, f"{paper.prefix}."), *missed]
    shown = experiment_of(paper.name)
    taken = verified["readings_all"], verified["laws_all"]
    return PaperLedger(paper, statements, account, audits, departed, shown, *taken)


def _account(deployment: Deployment) -> Answer:
    accountant = accountant_for(deployment.mechanism)
    parameters = accountant.parameters.read(deployment.parameters)
    return answers.account(accountant, parameters, deployment.adjacency, delta=deployment.delta)
