"""How large RLSVI's exploration noise is: the paper's rule, and wrong ones that an audit must find."""

from __future__ import annotations

import enum


class NoiseRule(enum.IntEnum):
    """The rule for the noise of a cell visited N times; all but `CORRECT` are for the audit corpus only.

    >>> NoiseRule.CORRECT.name
    'CORRECT'
    """

    CORRECT = 0
    """Variance beta_k / (N + 1), fresh at every cell and episode (arXiv:2606.01952v1, Algorithm 1)."""
    VARIANCE_QUARTER = 1
    """For the audit corpus only: variance beta_k / (4 (N + 1)), half the standard deviation."""
    FIRST_VISIT_UNPROTECTED = 2
    """For the audit corpus only: variance beta_k / N from the second visit on, and none before."""
    REUSED_NOISE = 3
    """For the audit corpus only: the right variance, but every episode scales the first one's normals."""
