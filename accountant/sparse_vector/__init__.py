"""The sparse vector technique: its exact pure epsilon, its profile at delta > 0, and who attains it."""

from __future__ import annotations

from dpproof.accountant.sparse_vector.technique import (
    ACCOUNTANT,
    SparseVectorParameters,
    account,
    pure_epsilon,
)

__all__ = ["ACCOUNTANT", "SparseVectorParameters", "account", "pure_epsilon"]
