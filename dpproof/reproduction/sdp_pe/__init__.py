"""The experiments of SDP-PE (Bai et al. 2026)."""

from __future__ import annotations

from dpproof.reproduction.experiments import Experiment

__all__ = ["EXPERIMENT"]

EXPERIMENT = Experiment(
    "Figures 6 to 8 of Bai et al. (2026): SDP-PE on RiverSwim and a bandit",
    f"{__name__}.study",
    ("problem", "algorithm", "epsilon", "certified_epsilon", "noise", "regret", "deviation", "switches"),
    figures=("epsilon", "bandit"),
)
