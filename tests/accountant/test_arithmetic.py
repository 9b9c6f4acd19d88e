"""What a bound assumes of the machine: which answers say so, and what elementary functions err by.

What an answer takes on trust of the machine's arithmetic, against spies on the functions themselves.

The spies replace numpy's elementary functions, and the transforms, by ones that note who called them. They
know nothing of the record that `dpproof.accountant.numbers.arithmetic` keeps.

The elementary functions of the running numpy, against Arb: every bound charges them 4 ulp.
"""

import ast
import functools
import math
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import flint
import numpy as np
import pytest
import scipy.fft

from dpproof.accountant.catalogue import CATALOGUE, accountant_for
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.numbers.arithmetic import (
    Assumption,
    assume,
    cached_property,
    current,
    in_words,
    lru_cache,
    recorded,
)
from dpproof.accountant.numbers.arithmetic import np as recording
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import precision
from dpproof.answers import account as answers
from dpproof.answers.calibration import Asked, calibrate
from tests.rows import rows, tiered

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "accountant"
GUIDES = {"privacy_loss/planning.py", "privacy_loss/jump_outlook.py"}
"""Where elementary functions only choose a grid, a cut or a starting point; no bound rests on them."""
ELEMENTARY = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "power", "cbrt", "hypot", "sinc"),
    *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "angle"),
    *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"),
)
VARIANTS = {
    "dp-sgd": [{"steps": 100}, {"noise_multiplier": 2.0, "steps": 2, "records": 2}],
    "tree": [{"participations": 3}],
    "sparse-vector": [{"positives": 9}],
    "smooth-gaussian": [{"noise": 9.0, "dimension": 3}],
    "shuffled-count": [{"encoding": "sum"}],
    "central-counts": [
        {"printed_epsilon": None, "scale": 9.0, "noise": noise} for noise in ("laplace", "gaussian")
    ],
    "local-counts": [{"printed_epsilon": None, "scale": 9.0}],
}
"""What is asked of a mechanism besides its example, and besides nine compositions of it."""


def points(name):
    example = accountant_for(name).example
    many = [{"compositions": 9}] if hasattr(example, "compositions") else []
    return [replace(example, **changes) for changes in ({}, *many, *VARIANTS.get(name, []))]


@functools.cache
def _real(name):
    """The path without the link through which the folder is imported."""
    return Path(name).resolve()


class Spies:
    """Who called a transform or an elementary function, as paths below the accountant's folder."""

    def __init__(self):
        self.called = {kind: set() for kind in (*Assumption, "transform")}

    def on(self, monkeypatch, module, name, kind):
        original = getattr(module, name)

        @functools.wraps(original)
        def spied(*arguments, **options):
            caller = self._caller()
            if caller is not None:
                self.called[kind].add(caller)
            return original(*arguments, **options)

        monkeypatch.setattr(module, name, spied)

    def _caller(self):
        """The first frame below the accountant's folder that is not the recorder's own."""
        frame = sys._getframe(2)
        while frame is not None:
            path = _real(frame.f_code.co_filename)
            if path.name != "arithmetic.py":
                inside = path.is_relative_to(FOLDER)
                return path.relative_to(FOLDER).as_posix() if inside else None
            frame = frame.f_back
        return None

    def used(self):
        return {kind for kind, who in self.called.items() if who - GUIDES}


@pytest.fixture
def spies(monkeypatch):
    found = Spies()
    for name in ELEMENTARY:
        found.on(monkeypatch, np, name, Assumption.ELEMENTARY)
    for name in ("rfft", "irfft"):
        found.on(monkeypatch, scipy.fft, name, "transform")
    for name in ("rfft", "irfft", "fft", "ifft"):
        found.on(monkeypatch, np.fft, name, "transform")
    return found


def said(answer):
    return answer.arithmetic


