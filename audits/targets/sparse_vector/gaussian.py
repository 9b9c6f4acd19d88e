"""The audit of the sparse vector technique with Gaussian noise. The scores are fitted to its answers."""

from __future__ import annotations

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.sparse_vector.gaussian import GaussianSparseVectorParameters
from dpproof.audits.data.neighbours import Distance, VectorRelation
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.scores.atoms import tokens
from dpproof.audits.engine.scores.classifiers import logistic, trees
from dpproof.audits.targets.answers import size
from dpproof.audits.targets.primitive import Setting

QUERIES = 8
"""The largest number of queries of the neighbours."""


def _queries(parameters: GaussianSparseVectorParameters, adjacency: Adjacency) -> Neighbours:
    """Return queries at the threshold. The first half moves up, and the others move down.

    If the queries are monotone, the others stay.
    """
    moves = size(parameters, adjacency)
    count = min(QUERIES, parameters.queries)
    late = (count + 1) // 2
    moved = np.repeat([1.0, 0.0 if parameters.monotone else -1.0], (count - late, late))
    described = f"{count - late} queries at the threshold that move by {moves:g}, then {late} " + (
        "that stay" if parameters.monotone else "that move against them"
    )
    return Neighbours(
        np.zeros(count), moves * moved, adjacency, described, VectorRelation(Distance.ALL, moves)
    )


TARGET = Setting(_queries, None, (tokens(), trees(), logistic()))
