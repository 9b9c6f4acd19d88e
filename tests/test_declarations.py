"""Sensitivity, noise and parameters are declared once: a change in the sampler or in the accountant alone is noticed.

Each row changes one line of one module. The named test passes without the change (it is part of this suite) and must
fail with it. The changes are those by which published implementations went wrong: half the sensitivity, a logarithm
without its ceiling, another probability of a noise bit, sums instead of messages.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpproof.accountant.catalogue import CATALOGUE, accountant_for
from dpproof.accountant.claims.parameters import Choice
from dpproof.proofs_check.registry import lookup, statements

AGREES = "tests/audits/test_agreement.py::test_sampler_and_accountant_agree[{}]"
A, M = "dpproof.accountant.", "dpproof.mechanisms."
UCB, SDP = "rl.private_ucb.", "rl.sdp_pe."
CHANGES = [
    ("laplace", M + "noise.laplace", "parameters.scale,", "parameters.scale / 2,"),
    ("laplace", M + "noise.laplace", "parameters.scale,", "parameters.scale * 2,"),
    ("laplace", A + "noise.laplace", "ratio, count = exact(", "ratio, count = 2 * exact("),
    ("gaussian", M + "noise.gaussian", "parameters.sigma,", "parameters.sigma**2,"),
    (
        "gaussian",
        A + "noise.gaussian",
        "/ arb_of(exact(parameters.sigma)))",
        "/ arb_of(exact(parameters.sigma))**2)",
    ),
    ("geometric", M + "noise.geometric", "exact(parameters.scale)", "exact(parameters.scale) / 2"),
    ("geometric", A + "noise.geometric", "exact(parameters.scale),", "exact(parameters.scale) / 2,"),
    (
        "discrete-gaussian",
        M + "noise.discrete_gaussian",
        "variance = exact(parameters.sigma) ** 2",
        "variance = exact(parameters.sigma)",
    ),
    (
        "discrete-gaussian",
        A + "noise.discrete_gaussian",
        "exact(parameters.sigma) ** 2, shift",
        "exact(parameters.sigma), shift",
    ),
    ("binomial", M + "noise.binomial", "parameters.trials,", "parameters.trials // 4,"),
    (
        "binomial",
        A + "noise.binomial",
        "ShiftedBinomial(parameters.trials,",
        "ShiftedBinomial(4 * parameters.trials,",
    ),
    ("exponential", M + "noise.exponential", "/ parameters.scale", "/ (parameters.scale / 1.5)"),
    ("exponential", A + "noise.exponential", "(1 if parameters.monotone else 2)", "1"),
    ("permute-and-flip", M + "noise.permute_and_flip", "/ parameters.scale", "/ (parameters.scale / 2)"),
    ("permute-and-flip", A + "noise.permute_and_flip", "2 * moved.moved", "moved.moved"),
    ("staircase", M + "noise.staircase", "(scale / step)", "(scale / step / 2)"),
    ("staircase", A + "noise.staircase", "loss = step / exact", "loss = step / 2 / exact"),
    ("dp-sgd", M + "noise.dp_sgd", "parameters.noise_multiplier,", "parameters.noise_multiplier / 2,"),
    ("dp-sgd", M + "noise.dp_sgd", "parameters.sampling_rate,", "parameters.sampling_rate**2,"),
    (
        "dp-sgd",
        A + "noise.dp_sgd",
        "parameters.noise_multiplier, parameters.steps",
        "2 * parameters.noise_multiplier, parameters.steps",
    ),
    ("tree", M + "counting.gaussian_tree", "parameters.sigma,", "parameters.sigma / 2,"),
    ("tree", A + "counting.gaussian_tree", "/ exact(parameters.sigma))", "/ exact(parameters.sigma) / 2)"),
    ("laplace-tree", M + "counting.laplace_tree", "parameters.scale,", "parameters.scale / 2,"),
    (
        "laplace-tree",
        A + "counting.laplace_tree",
        "exact(parameters.scale) /",
        "2 * exact(parameters.scale) /",
    ),
    ("matrix-counting", M + "counting.matrix_counting", "parameters.sigma,", "parameters.sigma / 2,"),
    (
        "matrix-counting",
        A + "counting.matrix_counting",
        "/ exact(parameters.sigma))",
        "/ exact(parameters.sigma) / 2)",
    ),
    (
        "smooth-gaussian",
        A + "smooth_sensitivity.gaussian",
        "SmoothGaussian(parameters.noise,",
        "SmoothGaussian(4 * parameters.noise,",
    ),
    (
        "smooth-laplace",
        A + "smooth_sensitivity.laplace",
        "SmoothLaplace(parameters.noise,",
        "SmoothLaplace(4 * parameters.noise,",
    ),
    # a user changes two counts of each kind in a step, not one: 3H for 6H
    (
        "local-counts",
        A + UCB + "changes",
        "_all_in_one(sizes, sizes.horizon, 2))",
        "_all_in_one(sizes, sizes.horizon, 1))",
    ),
    (
        "central-counts",
        M + UCB + "privatizers_paper",
        "return parameters.used_scale() *",
        "return parameters.used_scale() / 2 *",
    ),
    (
        "local-counts",
        M + UCB + "privatizers_paper",
        "return parameters.used_scale() *",
        "return parameters.used_scale() / 2 *",
    ),
    # the probability of a noise bit, and messages that are summed before they are shuffled
    (
        "shuffled-count",
        M + SDP + "shuffled_count",
        "rng.binomial(coins, float(parameters.noise_chance), n)",
        "rng.binomial(coins, float(parameters.noise_chance) / 8, n)",
    ),
    (
        "shuffled-count",
        A + SDP + "shuffled_count",
        'parameters.users if parameters.encoding == "bits" else 1',
        "1",
    ),
    (
        "thompson",
        M + "rl.thompson.thompson",
        "np.sqrt(law.variances)",
        "np.sqrt(law.variances / 8)",
    ),
    ("rlsvi", A + "rl.rlsvi.rlsvi", "return parameters.horizon * alone", "return alone"),
    ("rlsvi", M + "rl.rlsvi._kernels", "parameters.beta_double", "parameters.beta_double / 4"),
]
OTHERS = [
    # a user is in ceil(log2 K) nodes of the tree, not in log K
    (
        "tests/audits/test_private_counts.py::test_the_pair_pays_the_certified_epsilon",
        A + UCB + "central_counts",
        "Moved(parameters, changes, parameters.levels)",
        "Moved(parameters, changes, max(1, parameters.levels - 1))",
    ),
    (
        "tests/audits/test_private_counts.py::test_the_pair_pays_the_certified_epsilon",
        A + UCB + "changes",
        "_all_in_one(sizes, steps, 2)\n        return",
        "_all_in_one(sizes, steps, 1)\n        return",
    ),
    (
        "tests/mechanisms/test_privatizers.py",
        M + UCB + "privatizers_paper",
        "np.float32(scale * float",
        "np.float32(scale / 2 * float",
    ),
    (
        "tests/mechanisms/test_privatizers.py",
        M + UCB + "private_counts",
        "in_counts = exact(parameters.used_scale())",
        "in_counts = exact(parameters.used_scale()) / 2",
    ),
    (
        "tests/mechanisms/test_shuffling.py",
        M + SDP + "shuffled_count",
        "< float(chance)\n",
        "< float(chance) / 2\n",
    ),
    (
        "tests/mechanisms/test_shuffling.py",
        M + SDP + "shuffled_count",
        "rng.binomial(trials, float(chance), held.shape)",
        "rng.binomial(trials, float(chance) / 2, held.shape)",
    ),
    (
        "tests/mechanisms/test_policy_evaluation.py",
        M + "rl.policy_evaluation.policy_evaluation",
        "self.variance(data, noise))",
        "self.variance(data, noise) / 4)",
    ),
]
"""The samplers that learners and deployments use, where audits draw by another route."""
ROWS = [(AGREES.format(name), *change) for name, *change in CHANGES] + OTHERS


def variants(parameters):
    """The example, and the example with each word of each choice, if the accountant takes them together."""
    yield parameters
    for field in dataclasses.fields(parameters):
        words = [x.words for x in field.metadata.values() if isinstance(x, Choice)]
        for word in words[0] if words else ():
            with contextlib.suppress(ValueError):
                yield dataclasses.replace(parameters, **{field.name: word})


def test_the_page_of_a_guarantee_names_the_sampler_of_every_mechanism_that_rests_on_it():
    for name, leaf in CATALOGUE.items():
        accountant = accountant_for(name)
        found = set()
        for relation, parameters in itertools.product(accountant.relations, variants(accountant.example)):
            with contextlib.suppress(ValueError):
                found.add(accountant.account(parameters, relation).statement)
        assert found
        for statement in map(lookup, sorted(found)):
            samplers = [x for x in statement.sampled_by if x == f"dpproof.mechanisms.{leaf}:sample"]
            assert samplers or (accountant.unsampled and statement.sampled_by), (name, statement.id)


SAMPLERS = sorted({x for statement in statements() for x in statement.sampled_by})


@pytest.mark.parametrize("named", SAMPLERS)
def test_every_named_sampler_exists(named):
    module, _, thing = named.partition(":")
    try:
        assert callable(getattr(importlib.import_module(module), thing))
    except ModuleNotFoundError as missing:
        if missing.name != "torch":
            raise
        pytest.skip("torch, an extra, is not installed")


def test_there_are_more_named_samplers_than_mechanisms():
    assert len(SAMPLERS) > len(CATALOGUE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "module", "before", "after"), ROWS, ids=[f"{row[1]}-{place}" for place, row in enumerate(ROWS)]
)
def test_a_change_in_one_place_alone_is_noticed(test, module, before, after):
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "tests.changed",
            "-p",
            "no:cacheprovider",
            "-n",
            "0",
            test,
        ],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "CHANGED": json.dumps([module, before, after])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed" in ran.stdout, ran.stdout[-2000:] + ran.stderr[-2000:]
