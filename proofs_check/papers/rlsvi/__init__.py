"""RLSVI, whose exploration noise makes it jointly private."""

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.proofs_check.papers.paper import Deployment, Paper

PAPER = Paper(
    place=1,
    name="rlsvi",
    prefix="rlsvi",
    title="Randomized Least Squares Value Iteration itself is Joint Differentially Private",
    citation="Lu, Gajane, Bai and Talebi, arXiv:2606.01952v1",
    deployment=Deployment(
        "rlsvi",
        {"states": 6, "actions": 2, "horizon": 20, "episodes": 1000},
        Adjacency.REWARDS_ONLY,
        "1e-6",
        "episodes",
    ),
)
