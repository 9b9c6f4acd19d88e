"""How the private algorithms run: samples of what they release, fast and reproducible.

Every name is loaded from its module when it is first asked for, so that importing this package is quick and
compiles nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mechanisms.environments.chain import chain, chain_values
    from mechanisms.environments.river_swim import river_swim
    from mechanisms.environments.tabular import TabularMDP
    from mechanisms.protocols import HasGuarantee, Samples
    from mechanisms.rl.learning_run import LearningRun
    from mechanisms.rl.likelihood import log_likelihood_ratio
    from mechanisms.rl.noise_rule import NoiseRule
    from mechanisms.rl.rlsvi import RLSVI
    from mechanisms.rl.users import Users, differ_only_in_rewards_of_one_user

__all__ = [
    "RLSVI",
    "HasGuarantee",
    "LearningRun",
    "NoiseRule",
    "Samples",
    "TabularMDP",
    "Users",
    "chain",
    "chain_values",
    "differ_only_in_rewards_of_one_user",
    "log_likelihood_ratio",
    "river_swim",
]

_MODULES = {
    "RLSVI": "mechanisms.rl.rlsvi",
    "HasGuarantee": "mechanisms.protocols",
    "LearningRun": "mechanisms.rl.learning_run",
    "NoiseRule": "mechanisms.rl.noise_rule",
    "Samples": "mechanisms.protocols",
    "TabularMDP": "mechanisms.environments.tabular",
    "Users": "mechanisms.rl.users",
    "chain": "mechanisms.environments.chain",
    "chain_values": "mechanisms.environments.chain",
    "differ_only_in_rewards_of_one_user": "mechanisms.rl.users",
    "log_likelihood_ratio": "mechanisms.rl.likelihood",
    "river_swim": "mechanisms.environments.river_swim",
}


def __getattr__(name: str) -> object:
    """Load a public name on first use."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return sorted(__all__)
