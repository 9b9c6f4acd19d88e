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
        at_most(found.guarantee.epsilon("1e-6").upper),
        at_least(found.attained.guarantee.epsilon("1e-6").lower),
    )
    assert answers == tuple(re.findall(r"^\| [^|]* \| ([0-9.]+) \|$", README.read_text(), re.MULTILINE))
