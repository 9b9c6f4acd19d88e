from .counting.factorised import FactorisedPaths
from .counting.paths import HonakerPaths, NoisePaths, TreePaths, WalkPaths
from .counting.release import SecureNoise, secure_noise
from .counting.streaming import StreamingTree
from .counting.tree import tree_noise
from .environments.acrobot import Acrobot
from .environments.batched import roll_out
from .environments.cart_pole import CartPole
from .environments.chain import chain, chain_values
from .environments.hiv import HIVTreatment
from .environments.lunar_lander import LunarLander
from .environments.river_swim import river_swim
from .environments.tabular import TabularMDP
from .protocols import HasGuarantee, Samples
from .randomness import Randomness, SimulationError
from .rl.consistent_counts import consistent, onto_simplex
from .rl.dp_ucbvi import DPUCBVI, VarianceConstants
from .rl.expert_data import ExpertData, demonstrations
from .rl.expert_policies import CallableExperts, Experts, TabularExperts, prefix_counts
from .rl.expert_population import Population, population
from .rl.expert_release import DataRelease, Release
from .rl.learning_run import LearningRun
from .rl.likelihood import log_likelihood_ratio
from .rl.noise_rule import NoiseRule
from .rl.optimistic import PrivateUCBPO, PrivateUCBVI
from .rl.optimistic_batches import BatchedCounts
from .rl.optimistic_constants import Constants, Projection
from .rl.optimistic_exact import ExactCounts
from .rl.policy_elimination import SDPPE
from .rl.policy_evaluation_chain import chain_episodes, chain_visits
from .rl.policy_evaluation_data import FirstVisits, first_visits
from .rl.policy_evaluation_estimator import DPLSL, DPLSW, LSL, LSW
from .rl.policy_evaluation_features import aggregation, ridge, tabular
from .rl.policy_evaluation_files import read_episodes, write_episodes
from .rl.policy_evaluation_release import ReleasedValues, SimulatedValues
from .rl.private_counts import Counts, PrivateCounts, SimulatedNoise, local_report, user_counts
from .rl.privatizers import CountNoise, Levels, Privatizer
from .rl.privatizers_paper import CentralPrivatizer, LocalPrivatizer
from .rl.rlsvi import RLSVI
from .rl.rlsvi_release import RLSVIRelease, RLSVISimulation, RLSVIStream
from .rl.shuffle_privatizer import BatchCounts, BatchPrivatizer, ReleasedCounts
from .rl.shuffle_privatizer_kinds import LaplaceCounts, NoPrivacy
from .rl.shuffle_privatizer_noise import ShufflePrivatizer
from .rl.thompson import Thompson, ThompsonRun
from .rl.thompson_release import ThompsonRelease, ThompsonSimulation
from .rl.trajectories import Trajectories, differ_in_one_trajectory
from .rl.users import Users, differ_only_in_rewards_of_one_user
from .rl.worst_trajectories import central_log_ratio, local_log_ratio, worst_pair
from .shuffling import BitEncoder, SumEncoder

__all__ = [
    "DPLSL",
    "DPLSW",
    "DPUCBVI",
    "LSL",
    "LSW",
    "RLSVI",
    "SDPPE",
    "Acrobot",
    "BatchCounts",
    "BatchPrivatizer",
    "BatchedCounts",
    "BitEncoder",
    "CallableExperts",
    "CartPole",
    "CentralPrivatizer",
    "Constants",
    "CountNoise",
    "Counts",
    "DataRelease",
    "ExactCounts",
    "ExpertData",
    "Experts",
    "FactorisedPaths",
    "FirstVisits",
    "HIVTreatment",
    "HasGuarantee",
    "HonakerPaths",
    "LaplaceCounts",
    "LearningRun",
    "Levels",
    "LocalPrivatizer",
    "LunarLander",
    "NoPrivacy",
    "NoisePaths",
    "NoiseRule",
    "Population",
    "PrivateCounts",
    "PrivateUCBPO",
    "PrivateUCBVI",
    "Privatizer",
    "Projection",
    "RLSVIRelease",
    "RLSVISimulation",
    "RLSVIStream",
    "Randomness",
    "Release",
    "ReleasedCounts",
    "ReleasedValues",
    "Samples",
    "SecureNoise",
    "ShufflePrivatizer",
    "SimulatedNoise",
    "SimulatedValues",
    "SimulationError",
    "StreamingTree",
    "SumEncoder",
    "TabularExperts",
    "TabularMDP",
    "Thompson",
    "ThompsonRelease",
    "ThompsonRun",
    "ThompsonSimulation",
    "Trajectories",
    "TreePaths",
    "Users",
    "VarianceConstants",
    "WalkPaths",
    "aggregation",
    "central_log_ratio",
    "chain",
    "chain_episodes",
    "chain_values",
    "chain_visits",
    "consistent",
    "demonstrations",
    "differ_in_one_trajectory",
    "differ_only_in_rewards_of_one_user",
    "first_visits",
    "local_log_ratio",
    "local_report",
    "log_likelihood_ratio",
    "onto_simplex",
    "population",
    "prefix_counts",
    "read_episodes",
    "ridge",
    "river_swim",
    "roll_out",
    "secure_noise",
    "tabular",
    "tree_noise",
    "user_counts",
    "worst_pair",
    "write_episodes",
]
