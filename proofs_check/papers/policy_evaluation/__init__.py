"""Private policy evaluation with smooth sensitivity."""

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.proofs_check.papers.paper import Deployment, Paper

# The deployment: the chain, tabular, at a delta that can be defended.
PAPER = Paper(
    place=4,
    name="policy-evaluation",
    prefix="eval",
    title="Differentially private policy evaluation",
    citation="Balle, Gomrokchi and Precup, ICML 2016, arXiv:1603.02010v1",
    deployment=Deployment(
        "policy-evaluation",
        {"dimension": 40, "printed_epsilon": 0.1, "printed_delta": 1e-6},
        Adjacency.REPLACE,
        "1e-6",
    ),
)
