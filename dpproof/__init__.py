"""dpproof: is this algorithm as private as it says?

The library stands in four parts: ``dpproof.accountant`` (certified bounds), ``dpproof.mechanisms``
(the algorithms), ``dpproof.proofs_check`` (verdicts with certificates), ``dpproof.audits`` (tests of
implementations). The command line is ``dpproof``.
"""

__version__ = "0.2.0.dev0"
__all__ = ["__version__"]
