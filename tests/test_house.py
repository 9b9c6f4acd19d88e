"""The house rules: ids and links resolve, the record is today's, nothing names a machine, code is short."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import subprocess
from pathlib import Path

import pytest

from dpproof.accountant.catalogue import CATALOGUE, accountant_for
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.published import published, published_ids
from dpproof.accountant.published.sources import Source
from dpproof.answers.verify import departures
from dpproof.mechanisms.primitives import sampler_for
from dpproof.proofs_check.registry import papers, statement_ids, statements
from tests.rows import rows
from tests.verified import results

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("accountant", "mechanisms", "proofs_check", "audits", "dpproof")
LONGEST_FUNCTION, LONGEST_FILE = 60, 400
COMPILED = {"mechanisms/rl/private_ucb/_kernels.py": 670}
"""Compiled functions that call each other share a file: the cache of one does not see a change elsewhere.

The last 50 lines are three loops' signatures again: those Python calls must let go of the generator."""
RLSVI = (
    "definition3", "definition4", "lemma6", "lemma7", "lemma8", "lemma9", "remark10", "eq2", "lemma11",
    "lemma12", "theorem13", "corollary14",
)  # fmt: skip
MODULE_PATHS = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def ident(path):
    return path.relative_to(ROOT).as_posix()


def tracked():
    """The files of the repository, or all there are where it is no repository."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a repository")
    found = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in found if path.is_file()]


@rows("name", RLSVI)
def test_every_item_of_the_paper_is_registered(name):
    assert f"rlsvi.{name}" in statement_ids()


@rows("identity", published_ids())
def test_a_published_formula_names_a_statement(identity):
    source = published(identity).source
    assert source.statement is None or source.statement in statement_ids()
    assert (source.statement or identity).split(".")[0] in {paper.prefix for paper in papers().values()}


@rows("name", CATALOGUE)
def test_an_accountant_names_the_statements_it_rests_on(name):
    accountant, proved = accountant_for(name), 0
    for adjacency in Adjacency:
        try:
            found = accountant.account(accountant.example, adjacency)
        except UnprovedAdjacencyError:
            continue
        proved += 1
        assert found.statement in statement_ids()
        assert found.published is None or found.published.statement in statement_ids()
    assert proved


def test_every_source_in_the_accountant_names_a_statement():
    found = []
    for path in (ROOT / "accountant").rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(("dpproof", *parts[: -1 if parts[-1] == "__init__" else None]))
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as missing:
            if missing.name.startswith("dpproof"):
                raise
            continue  # needs an extra
        for value in vars(module).values():
            entries = value if isinstance(value, tuple) else (value,)
            found += [entry for entry in entries if isinstance(entry, Source)]
            found += [entry.source for entry in entries if isinstance(getattr(entry, "source", None), Source)]
    assert found
    assert {source.statement for source in found} - {None} <= set(statement_ids())


@rows("path", MODULE_PATHS, ids=ident)
def test_ids_and_notes_that_a_module_mentions_exist(path):
    text = path.read_text(encoding="utf-8")
    known = {*statement_ids(), *published_ids()}
    prefixes = "|".join(paper.prefix for paper in papers().values())
    for identity in re.findall(rf"[Ss]tatements? ((?:{prefixes})\.\w+(?:\.\w+)*)", text):
        assert identity in known
    for note in re.findall(r"docs/[\w/.-]+\.md", text):
        assert (ROOT / note).is_file()


def test_notes_that_statements_mention_exist():
    texts = [
        text
        for entry in statements()
        for text in (*entry.rules, *entry.reading, entry.says, entry.reason or "")
    ]
    notes = {note for text in texts for note in re.findall(r"docs/[\w/.-]+\.md", text)}
    assert notes
    assert all((ROOT / note).is_file() for note in notes)


def test_the_pages_state_the_verdicts_that_the_certificates_give():
    assert departures(results().values(), "") == []


@rows("path", [p for p in tracked() if p.suffix == ".md"], ids=ident)
def test_links_between_documents_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        built = (path.parent / target.split("#")[0]).resolve() == ROOT / "docs" / "ledger.md"  # with the site
        if not built and not re.match(r"[a-z]+:|#", target):
            assert (path.parent / target.split("#")[0]).exists(), target


PLACES = "|".join(("home", "root", "tmp", "work", "Users", "mnt"))
MACHINE = re.compile(rf"(?<![\w.}}/-])/(?:{PLACES})/[\w.]")
INDEX = re.compile(
    r"pythonhosted[.]org|pypi[.]org/simple|index-url\b|trusted-host\b|artifactory", re.IGNORECASE
)


def machine_traits(text):
    """What in a text speaks of one machine: absolute paths, hosts of package indices."""
    return [match.group() for pattern in (MACHINE, INDEX) for match in pattern.finditer(text)]


@pytest.mark.slow
def test_no_file_speaks_of_a_machine():
    offending = {}
    for path in tracked():
        try:
            traits = machine_traits(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            continue
        if traits and path != Path(__file__).resolve():
            offending[ident(path)] = traits
    assert not offending


@rows(
    "text",
    ["see /home/me", "'/tmp/x'", "open(/work/a)", "/root/.cache", "--index-url x", "https://pypi.org/simple"],
)
def test_a_text_that_speaks_of_a_machine_would_be_found(text):
    assert machine_traits(text)


@rows("text", ["https://x.org/work/1", "docs/tmp/x", "a/home/b", "{x}/tmp/y", "/dev/null"])
def test_other_texts_would_not(text):
    assert not machine_traits(text)


def undocumented(text):
    """Public functions, classes and methods without a docstring; those within functions are private."""
    tree, found = ast.parse(text), []

    def look(body):
        for node in body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                overloads = [d for d in node.decorator_list if ast.unparse(d) == "overload"]
                if node.name.startswith("_") or overloads:
                    continue
                if not ast.get_docstring(node):
                    found.append(node.name)
                if isinstance(node, ast.ClassDef):
                    look(node.body)

    look(tree.body)
    return ([] if ast.get_docstring(tree) else ["the module"]) + found


def long_functions(text):
    """Functions of more lines, docstring apart, than a reader keeps in mind."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        x.name for x in ast.walk(ast.parse(text)) if isinstance(x, kinds) and _lines(x) > LONGEST_FUNCTION
    ]


