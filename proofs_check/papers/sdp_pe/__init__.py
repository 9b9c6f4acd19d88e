"""SDP-PE: policy elimination in the shuffle model."""

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.proofs_check.papers.paper import Deployment, Paper

# The deployment: the printed threshold at epsilon' = 1/2 and beta' = 1e-6, with twice as many users.
PAPER = Paper(
    place=3,
    name="sdp-pe",
    prefix="sdp",
    title="Near-optimal reinforcement learning with shuffle differential privacy",
    citation="Bai, Talebi, Zhao, Cheng and Chen, 2026, arXiv:2411.11647v3",
    deployment=Deployment(
        "shuffled-count", {"users": 11142, "threshold": 5571.0, "encoding": "bits"}, Adjacency.REPLACE, "1e-6"
    ),
)