RELATIONS = {
    "rlsvi": Adjacency.REWARDS_ONLY, "dp-sgd": Adjacency.ADD_REMOVE, "selective-dpsgd": Adjacency.EXPERT
}  # fmt: skip
"""Where the replacement of a user is proved, too, and has other functions."""


def relation_of(name):
    accountant = accountant_for(name)
    return accountant.adjacency or RELATIONS.get(name) or next(filter(partial(proves, accountant), ORDER))


ORDER = (Adjacency.REPLACE, *Adjacency)


def proves(accountant, relation):
    try:
        accountant.account(accountant.example, relation)
    except UnprovedAdjacencyError:
        return False
    return True


CASES = [(name, place) for name in CATALOGUE for place in range(len(points(name)))]


@pytest.mark.parametrize(
    "question", tiered([{"delta": "1e-3"}, {"epsilon": "0.25"}, {"delta": 0}], fast=1), ids=str
)
@pytest.mark.parametrize(("name", "place"), tiered(CASES, fast=12))
def test_an_answer_names_every_function_that_was_called(name, place, question, spies):
    accountant = accountant_for(name)
    parameters = points(name)[place]
    relation = relation_of(name)
    answer = answers.account(accountant, parameters, relation, **question)
    assert spies.used() <= said(answer)
    # What is cached by now is still named: the record is repeated with the value.
    again = answers.account(accountant, parameters, relation, **question)
    assert again.arithmetic == answer.arithmetic


def test_each_assumption_is_named_by_some_answer_and_neither_by_others(spies):
    def asked(name, place):
        accountant = accountant_for(name)
        parameters = points(name)[place]
        return said(answers.account(accountant, parameters, relation_of(name), delta="1e-6"))

    assert asked("gaussian", 1) == asked("tree", 0) == set()
    assert asked("laplace", 0) == {Assumption.ELEMENTARY}
    assert asked("laplace", 1) == {Assumption.ELEMENTARY}
    assert spies.used() == {Assumption.ELEMENTARY}


@pytest.mark.slow
def test_calibration_names_them_too(spies):
    accountant = accountant_for("laplace")
    relation = Adjacency.BY_SENSITIVITY
    many, once = accountant.parameters(5.0, compositions=5), accountant.parameters(5.0)
    composed = calibrate(accountant, many, relation, Asked.epsilon("1", "1e-3"))
    assert said(composed) == spies.used() == {Assumption.ELEMENTARY}
    assert said(calibrate(accountant, once, relation, Asked.epsilon("1", "0"))) == set()


def test_bounds_carry_what_they_rest_on():
    laplace = accountant_for("laplace")
    found = laplace.account(laplace.parameters(5.0, compositions=3), Adjacency.BY_SENSITIVITY)
    assert found.epsilon("1e-3").assumptions == {Assumption.ELEMENTARY}
    assert found.epsilon(0).assumptions == found.delta(1).assumptions == set()
    with recorded():
        with recorded():
            assume(Assumption.ELEMENTARY)
            mu = Bound(0.5, 0.6)
        assert current() == {Assumption.ELEMENTARY}
    with recorded():
        assert GaussianDP(Bound(0.5, 0.6)).epsilon("0.1").assumptions == set()
    with recorded():
        assert GaussianDP(mu).epsilon("0.1").assumptions == {Assumption.ELEMENTARY}
    assert Bound(0.5, 0.6) == mu


def test_caches_repeat_the_record():
    class Kept:
        @cached_property
        def value(self):
            """One."""
            return float(recording.exp(0.0))

    @lru_cache(maxsize=2)
    def once(x):
        return float(recording.log(x))

    kept = Kept()
    for _ in range(2):
        for ask in (lambda: kept.value, lambda: once(1.0)):
            with recorded() as used:
                ask()
            assert used == {Assumption.ELEMENTARY}
    assert once.cache_info().hits == 1
    with pytest.raises(AttributeError, match="value cannot be set"):
        kept.value = 2.0