def _lines(node):
    said = node.body[0] if ast.get_docstring(node) else None
    return node.end_lineno - node.lineno + 1 - (said.end_lineno - said.lineno + 1 if said else 0)


@rows("path", MODULE_PATHS, ids=ident)
def test_a_module_is_documented_and_short(path):
    text = path.read_text(encoding="utf-8")
    assert not undocumented(text)
    assert not long_functions(text)
    most = COMPILED.get(path.relative_to(ROOT).as_posix(), LONGEST_FILE)
    assert len(text.splitlines()) <= most


def test_bad_modules_would_be_found():
    assert undocumented("def f(): ...") == ["the module", "f"]
    assert undocumented('"""D."""\nclass C:\n    """D."""\n    def m(self): ...\n    def _p(self): ...') == [
        "m"
    ]
    body = "\n".join(f"    x = {line}" for line in range(LONGEST_FUNCTION))
    assert long_functions(f"def f():\n{body}") == ["f"]
    assert long_functions(f"def f():\n{body[: body.rindex(chr(10))]}") == []


@rows("name", CATALOGUE)
def test_a_mechanism_has_a_sampler_in_its_leaf_or_says_why_not(name):
    leaf = f"dpproof.mechanisms.{CATALOGUE[name]}"
    accountant = accountant_for(name)
    assert accountant.name == name
    if accountant.unsampled is None:
        sampler = sampler_for(name)
        assert list(inspect.signature(sampler).parameters)[0::2] == ["parameters", "n"]
        assert sampler.__module__ == leaf
    else:
        known = importlib.util.find_spec(leaf)
        assert known is None or not hasattr(importlib.import_module(leaf), "sample")
        with pytest.raises(ValueError, match=f"'{name}'.*must be one of: gaussian, laplace"):
            sampler_for(name)


