"""PRIVATE-UCB with its privatizers."""

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.proofs_check.papers.paper import Deployment, Paper

# The deployment is the paper's experiment, with the noise that it prints for epsilon 1.
PAPER = Paper(
    place=2,
    name="private-ucb",
    prefix="ucb",
    title="Differentially private regret minimization in episodic Markov decision processes",
    citation="Chowdhury and Zhou, AAAI 2022, arXiv:2112.10599v1",
    deployment=Deployment(
        "central-counts",
        {"states": 6, "actions": 2, "horizon": 20, "episodes": 20_000, "printed_epsilon": 1.0},
        Adjacency.REPLACE,
        "0",
    ),
)
