from .evidence import Evidence, Verdict
from .intervals import fixed_sample_epsilon_lower
from .pairs import InvalidPairError, Pair, rlsvi_pair
from .replaying import replay
from .rlsvi import audit_rlsvi
from .runner import audit
from .sampling import MechanismError
from .scores import Atoms, Identity, LinearDiscriminant, LogLikelihoodRatio, Projection

__all__ = [
    "Atoms",
    "Evidence",
    "Identity",
    "InvalidPairError",
    "LinearDiscriminant",
    "LogLikelihoodRatio",
    "MechanismError",
    "Pair",
    "Projection",
    "Verdict",
    "audit",
    "audit_rlsvi",
    "fixed_sample_epsilon_lower",
    "replay",
    "rlsvi_pair",
]
