"""Audits: does an implementation keep its claim? Evidence that never cries wolf.

`audit` samples a mechanism on two neighbouring inputs and answers "violation", "consistent" or
"inconclusive". Names are loaded when they are first used, so importing this package is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Atoms": "scores",
    "Evidence": "evidence",
    "Identity": "scores",
    "InvalidPairError": "pairs",
    "LinearDiscriminant": "scores",
    "LogLikelihoodRatio": "scores",
    "MechanismError": "sampling",
    "Pair": "pairs",
    "Projection": "scores",
    "Verdict": "evidence",
    "audit": "runner",
    "audit_rlsvi": "rlsvi",
    "fixed_sample_epsilon_lower": "intervals",
    "replay": "replaying",
    "rlsvi_pair": "pairs",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'audits' has no attribute {name!r}")
    return getattr(import_module(f"audits.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
