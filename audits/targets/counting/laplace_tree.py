"""The audit of running counts on a tree with Laplace noise."""

from __future__ import annotations

from dpproof.audits.targets.answers import Floats, Laplace, laplace
from dpproof.audits.targets.counting.gaussian_tree import nodes, tree_streams
from dpproof.audits.targets.primitive import Setting


def _ratio(outputs: Floats, parameters: Laplace, first: Floats, second: Floats) -> Floats:
    """Return the log-likelihood ratio of running counts with Laplace noise on the nodes of a tree."""
    seen, one, other = nodes(outputs, first, second)
    return laplace(seen, parameters, one, other)


TARGET = Setting(tree_streams, _ratio)