def test_what_is_listed_is_in_words():
    assert in_words([]).startswith("arithmetic: ball arithmetic")
    assert "4 ulp" in in_words([Assumption.ELEMENTARY])


def imported(tree):
    """Return a mapping from each name that a module imports to its source."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.slow
@rows("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_no_module_goes_round_the_record(path):
    name = path.relative_to(FOLDER).as_posix()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    known = imported(tree)
    if name == "numbers/arithmetic.py":
        return
    transforms = {where for where in known.values() if "fft" in where}
    assert not transforms
    cached = {where for where in known.values() if where.startswith("functools.") and "cache" in where}
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    dotted = {(getattr(node.value, "id", None), node.attr) for node in attributes}
    assert not cached
    assert not {attr for value, attr in dotted if value == "functools" and "cache" in attr}
    if name not in GUIDES and {attr for value, attr in dotted if value == "np" and attr in ELEMENTARY}:
        assert known["np"] == "dpproof.accountant.numbers.arithmetic.np"


@pytest.mark.slow
def test_loading_a_module_is_no_part_of_an_answer():
    """What is listed does not depend on whether the answer is the first of its process."""
    code = """
import importlib, pkgutil, dpproof.accountant
from dpproof.accountant.numbers.arithmetic import current
for module in pkgutil.walk_packages(dpproof.accountant.__path__, "dpproof.accountant."):
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as missing:  # an extra
        assert not missing.name.startswith("dpproof")
print(sorted(one.value for one in current()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_what_is_drawn_says_so_too(tmp_path):
    from dpproof.report.plots import write_plot

    laplace = accountant_for("laplace")
    found = laplace.account(laplace.parameters(5.0, compositions=2), Adjacency.BY_SENSITIVITY)
    path = tmp_path / "profile.html"
    write_plot(path, found, "two answers")
    drawn = " ".join(path.read_text(encoding="utf-8").split())
    assert "arithmetic assumed: elementary-4ulp" in drawn


RNG = np.random.default_rng(20260)
COUNT = 3000


def spread(low, high):
    """Both signs, magnitudes log-uniform."""
    size = np.exp(RNG.uniform(math.log(low), math.log(high), COUNT))
    return size * RNG.choice([-1.0, 1.0], COUNT)


POSITIVE = np.abs(spread(1e-300, 1e300))
FUNCTIONS = {
    "exp": (np.exp, flint.arb.exp, spread(1e-12, 700)),
    "expm1": (np.expm1, flint.arb.expm1, spread(1e-12, 700)),
    "log": (np.log, flint.arb.log, POSITIVE),
    "log1p": (np.log1p, flint.arb.log1p, np.concatenate([POSITIVE, -np.abs(spread(1e-300, 0.999999))])),
    "sin": (np.sin, flint.arb.sin, spread(1e-12, 1e9)),
    "cos": (np.cos, flint.arb.cos, spread(1e-12, 1e9)),
}


def ulps(found, exact):
    return abs(float((flint.arb(float(found)) - exact) / exact)) * 2.0**52


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_is_within_four_ulp(name):
    ours, reference, points = FUNCTIONS[name]
    found = ours(points)  # as an array: the vectorised loops are what the accountant uses
    with precision(200):
        worst = max(ulps(f, reference(flint.arb(float(x)))) for f, x in zip(found, points, strict=True))
    assert worst <= 4


def test_angle_and_length_are_within_four_ulp():
    x, y = spread(1e-9, 1e3), spread(1e-9, 1e3)
    with precision(200):
        for a, b, angle, length in zip(x, y, np.arctan2(y, x), np.hypot(x, y), strict=True):
            u, v = flint.arb(float(a)), flint.arb(float(b))
            assert ulps(angle, flint.arb.atan2(v, u)) <= 4
            assert ulps(length, (u * u + v * v).sqrt()) <= 4


def test_a_wrong_function_is_noticed():
    with precision(200):
        assert ulps(np.exp(1.0) * (1 + 2e-15), flint.arb(1).exp()) > 4