_LAW = "the word for the law of a counter's noise"
OTHER_MEANINGS = {
    ("accountant/counting/noise.py", "laplace"): _LAW,
    ("accountant/counting/noise.py", "gaussian"): _LAW,
    ("accountant/counting/noise.py", "discrete-gaussian"): _LAW,
    ("accountant/rl/policy_evaluation/visit_sums.py", "gaussian"): "the mechanism that has the guarantee",
    ("mechanisms/rl/policy_evaluation/visit_sums.py", "gaussian"): "the mechanism that has the guarantee",
    ("proofs_check/kernel/theory.py", "laplace"): _LAW,
    ("proofs_check/coq/formula.py", "laplace"): _LAW,
    ("audits/corpus/laplace_cases.py", "exponential"): "a case of the corpus",
    ("audits/training/many_trainings.py", "dp-sgd"): "the accountant's name",
    ("audits/paired/libraries.py", "laplace"): "a function of numpy",
    ("audits/paired/sources.py", "laplace"): "a function of numpy",
    ("audits/paired/sources.py", "geometric"): "a function of numpy",
    ("audits/paired/sources.py", "binomial"): "a function of numpy",
    ("audits/paired/sources.py", "exponential"): "a function of numpy",
    ("audits/corpus/laplace_cases.py", "laplace"): "a case of the corpus",
    ("audits/corpus/reinforcement_cases.py", "gaussian"): _LAW,
    ("audits/corpus/dp_sgd.py", "dp-sgd"): "the audit of a training run, under the name of its mechanism",
    ("audits/sweep/packages/python_dp.py", "gaussian"): "the package's own word for its noise",
    ("audits/sweep/packages/python_dp.py", "laplace"): "the package's own word for its noise",
    ("dpproof/labels/numbers.py", "gaussian"): "the key of the Gaussian summary of a label",
    ("dpproof/deployments/methods.py", "gaussian"): "a row's noise, as a file of rows calls it",
    ("dpproof/deployments/registry.py", "dp-sgd"): "a record of a training has its own fields",
    ("audits/training/dp_sgd.py", "dp-sgd"): "the audit of a training run, under the name of its mechanism",
}
"""Quoted names of noise mechanisms that stand for something else."""


def quoted(text):
    """The strings of a module that are no docstrings."""
    tree = ast.parse(text)
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(node.value)
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped
    }


@pytest.mark.slow
def test_the_name_of_a_noise_mechanism_stands_in_the_catalogue_and_in_its_leaves_only():
    leaves = {name: leaf.replace(".", "/") for name, leaf in CATALOGUE.items() if leaf.startswith("noise.")}
    found = {
        (ident(path), name)
        for path in MODULE_PATHS
        for name in quoted(path.read_text(encoding="utf-8")) & leaves.keys()
        if ident(path) != "accountant/catalogue.py"
        and not path.with_suffix("").as_posix().endswith(leaves[name])
    }
    assert found == OTHER_MEANINGS.keys()


@pytest.mark.slow
def test_the_recipe_for_a_mechanism_names_the_places_that_the_example_has():
    """What is written by hand for the staircase: one line, and the files that the recipe names."""
    recipe = (ROOT / "docs/how-to/add-a-mechanism.md").read_text(encoding="utf-8")
    leaf = CATALOGUE["staircase"].replace(".", "/")
    by_hand = {f"{layer}/{leaf}.py" for layer in ("accountant", "mechanisms", "audits/targets")}
    assert by_hand | {"accountant/catalogue.py"} <= set(re.findall(r"`([\w/]+\.py)`", recipe))
    assert all((ROOT / path).is_file() for path in by_hand)
    ours = [path for path in MODULE_PATHS if not ident(path).startswith("audits/sweep/packages/")]
    named = {ident(path) for path in ours if "staircase" in quoted(path.read_text(encoding="utf-8"))}
    assert named == {"accountant/catalogue.py", f"accountant/{leaf}.py"}
    mentions = {ident(path) for path in ours if "staircase" in path.read_text(encoding="utf-8").lower()}
    assert mentions - named - by_hand == {"accountant/pairs/staircase.py"}
    assert "`proofs_check/papers/classic/geometric.md`" in recipe
