"""Adaptive composition: what several releases about the same data reveal together, one theorem a function.

The exact theorems add the parameters of a notion (``sums``); approximate differential privacy has more
than one answer: its parameters add, the classical bounds trade delta for epsilon (``advanced``), and the
optimum is the composition of randomised responses (``optimal``). docs/notes/composition.md compares them.
"""

from __future__ import annotations

from dpproof.accountant.theorems.composition.advanced import (
    advanced_corollary_holds,
    advanced_part_epsilon,
    compose_approx,
    compose_approx_advanced,
    compose_approx_kov,
    compose_gaussian,
    compose_parallel,
    compose_renyi,
    compose_zcdp,
)
from dpproof.accountant.theorems.composition.optimal import ComposedApproxDP, compose_approx_optimal

__all__ = [
    "ComposedApproxDP",
    "advanced_corollary_holds",
    "advanced_part_epsilon",
    "compose_approx",
    "compose_approx_advanced",
    "compose_approx_kov",
    "compose_approx_optimal",
    "compose_gaussian",
    "compose_parallel",
    "compose_renyi",
    "compose_zcdp",
]
