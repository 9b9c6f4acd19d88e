"""The trusted kernel: the small program that alone decides whether a certificate proves its claim.

The kernel uses only the standard library, and neither floats nor assert statements. Every error rejects the
certificate. Only this folder and Python's integers must be trusted; how a certificate was found does not matter.
"""

from dpproof.proofs_check.kernel.arithmetic import Rejected
from dpproof.proofs_check.kernel.certificate import Outcome, check, goal_hash, load

__all__ = ["Outcome", "Rejected", "check", "goal_hash", "load"]
