"""The trusted kernel: it alone decides whether a certificate proves its claim.

It uses only the standard library, and neither floats nor assert statements. Every error is a rejection. Only this
folder and Python's integers must be trusted; how a certificate was found does not matter.
"""

from dpproof.proofs_check.kernel.arithmetic import Rejected
from dpproof.proofs_check.kernel.certificate import Outcome, check, goal_hash, load

__all__ = ["Outcome", "Rejected", "check", "goal_hash", "load"]
