"""The sampler of each mechanism and its accountant mean the same noise.

An audit of the sampler must find no violation of the accountant's guarantee, and it must find one of the guarantee for
more noise (`FACTOR` times as much, or as stated). So a sampler with too little or too much noise fails, and an
accountant that counts too little or too much. The level of each audit is 1 %, its seed is fixed.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpproof.accountant.catalogue import CATALOGUE, accountant_for
from dpproof.audits.target import Subject, mechanism_target
from dpproof.audits.targets.call import audit
from tests.rows import tiered

SEED, BUDGET, FACTOR = 20, 20_000, 2
ANY = "by-sensitivity"
COUNTS = {"states": 2, "actions": 1, "horizon": 1, "episodes": 5, "scale": 6.0}
AGREE = {
    "laplace": (ANY, {"scale": 2.0, "compositions": 3, "sensitivity": 1.0}),
    "gaussian": (ANY, {"sigma": 2.0, "compositions": 3, "sensitivity": 1.0}),
    "rlsvi": ("rewards-only", {"states": 2, "actions": 2, "horizon": 2, "episodes": 4}),
    "central-counts": ("replace", COUNTS),
    "local-counts": ("replace", COUNTS),
    "shuffled-count": ("replace", {"users": 50, "threshold": 120.0, "encoding": "bits"}, 4 * BUDGET, FACTOR),
    "dp-sgd": ("add-remove", {"sampling_rate": 0.3, "noise_multiplier": 1.0, "steps": 4}),
    "cyclic-sgd": (
        "add-remove",
        {"sampling_rate": 0.5, "noise_multiplier": 1.0, "steps": 6, "groups": 2},
    ),
    "allocated-sgd": ("add-remove", {"noise_multiplier": 0.8, "steps": 4, "epochs": 2}),
    "truncated-sgd": (
        "add-remove",
        {
            "sampling_rate": 0.3,
            "noise_multiplier": 1.0,
            "steps": 4,
            "largest_batch": 40,
            "largest_dataset": 50,
        },
    ),
    "fixed-batch-sgd": ("replace", {"noise_multiplier": 2.0, "steps": 4, "batch": 3, "dataset": 10}),
    "shuffled-sgd": ("replace", {"noise_multiplier": 2.0, "steps": 4, "epochs": 2}, BUDGET, 8),
    "geometric": (ANY, {"scale": 2.0, "compositions": 2, "sensitivity": 1}),
    "discrete-gaussian": (ANY, {"sigma": 2.0, "compositions": 2, "sensitivity": 1}),
    "binomial": (ANY, {"trials": 100, "compositions": 2, "sensitivity": 1}),
    "randomised-response": (ANY, {"randomness": 0.5, "categories": 4, "compositions": 2}),
    "staircase": ("add-remove", None),
    "exponential": (ANY, {"scale": 2.0, "compositions": 1, "sensitivity": 1.0}),
    "permute-and-flip": (ANY, {"scale": 4.0, "compositions": 2, "sensitivity": 1.0}),
    "tree": (ANY, {"leaves": 6, "sigma": 4.0, "restarts": 1, "sensitivity": 1.0}),
    "laplace-tree": (ANY, {"leaves": 6, "scale": 4.0, "restarts": 1, "sensitivity": 1.0}),
    "matrix-counting": (ANY, {"leaves": 6, "sigma": 4.0, "sensitivity": 1.0}),
    "private-selection": (ANY, {"base_epsilon": 1.0, "mean_runs": 4.0}, BUDGET, 0.5),
    "tuned-dp-sgd": (
        "add-remove",
        {"sampling_rate": 1.0, "noise_multiplier": 2.0, "steps": 2, "mean_runs": 3.0},
        BUDGET,
        8,
    ),
    "partition-selection": (
        "add-remove",
        {"group_epsilon": 1.0, "group_delta": 1e-6, "groups": 3},
        BUDGET,
        0.5,
    ),
    "smooth-gaussian": (ANY, {"noise": 3.0, "smoothing": 0.1, "dimension": 3}, BUDGET, 8),
    "smooth-laplace": (ANY, {"noise": 3.0, "smoothing": 0.1}),
    "smooth-cauchy": (ANY, {"noise": 3.0, "smoothing": 0.1, "exponent": 3.0}),
    "smooth-student": (ANY, {"noise": 1.0, "smoothing": 0.1}, 100_000, 4),
    "smooth-log-normal": (ANY, {"noise": 1.0, "smoothing": 0.1, "spread": 0.5}, 100_000, 8),
    "shuffled-batch": (
        "replace",
        {"users": 50, "threshold": 120.0, "states": 2, "actions": 2, "horizon": 2},
    ),
    "batched-counts": (
        "replace",
        {"states": 2, "actions": 2, "horizon": 4, "episodes": 20, "sigma": 9.0, "every": 4},
    ),
    "policy-evaluation": ("replace", {"dimension": 1, "noise": 2.0, "beta": 0.01}, BUDGET, 4),
    "thompson": ("rewards-only", {"arms": 2, "rounds": 4, "pulls": 1, "variance": 2.0}),
    "selective-dpsgd": (
        "expert",
        {"sampling_rate": 0.5, "branch_probability": 0.5, "noise_multiplier": 1.0, "steps": 4},
    ),
}
"""Relation and parameters of each mechanism; number of samples and factor on the noise, where they are others.

The factor is below 1 if a smaller parameter is more private.
"""


def test_every_mechanism_is_here_or_says_why_not():
    missing = {
        "expert-release": "its audit takes minutes (tests/audits/test_expert_cases.py)",
        "sparse-vector": "its audit fits classifiers for minutes (tests/audits/test_primitives.py has a short one)",
        "gaussian-sparse-vector": "its audit fits the same classifiers",
    }
    assert set(CATALOGUE) == AGREE.keys() | missing.keys()


@pytest.mark.parametrize("name", tiered(AGREE, fast=3))
def test_sampler_and_accountant_agree(name):
    relation, given, *own = AGREE[name]
    budget, factor = own or (BUDGET, FACTOR)
    accountant = accountant_for(name)
    honest = accountant.example if given is None else accountant.parameters.read(given)
    relation = accountant.relation(relation)
    noise = getattr(honest, accountant.noise)
    noisier = replace(honest, **{accountant.noise: type(noise)(noise * factor)})

    def violated(claimed):
        claim = accountant.account(claimed, relation).guarantee
        target = mechanism_target(Subject(name, honest, relation, claim))
        return audit(target, seed=SEED, delta=1e-5, budget=budget, power=False).verdict.violated

    assert not violated(honest)
    assert violated(noisier)
