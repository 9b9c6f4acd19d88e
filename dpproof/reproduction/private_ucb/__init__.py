"""The experiment of PRIVATE-UCB (Chowdhury and Zhou 2022)."""

from __future__ import annotations

from dpproof.reproduction.experiments import Experiment

__all__ = ["EXPERIMENT"]

EXPERIMENT = Experiment(
    "Figure 2 of Chowdhury and Zhou (AAAI 2022): PRIVATE-UCB on RiverSwim",
    f"{__name__}.study",
    ("algorithm", "counts", "group", "epsilon", "certified_epsilon", "regret", "deviation"),
    figures=("printed", "honest", "best"),
)
