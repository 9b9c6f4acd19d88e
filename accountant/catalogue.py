"""The catalogue: the command-line name of every mechanism, and the modules that implement it.

An entry such as ``noise.laplace`` names one module in each of three packages:
``dpproof.accountant.noise.laplace`` holds its ``ACCOUNTANT``, ``dpproof.mechanisms.noise.laplace`` its
``sample``, and ``dpproof.audits.targets.noise.laplace`` its audit. A module is imported only when it is
needed.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.spelling import one_of

CATALOGUE: Mapping[str, str] = {
    "rlsvi": "rl.rlsvi.rlsvi",
    "gaussian": "noise.gaussian",
    "laplace": "noise.laplace",
    "dp-sgd": "noise.dp_sgd",
    "cyclic-sgd": "sampling.cyclic",
    "allocated-sgd": "sampling.allocated",
    "truncated-sgd": "sampling.truncated",
    "fixed-batch-sgd": "sampling.fixed_batch",
    "shuffled-sgd": "sampling.shuffled",
    "geometric": "noise.geometric",
    "discrete-gaussian": "noise.discrete_gaussian",
    "binomial": "noise.binomial",
    "randomised-response": "noise.randomised_response",
    "staircase": "noise.staircase",
    "exponential": "noise.exponential",
    "permute-and-flip": "noise.permute_and_flip",
    "tree": "counting.gaussian_tree",
    "laplace-tree": "counting.laplace_tree",
    "matrix-counting": "counting.matrix_counting",
    "sparse-vector": "sparse_vector.technique",
    "gaussian-sparse-vector": "sparse_vector.gaussian",
    "private-selection": "selection.private_selection",
    "tuned-dp-sgd": "selection.tuned_dp_sgd",
    "partition-selection": "selection.partition_selection",
    "smooth-gaussian": "smooth_sensitivity.gaussian",
    "smooth-laplace": "smooth_sensitivity.laplace",
    "smooth-cauchy": "smooth_sensitivity.cauchy",
    "smooth-student": "smooth_sensitivity.student",
    "smooth-log-normal": "smooth_sensitivity.log_normal",
    "shuffled-count": "rl.sdp_pe.shuffled_count",
    "shuffled-batch": "rl.sdp_pe.shuffled_batch",
    "central-counts": "rl.private_ucb.central_counts",
    "local-counts": "rl.private_ucb.local_counts",
    "batched-counts": "rl.private_ucb.batched_counts",
    "policy-evaluation": "rl.policy_evaluation.policy_evaluation",
    "thompson": "rl.thompson.thompson",
    "selective-dpsgd": "rl.expert.selective_dpsgd",
    "expert-release": "rl.expert.release",
}
"""A dictionary: the command-line name of each mechanism, and the last part of the names of its modules."""


def leaf_of(layer: str, name: str) -> Any:
    """Return the module of a mechanism in the package ``layer``, such as ``dpproof.accountant``.

    ``name`` is the command-line name of the mechanism.

    >>> leaf_of("dpproof.accountant", "laplace").__name__
    'dpproof.accountant.noise.laplace'

    Raises:
        ValueError: for an unknown name, listing the known ones.
    """
    if not isinstance(name, str):
        raise TypeError(
            f"mechanism (a {type(name).__name__}) must be the name of a mechanism, such as 'laplace'. "
            "To test a function on your data, use dpproof.audit."
        )
    if name not in CATALOGUE:
        raise ValueError(f"mechanism ({name!r}) {one_of(name, CATALOGUE)}")
    return importlib.import_module(f"{layer}.{CATALOGUE[name]}")


def accountant_for(name: str) -> Accountant:
    """Return the accountant of the mechanism with the given command-line name.

    >>> accountant_for("rlsvi").parameters.__name__
    'RLSVIParameters'

    Raises:
        ValueError: for an unknown name, listing the known ones.
    """
    found: Accountant = leaf_of("dpproof.accountant", name).ACCOUNTANT
    return found
