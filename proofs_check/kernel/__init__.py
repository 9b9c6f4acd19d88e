"""The trusted kernel: it alone decides whether a certificate proves its claim.

Standard library only, no floats, no assertions. Whatever goes wrong is a rejection. What has to be
trusted is this folder and Python's integers; how a certificate was found does not matter.
"""

from dpproof.proofs_check.kernel.arithmetic import Rejected
from dpproof.proofs_check.kernel.certificate import Outcome, check, goal_hash, load

__all__ = ["Outcome", "Rejected", "check", "goal_hash", "load"]
