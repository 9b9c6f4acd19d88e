from .accounted import Accountant, Accounted, Attained, PublishedGuarantee, accountant_for
from .adjacency import Adjacency, UnprovedAdjacencyError
from .arithmetic import Assumption
from .bounds import Bound, Truth, UndecidedError
from .calibration import calibrate_noise
from .claims import Claim
from .composition import (
    advanced_corollary_holds,
    advanced_part_epsilon,
    compose_approx,
    compose_approx_advanced,
    compose_approx_kov,
    compose_approx_optimal,
    compose_gaussian,
    compose_parallel,
    compose_renyi,
    compose_zcdp,
)
from .conversion import CANONNE_KAMATH_STEINKE, MIRONOV, OPTIMAL, Conversion, convert
from .counting.error import release_error_bound, release_error_probability, union_bound
from .counting.factorised_error import factorised_union_bound
from .counting.honaker_error import honaker_union_bound
from .counting.maximum import maximum_error_bound, maximum_error_probability
from .counting.noise import GaussianNoise, LaplaceNoise
from .counting.optimised import optimised_bands
from .counting.published_error import published_error
from .counting.sensitivity import squared_sensitivity
from .counting.separated import separated_sensitivity
from .counting.toeplitz import Banded, SquareRoot, banded_square_root
from .episodes import Episodes, differ_only_in_rewards, replaces_one_user
from .expressions import Formula
from .filters import (
    ApproxFilter,
    ApproxOdometer,
    BudgetExceededError,
    GaussianFilter,
    RenyiFilter,
    ZCDPFilter,
)
from .group_privacy import GroupProfile, group_privacy
from .implications import (
    approx_to_gaussian,
    classical_zcdp_epsilon,
    gaussian_to_zcdp,
    pure_to_zcdp,
    zcdp_to_renyi,
)
from .noise.dp_sgd import DPSGDParameters
from .noise.gaussian import GaussianParameters
from .noise.laplace import LaplaceParameters
from .notions import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP
from .orders import Orders
from .pairs.atoms import Atoms
from .pairs.binomial import ShiftedBinomial
from .pairs.discrete_gaussian import DiscreteGaussian
from .pairs.dominating import dominating_pair
from .pairs.exponential_mechanism import BoundedRange, exponential_mechanism, permute_and_flip
from .pairs.fixed_size import FixedSize, with_replacement, without_replacement
from .pairs.gaussian import SubsampledGaussian
from .pairs.gaussian_mixture import BinomialGaussianMixture
from .pairs.geometric import Geometric
from .pairs.laplace import Laplace
from .pairs.randomised_response import RandomisedResponse, truthful_response
from .pairs.replacement import ReplacedGaussian, poisson_replaced
from .pairs.shuffled_binary import ShuffledBinary
from .pairs.spherical_gaussians import SphericalGaussians
from .pairs.subsampled import Subsampled
from .pairs.unequal_gaussians import UnequalGaussians
from .pairs.visible_coin import visible_coin
from .parameters import Parameters
from .privacy_loss.notion import PrivacyLoss
from .published import PublishedFormula, published, published_ids
from .renyi.best_of import BestOf
from .renyi.closed_forms import (
    gaussian_renyi,
    geometric_renyi,
    laplace_renyi,
    pure_renyi,
    unequal_gaussians_renyi,
)
from .renyi.subsampled_gaussian import subsampled_gaussian_renyi
from .rl.expert_release import ExpertReleaseParameters
from .rl.odometer import RewardsFilter, rewards_odometer
from .rl.policy_evaluation import PolicyEvaluationParameters
from .rl.policy_evaluation_bounds import RidgeBound, WeightedBound
from .rl.private_ucb_batches import BatchedCountsParameters
from .rl.private_ucb_levels import CountLevels, central_levels, local_levels, printed_levels
from .rl.private_ucb_parameters import CentralCountsParameters, LocalCountsParameters
from .rl.rlsvi import RLSVIParameters
from .rl.sdp_pe import ShuffledCountParameters
from .rl.sdp_pe_batches import ReleaseShape, batch_loss
from .rl.sdp_pe_levels import precision_level
from .rl.sdp_pe_loss import BatchLoss
from .rl.sdp_pe_release import ShuffledBatchParameters
from .rl.sdp_pe_thresholds import batch_threshold
from .rl.selective_dpsgd import SelectiveDPSGDParameters
from .sensitivity import Query, Sensitivity
from .shuffling.clones import CloneView, general_randomiser
from .shuffling.closed_form import closed_form_epsilon
from .shuffling.compared import amplification_bounds
from .shuffling.peak_heights import meets_from
from .shuffling.response import ShuffledResponse
from .shuffling.view import BinomialView
from .smooth_sensitivity.choice import best_smoothing, smooth_bound
from .smooth_sensitivity.gaussian import SmoothGaussian
from .smooth_sensitivity.heavy_tails import cauchy_epsilon, student_epsilon
from .smooth_sensitivity.laplace import SmoothLaplace
from .smooth_sensitivity.log_normal import best_spread, log_normal_rho
from .sources import Source
from .symbolic import Derivation, derive_linear
from .targets import NoNoiseNeededError, TargetError, UnreachableTargetError
from .trade_off import advantage, attack_success, power, trade_off, trade_off_curve
from .trust import TrustModel, billboard

