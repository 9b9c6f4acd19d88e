"""The experiment of expert-level private offline learning (Sharma et al. 2024)."""

from __future__ import annotations

from dpproof.reproduction.experiments import Experiment

__all__ = ["EXPERIMENT"]

EXPERIMENT = Experiment(
    "Figures 2 to 4 of Sharma et al. (2024): selective DP-SGD on four control problems",
    f"{__name__}.study",
    ("problem", "method", "epsilon", "certified_epsilon", "released", "return", "interval"),
    figures=("returns", "released", "experts"),
)
