from .callables import Mechanism, MechanismError, each, mechanism
from .commands import command
from .evidence import Evidence, Verdict
from .intervals import fixed_sample_epsilon_lower
from .named import audit_named
from .pairs import InvalidPairError, Pair, rlsvi_pair
from .replaying import replay
from .rlsvi import audit_rlsvi
from .runner import audit
from .scores import Atoms, Identity, LinearDiscriminant, LogLikelihoodRatio, Projection
from .worst_pair import audit_each, audit_worst

__all__ = [
    "Atoms",
    "Evidence",
    "Identity",
    "InvalidPairError",
    "LinearDiscriminant",
    "LogLikelihoodRatio",
    "Mechanism",
    "MechanismError",
    "Pair",
    "Projection",
    "Verdict",
    "audit",
    "audit_each",
    "audit_named",
    "audit_rlsvi",
    "audit_worst",
    "command",
    "each",
    "fixed_sample_epsilon_lower",
    "mechanism",
    "replay",
    "rlsvi_pair",
]
