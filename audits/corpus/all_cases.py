"""The whole corpus, by kind of mechanism."""

from __future__ import annotations

from dpproof.audits.corpus import (
    evaluation_cases,
    expert_cases,
    floating_cases,
    gaussian_cases,
    laplace_cases,
    reinforcement_cases,
    response_cases,
    rlsvi,
    robustness_cases,
    shuffle_cases,
    threshold_cases,
)
from dpproof.audits.corpus.case import CorpusCase
from dpproof.audits.training import cases
from dpproof.audits.training.expert_cases import CASES as TRAININGS
from dpproof.audits.training.opacus_cases import CASES as ENGINES

__all__ = ["ALL_CASES", "case_named"]

ALL_CASES: tuple[CorpusCase, ...] = (
    *laplace_cases.CASES,
    *gaussian_cases.CASES,
    *response_cases.CASES,
    *threshold_cases.CASES,
    *floating_cases.CASES,
    *robustness_cases.CASES,
    *reinforcement_cases.CASES,
    *rlsvi.CASES,
    *shuffle_cases.CASES,
    *evaluation_cases.CASES,
    *expert_cases.CASES,
    *cases.CASES,
    *TRAININGS,
    *ENGINES,
)


def case_named(name: str) -> CorpusCase:
    """The case of this name.

    Raises:
        ValueError: there is none.
    """
    for case in ALL_CASES:
        if case.name == name:
            return case
    raise ValueError(f"case ({name!r}) must be one of the corpus: {', '.join(c.name for c in ALL_CASES)}")
