from .environments.chain import chain, chain_values
from .environments.river_swim import river_swim
from .environments.tabular import TabularMDP
from .protocols import HasGuarantee, Samples
from .rl.learning_run import LearningRun
from .rl.likelihood import log_likelihood_ratio
from .rl.noise_rule import NoiseRule
from .rl.rlsvi import RLSVI
from .rl.users import Users, differ_only_in_rewards_of_one_user

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
