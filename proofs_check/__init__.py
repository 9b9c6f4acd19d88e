"""Is the published statement true? Statements, verdicts, certificates and the kernel that re-checks them.

Names load on first use, so that ``dpproof.proofs_check.kernel`` can be imported with the standard library alone.
"""

from importlib import import_module
from typing import Any

_HOME = {
    "Obligation": "statement",
    "Statement": "statement",
    "Method": "verdict",
    "Result": "verdict",
    "Verdict": "verdict",
    "as_json": "registry",
    "lookup": "registry",
    "statement_ids": "registry",
    "statements": "registry",
    "verify": "registry",
    "Rejected": "kernel",
    "check": "kernel",
    "claim_hash": "kernel",
}

__all__ = [
    "Method",
    "Obligation",
    "Rejected",
    "Result",
    "Statement",
    "Verdict",
    "as_json",
    "check",
    "claim_hash",
    "lookup",
    "statement_ids",
    "statements",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its module."""
    if name not in _HOME:
        raise AttributeError(f"module 'proofs_check' has no attribute {name!r}")
    return getattr(import_module(f"proofs_check.{_HOME[name]}"), name)
