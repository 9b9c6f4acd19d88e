from .accounted import Accountant, Accounted, Attained, PublishedGuarantee, accountant_for
from .adjacency import Adjacency, UnprovedAdjacencyError
from .bounds import Bound, Truth, UndecidedError
from .calibration import calibrate_noise
from .claims import Claim
from .composition import compose_approx, compose_gaussian, compose_renyi, compose_zcdp
from .conversion import CANONNE_KAMATH_STEINKE, MIRONOV, OPTIMAL, Conversion, convert
from .episodes import Episodes, differ_only_in_rewards, replaces_one_user
from .expressions import Formula
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
from .parameters import Parameters
from .published import PublishedFormula, published, published_ids
from .rl.odometer import RewardsFilter, rewards_odometer
from .rl.rlsvi import RLSVIParameters
from .sources import Source
from .symbolic import Derivation, derive_linear
from .targets import NoNoiseNeededError, TargetError, UnreachableTargetError
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
    "Attained",
    "Bound",
    "Claim",
    "Conversion",
    "DPSGDParameters",
    "Derivation",
    "Episodes",
    "Formula",
    "GaussianDP",
    "GaussianParameters",
    "Guarantee",
    "LaplaceParameters",
    "NoNoiseNeededError",
    "Orders",
    "Parameters",
    "PublishedFormula",
    "PublishedGuarantee",
    "PureDP",
    "RLSVIParameters",
    "RenyiDP",
    "RewardsFilter",
    "Source",
    "TargetError",
    "TrustModel",
    "Truth",
    "UndecidedError",
    "UnprovedAdjacencyError",
    "UnreachableTargetError",
    "accountant_for",
    "approx_to_gaussian",
    "billboard",
    "calibrate_noise",
    "classical_zcdp_epsilon",
    "compose_approx",
    "compose_gaussian",
    "compose_renyi",
    "compose_zcdp",
    "convert",
    "derive_linear",
    "differ_only_in_rewards",
    "gaussian_to_zcdp",
    "published",
    "published_ids",
    "pure_to_zcdp",
    "replaces_one_user",
    "rewards_odometer",
    "zcdp_to_renyi",
]
