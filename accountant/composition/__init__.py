"""Adaptive composition: what several releases about the same data reveal together."""

from __future__ import annotations

from accountant.composition.optimal import ComposedApproxDP, compose_approx_optimal
from accountant.composition.sums import compose_approx, compose_gaussian, compose_renyi, compose_zcdp

__all__ = [
    "ComposedApproxDP",
    "compose_approx",
    "compose_approx_optimal",
    "compose_gaussian",
    "compose_renyi",
    "compose_zcdp",
]