__all__ = [
    "CANONNE_KAMATH_STEINKE",
    "MIRONOV",
    "OPTIMAL",
    "ZCDP",
    "Accountant",
    "Accounted",
    "Adjacency",
    "ApproxDP",
    "ApproxFilter",
    "ApproxOdometer",
    "Assumption",
    "Atoms",
    "Attained",
    "Banded",
    "BatchLoss",
    "BatchedCountsParameters",
    "BestOf",
    "BinomialGaussianMixture",
    "BinomialView",
    "Bound",
    "BoundedRange",
    "BudgetExceededError",
    "CentralCountsParameters",
    "Claim",
    "CloneView",
    "Conversion",
    "CountLevels",
    "DPSGDParameters",
    "Derivation",
    "DiscreteGaussian",
    "Episodes",
    "ExpertReleaseParameters",
    "FixedSize",
    "Formula",
    "GaussianDP",
    "GaussianFilter",
    "GaussianNoise",
    "GaussianParameters",
    "Geometric",
    "GroupProfile",
    "Guarantee",
    "Laplace",
    "LaplaceNoise",
    "LaplaceParameters",
    "LocalCountsParameters",
    "NoNoiseNeededError",
    "Orders",
    "Parameters",
    "PolicyEvaluationParameters",
    "PrivacyLoss",
    "PublishedFormula",
    "PublishedGuarantee",
    "PureDP",
    "Query",
    "RLSVIParameters",
    "RandomisedResponse",
    "ReleaseShape",
    "RenyiDP",
    "RenyiFilter",
    "ReplacedGaussian",
    "RewardsFilter",
    "RidgeBound",
    "SelectiveDPSGDParameters",
    "Sensitivity",
    "ShiftedBinomial",
    "ShuffledBatchParameters",
    "ShuffledBinary",
    "ShuffledCountParameters",
    "ShuffledResponse",
    "SmoothGaussian",
    "SmoothLaplace",
    "Source",
    "SphericalGaussians",
    "SquareRoot",
    "Subsampled",
    "SubsampledGaussian",
    "TargetError",
    "TrustModel",
    "Truth",
    "UndecidedError",
    "UnequalGaussians",
    "UnprovedAdjacencyError",
    "UnreachableTargetError",
    "WeightedBound",
    "ZCDPFilter",
    "accountant_for",
    "advanced_corollary_holds",
    "advanced_part_epsilon",
    "advantage",
    "amplification_bounds",
    "approx_to_gaussian",
    "attack_success",
    "banded_square_root",
    "batch_loss",
    "batch_threshold",
    "best_smoothing",
    "best_spread",
    "billboard",
    "calibrate_noise",
    "cauchy_epsilon",
    "central_levels",
    "classical_zcdp_epsilon",
    "closed_form_epsilon",
    "compose_approx",
    "compose_approx_advanced",
    "compose_approx_kov",
    "compose_approx_optimal",
    "compose_gaussian",
    "compose_parallel",
    "compose_renyi",
    "compose_zcdp",
    "convert",
    "derive_linear",
    "differ_only_in_rewards",
    "dominating_pair",
    "exponential_mechanism",
    "factorised_union_bound",
    "gaussian_renyi",
    "gaussian_to_zcdp",
    "general_randomiser",
    "geometric_renyi",
    "group_privacy",
    "honaker_union_bound",
    "laplace_renyi",
    "local_levels",
    "log_normal_rho",
    "maximum_error_bound",
    "maximum_error_probability",
    "meets_from",
    "optimised_bands",
    "permute_and_flip",
    "poisson_replaced",
    "power",
    "precision_level",
    "printed_levels",
    "published",
    "published_error",
    "published_ids",
    "pure_renyi",
    "pure_to_zcdp",
    "release_error_bound",
    "release_error_probability",
    "replaces_one_user",
    "rewards_odometer",
    "separated_sensitivity",
    "smooth_bound",
    "squared_sensitivity",
    "student_epsilon",
    "subsampled_gaussian_renyi",
    "trade_off",
    "trade_off_curve",
    "truthful_response",
    "unequal_gaussians_renyi",
    "union_bound",
    "visible_coin",
    "with_replacement",
    "without_replacement",
    "zcdp_to_renyi",
]
