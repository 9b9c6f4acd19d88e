"""Expert-level private offline reinforcement learning."""

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.proofs_check.papers.paper import Deployment, Paper

# The deployment: batches of 256 of 3000 experts, half the steps noisy, delta a tenth of one over the number of experts.
PAPER = Paper(
    place=5,
    name="expert",
    prefix="expert",
    title="Preserving expert-level privacy in offline reinforcement learning",
    citation="Sharma, Vinod, Thakurta, Agarwal, Balle, Dann and Raghuveer, 2024, arXiv:2411.13598v1",
    deployment=Deployment(
        "selective-dpsgd",
        {"sampling_rate": 0.0853333, "branch_probability": 0.5, "noise_multiplier": 10.0, "steps": 100_000},
        Adjacency.EXPERT,
        "3.3333e-5",
    ),
)
