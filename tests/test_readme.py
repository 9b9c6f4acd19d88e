"""The README tells the truth: its Python runs, its figures are what the command line answers."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.cli.show import at_least, at_most

README = Path(__file__).resolve().parent.parent / "README.md"


def test_its_python_runs():
    results = doctest.testfile(str(README), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert results.attempted >= 3
    assert results.failed == 0


def test_its_figures_are_the_answers():
    accountant = accountant_for("rlsvi")
    sizes = accountant.parameters.read({"states": 6, "actions": 2, "horizon": 20, "episodes": 1000})
    found = accountant.account(sizes, Adjacency.REWARDS_ONLY)
    answers = (
        at_most(found.published.epsilon("1e-6").upper),
        at_most(found.published.exact.epsilon("1e-6").upper),
        at_most(found.guarantee.epsilon("1e-6").upper),
        at_least(found.attained.guarantee.epsilon("1e-6").lower),
    )
    assert answers == tuple(re.findall(r"^\| [^|]* \| ([0-9.]+) \|$", README.read_text(), re.MULTILINE))


def two_sided(name, adjacency, delta, **values):
    accountant = accountant_for(name)
    bound = accountant.account(accountant.parameters.read(values), adjacency).guarantee.epsilon(delta)
    return at_least(bound.lower), at_most(bound.upper)


def test_its_two_sided_figures_are_the_answers():
    training = {"sampling_rate": 0.01, "noise_multiplier": 1.0}
    accountant, relation = accountant_for("dp-sgd"), Adjacency.ADD_REMOVE
    start = accountant.parameters(steps=1000, **training)
    meets, misses = accountant.least_noise(start, relation, 1, "1e-6")
    answers = [
        two_sided("dp-sgd", relation, "1e-6", steps=100_000, **training),
        (at_least(misses.noise_multiplier), at_most(meets.noise_multiplier)),
        two_sided("gaussian", Adjacency.BY_SENSITIVITY, "1e-30", sigma=5.0, compositions=1000),
    ]
    assert answers == re.findall(r"^\| [^|]* \| ([0-9.]+) \| ([0-9.]+) \|$", README.read_text(), re.MULTILINE)
