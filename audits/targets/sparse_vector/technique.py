"""The audit of the sparse vector technique. Its output distribution has no closed form, so the scores are fitted."""

from __future__ import annotations

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.sparse_vector.technique import SparseVectorParameters
from dpproof.audits.data.neighbours import Distance, VectorRelation
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.scores.atoms import tokens
from dpproof.audits.engine.scores.classifiers import logistic, trees
from dpproof.audits.targets.answers import size
from dpproof.audits.targets.primitive import Setting

QUERIES = 4
"""The number of queries before the last queries. There is one last query for each allowed positive answer."""


def _queries(parameters: SparseVectorParameters, adjacency: Adjacency) -> Neighbours:
    """Return queries at the threshold. The early queries move up, and as many as there are positives move down.

    If the queries are monotone, all of them move up.
    """
    moves = size(parameters, adjacency)
    late = parameters.positives
    first = np.zeros(QUERIES + late)
    moved = np.repeat([1.0, 1.0 if parameters.monotone else -1.0], (QUERIES, late))
    described = f"{QUERIES} queries at the threshold that move by {moves:g}, then {late} " + (
        "that move alike" if parameters.monotone else "that move against them"
    )
    return Neighbours(first, moves * moved, adjacency, described, VectorRelation(Distance.ALL, moves))


TARGET = Setting(_queries, None, (tokens(), trees(), logistic()))
