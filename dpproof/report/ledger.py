"""The ledger of the papers: bounds, verdicts and evidence joined by id; that of claims is `report.claims`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from dpproof import answers, auditing
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import accountant_for
from dpproof.report.experiments import Shown, experiment_of
from dpproof.report.recorded import departures

__all__ = ["PAPERS", "Deployment", "Paper", "PaperLedger", "check_paper"]

Answer = Mapping[str, Any]
Stage = Callable[[str], None]


@dataclass(frozen=True)
class Deployment:
    """A mechanism at the sizes that a paper's page quotes."""

    mechanism: str
    parameters: Mapping[str, Any]
    adjacency: Adjacency
    delta: str
    along: str | None = None
    """The parameter that the plot of epsilon runs along; None for no plots."""


@dataclass(frozen=True)
class Paper:
    """One paper of the corpus: what it is called, and its mechanism if it has an accountant here."""

    name: str
    title: str
    citation: str
    deployment: Deployment | None = None


_SIZES = {"states": 6, "actions": 2, "horizon": 20, "episodes": 1000}
# The paper's experiment, with the noise that it prints for epsilon 1.
_FIGURE = {"states": 6, "actions": 2, "horizon": 20, "episodes": 20_000, "printed_epsilon": 1.0}
# The printed threshold at epsilon' = 1/2 and beta' = 1e-6, with twice as many users.
_COUNTER = {"users": 11142, "threshold": 5571.0, "encoding": "bits"}
# The chain, tabular, at a delta that can be defended.
_CHAIN = {"dimension": 40, "printed_epsilon": 0.1, "printed_delta": 1e-6}
# Batches of 256 of 3000 experts, half the steps noisy, delta a tenth of one over the number of experts.
_SELECTIVE = {
    "sampling_rate": 0.0853333,
    "branch_probability": 0.5,
    "noise_multiplier": 10.0,
    "steps": 100_000,
}
PAPERS = (
    Paper(
        "rlsvi",
        "Randomized Least Squares Value Iteration itself is Joint Differentially Private",
        "Lu, Gajane, Bai and Talebi, arXiv:2606.01952v1",
        Deployment("rlsvi", _SIZES, Adjacency.REWARDS_ONLY, "1e-6", "episodes"),
    ),
    Paper(
        "private-ucb",
        "Differentially private regret minimization in episodic Markov decision processes",
        "Chowdhury and Zhou, AAAI 2022",
        Deployment("central-counts", _FIGURE, Adjacency.REPLACE, "0"),
    ),
    Paper(
        "sdp-pe",
        "Near-optimal reinforcement learning with shuffle differential privacy",
        "Bai, Talebi, Zhao, Cheng and Chen, 2026",
        Deployment("shuffled-count", _COUNTER, Adjacency.REPLACE, "1e-6"),
    ),
    Paper(
        "policy-evaluation",
        "Differentially private policy evaluation",
        "Balle, Gomrokchi and Precup, ICML 2016, arXiv:1603.02010v1",
        Deployment("policy-evaluation", _CHAIN, Adjacency.REPLACE, "1e-6"),
    ),
    Paper(
        "expert",
        "Preserving expert-level privacy in offline reinforcement learning",
        "Sharma, Vinod, Thakurta, Agarwal, Balle, Dann and Raghuveer, 2024",
        Deployment("selective-dpsgd", _SELECTIVE, Adjacency.EXPERT, "3.3333e-5"),
    ),
    Paper(
        "classic",
        "The theorems that the papers and this project build on",
        "Quoted or proved here; each with its source",
    ),
)


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
    from dpproof.proofs_check.registry import BOOKS

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
    departed = [*departures(statements, f"{BOOKS[paper.name].prefix}."), *missed]
    shown = experiment_of(paper.name)
    taken = verified["readings_all"], verified["laws_all"]
    return PaperLedger(paper, statements, account, audits, departed, shown, *taken)


def _account(deployment: Deployment) -> Answer:
    accountant = accountant_for(deployment.mechanism)
    parameters = accountant.parameters.read(deployment.parameters)
    return answers.account(accountant, parameters, deployment.adjacency, delta=deployment.delta)
