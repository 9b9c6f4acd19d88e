"""No bound rests on elementary functions or transforms of the machine; one that did would say so.

The spies replace numpy's elementary functions, and the transforms, by ones that note who called them. They
know nothing of the record that `dpproof.accountant.numbers.arithmetic` keeps.
"""

import ast
import functools
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

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
from dpproof.answers import account as answers
from dpproof.answers.calibration import Asked, calibrate
from tests.rows import rows, tiered

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "accountant"
GUIDES = {"privacy_loss/planning.py", "privacy_loss/jump_outlook.py", "privacy_loss/sketch.py"}
"""Where elementary functions only choose a grid, a cut, a line or a starting point; no bound rests on them."""
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
        def noted(original):
            @functools.wraps(original)
            def spied(*arguments, **options):
                caller = self._caller()
                if caller is not None:
                    self.called[kind].add(caller)
                return original(*arguments, **options)

            return spied

        original = getattr(module, name)
        spied = noted(original)
        if getattr(original, "nin", 0) == 2:
            spied.accumulate = noted(original.accumulate)
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
def test_an_answer_calls_no_function_without_a_proved_error(name, place, question, spies):
    accountant = accountant_for(name)
    parameters = points(name)[place]
    relation = relation_of(name)
    answer = answers.account(accountant, parameters, relation, **question)
    assert spies.used() == said(answer) == set()


def test_a_function_without_a_proved_error_is_seen_and_named(spies):
    """The control: the spies and the record notice a tangent, which no bound uses."""
    code = compile("found = np.tan(0.5)", str(FOLDER / "pairs" / "laplace.py"), "exec")
    with recorded() as used:
        exec(code, {"np": recording})
    assert spies.used() == used == {Assumption.ELEMENTARY}


@pytest.mark.slow
def test_calibration_calls_none_either(spies):
    accountant = accountant_for("laplace")
    relation = Adjacency.BY_SENSITIVITY
    many, once = accountant.parameters(5.0, compositions=5), accountant.parameters(5.0)
    composed = calibrate(accountant, many, relation, Asked.epsilon("1", "1e-3"))
    assert said(composed) == spies.used() == set()
    assert said(calibrate(accountant, once, relation, Asked.epsilon("1", "0"))) == set()


def test_bounds_carry_what_they_rest_on():
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
            return float(recording.tan(0.0))

    @lru_cache(maxsize=2)
    def once(x):
        return float(recording.cosh(x))

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
    assert in_words([]).startswith("arithmetic: balls and doubles")
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
    assert drawn.count("arithmetic assumed") == drawn.count("arithmetic assumed: nothing") > 0
