"""The experiment of PRIVATE-UCB (Chowdhury and Zhou 2022)."""

from __future__ import annotations

from dpproof.reproduction.experiments import Experiment

__all__ = ["EXPERIMENT"]

EXPERIMENT = Experiment(
    "Figure 2 of Chowdhury and Zhou (AAAI 2022): PRIVATE-UCB on RiverSwim, and on other problems",
    f"{__name__}.study",
    ("problem", "arm", "epsilon", "certified_epsilon", "regret", "standard_error"),
    figures=("printed", "least", "pooled"),
)
