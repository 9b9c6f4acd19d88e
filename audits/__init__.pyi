from .callables import Mechanism, MechanismError, each, mechanism
from .commands import command
from .evidence import Evidence, Verdict
from .intervals import fixed_sample_epsilon_lower
from .measurements import measurement_mechanism
from .named import audit_named
from .pairs import InvalidPairError, Pair, rlsvi_pair
from .policy_evaluation import audit_policy_evaluation
from .replaying import replay
from .rlsvi import audit_rlsvi
from .runner import audit
from .scores import Atoms, Identity, LinearDiscriminant, LogLikelihoodRatio, Projection
from .tabulated import Tabulated, tabulated
from .training.canaries import Canaries, record_canaries
from .training.expert_runs import audit_expert_canaries
from .training.experts import audit_expert_training
from .training.guesses import Guesses
from .training.one_run import one_run_epsilon_lower, one_run_refutes, refuted_scale
from .training.one_run_audit import audit_one_run
from .training.opacus_engine import audit_opacus
from .training.reward_canaries import audit_reward_canaries, reward_canaries
from .training.steps import audit_steps
from .training.views import audit_dp_sgd
from .worst_pair import audit_each, audit_worst

__all__ = [
    "Atoms",
    "Canaries",
    "Evidence",
    "Guesses",
    "Identity",
    "InvalidPairError",
    "LinearDiscriminant",
    "LogLikelihoodRatio",
    "Mechanism",
    "MechanismError",
    "Pair",
    "Projection",
    "Tabulated",
    "Verdict",
    "audit",
    "audit_dp_sgd",
    "audit_each",
    "audit_expert_canaries",
    "audit_expert_training",
    "audit_named",
    "audit_one_run",
    "audit_opacus",
    "audit_policy_evaluation",
    "audit_reward_canaries",
    "audit_rlsvi",
    "audit_steps",
    "audit_worst",
    "command",
    "each",
    "fixed_sample_epsilon_lower",
    "measurement_mechanism",
    "mechanism",
    "one_run_epsilon_lower",
    "one_run_refutes",
    "record_canaries",
    "refuted_scale",
    "replay",
    "reward_canaries",
    "rlsvi_pair",
    "tabulated",
]
