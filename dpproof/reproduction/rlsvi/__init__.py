"""The experiment of RLSVI (Lu, Gajane, Bai and Talebi 2026), whose paper has none."""

from __future__ import annotations

from dpproof.reproduction.experiments import Experiment

__all__ = ["EXPERIMENT"]

EXPERIMENT = Experiment(
    "RLSVI (Lu et al. 2026) beside other learners whose guarantee protects rewards",
    f"{__name__}.study",
    ("problem", "arm", "epsilon", "certified_epsilon", "regret", "standard_error", "failed", "runs"),
    figures=("regret",),
)
