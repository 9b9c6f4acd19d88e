"""The experiment of private policy evaluation (Balle, Gomrokchi and Precup 2016)."""

from __future__ import annotations

from dpproof.reproduction.experiments import Experiment

__all__ = ["EXPERIMENT"]

EXPERIMENT = Experiment(
    "Figure 1 of Balle, Gomrokchi and Precup (ICML 2016): DP-LSW and DP-LSL on the chain",
    f"{__name__}.study",
    ("algorithm", "features", "kind", "trajectories"),
    "needed",
    ("tabular", "small_delta"),
)
