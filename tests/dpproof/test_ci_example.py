"""The sample project of continuous integration: it passes as it is and fails with its broken patch."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "ci"
BIN = Path(sys.executable).parent


@pytest.fixture
def project(tmp_path):
    """The sample project, and a way to run a command in it."""
    shutil.copytree(EXAMPLE, tmp_path / "project")

    def _run(*command, **environment):
        return subprocess.run(
            command,
            cwd=tmp_path / "project",
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", **environment},
        )

    return tmp_path / "project", _run


def check(folder, run):
    """Exit code of the check, levels of the findings in SARIF, and the cases of JUnit that do not pass."""
    ran = run("dpproof", "check", "dpproof.toml", "--sarif", "found.sarif", "--junit", "found.xml")
    (found,) = json.loads((folder / "found.sarif").read_text(encoding="utf-8"))["runs"]
    suites = ElementTree.parse(folder / "found.xml")
    failed = [case.get("name") for case in suites.iter("testcase") if case.find("failure") is not None]
    return ran.returncode, [result["ruleId"] for result in found["results"]], failed


@pytest.mark.slow
def test_the_good_branch_passes(project):
    folder, run = project
    code, rules, failed = check(folder, run)
    assert (code, rules, failed) == (0, ["consistent", "consistent", "kept"], [])
    ran = run("pytest", "-q", "-p", "no:cacheprovider")
    assert (ran.returncode, "3 passed" in ran.stdout) == (0, True), ran.stdout


@pytest.mark.slow
def test_the_broken_branch_fails(project):
    folder, run = project
    assert run("git", "apply", "broken.patch").returncode == 0
    code, rules, failed = check(folder, run)
    assert (code, rules) == (1, ["broken", "broken", "kept"])
    assert failed == ["number of users", "total of their values"]
    ran = run("pytest", "-q")
    assert (ran.returncode, "2 failed, 1 passed" in ran.stdout) == (1, True), ran.stdout
    witnesses = [path.name for path in folder.rglob("test_privacy.py-*.json")]
    assert len(witnesses) == 2
    assert all("  witness    " in ran.stdout and name in ran.stdout for name in witnesses), ran.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("vendor.github-actions", "action.yml"),
        ("vendor.github-workflows", "examples/ci/.github/workflows/privacy.yml"),
    ],
)
def test_the_action_and_the_workflow_keep_to_their_schemas(schema, file, tmp_path):
    def valid(path):
        command = [BIN / "check-jsonschema", "--builtin-schema", schema, path]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    assert valid(ROOT / file)
    broken = tmp_path / "broken.yml"
    broken.write_text(f"frobs: 1\n{(ROOT / file).read_text(encoding='utf-8')}", encoding="utf-8")
    assert not valid(broken)


@pytest.fixture
def elsewhere(tmp_path):
    """The programs of a new environment, which has the dependencies of this one, but a dpproof of its own."""
    venv.create(tmp_path / "venv", with_pip=True)
    (packages,) = (tmp_path / "venv").glob("lib/*/site-packages")
    known = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "dependencies.pth").write_text("\n".join(known), encoding="utf-8")
    return tmp_path / "venv" / "bin"


def yaml_of(name):
    import yaml

    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def in_the_new_environment(run, programs):
    """Whether the program that is found there runs the code that was installed there."""
    code = "import dpproof, sys; sys.exit(not dpproof.__file__.startswith(sys.prefix))"
    return run(programs / "python", "-c", code).returncode == 0


@pytest.mark.slow
def test_the_action_installs_its_own_reference_and_runs_what_it_says(project, elsewhere):
    """The shell of its steps, with the variables that GitHub sets."""
    folder, run = project
    steps = {step["name"]: step for step in yaml_of("action.yml")["runs"]["steps"]}
    inputs = {name: given["default"] for name, given in yaml_of("action.yml")["inputs"].items()}
    told = {
        "VERSION": inputs["version"],
        "FILE": inputs["file"],
        "REPORT": inputs["report"],
        "STRICT": "true",
    }
    github = {"GITHUB_ACTION_PATH": str(ROOT), "GITHUB_STEP_SUMMARY": str(folder / "summary")}
    path = f"{elsewhere}{os.pathsep}{os.environ['PATH']}"

    def step(name):
        return run("bash", "-euo", "pipefail", "-c", steps[name]["run"], PATH=path, **told, **github)

    installed = step("Install")
    assert installed.returncode == 0, installed.stderr
    assert in_the_new_environment(run, elsewhere)
    assert run("git", "apply", "broken.patch").returncode == 0
    ran = step("Check the claims")
    assert ran.returncode == 1, ran.stderr
    found = sorted(path.name for path in (folder / inputs["report"]).iterdir())
    assert found == ["found.md", "found.sarif", "found.xml", "index.html"]
    assert "number of users" in (folder / "summary").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_hook_lets_a_sound_commit_pass_and_stops_a_broken_one(project, elsewhere, tmp_path):
    """What pre-commit does for ``language: python``: clone the repository, install it, and run the entry."""
    folder, run = project
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")
    if run("git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", tmp_path / "hook").returncode:
        pytest.skip("the project is not in a git repository: there is no reference to install")
    installed = run(elsewhere / "python", "-m", "pip", "install", "--quiet", "--no-deps", tmp_path / "hook")
    assert installed.returncode == 0, installed.stderr
    assert in_the_new_environment(run, elsewhere)
    (hook,) = yaml_of(".pre-commit-hooks.yaml")
    assert run("git", "init", "--quiet").returncode == 0
    script = folder / ".git" / "hooks" / "pre-commit"
    script.write_text(f"#!/bin/sh\nPATH={elsewhere}:$PATH\nexec {hook['entry']} {' '.join(hook['args'])}\n")
    script.chmod(0o755)
    sound = run(*git, "commit", "--allow-empty", "--quiet", "-m", "sound")
    assert sound.returncode == 0, sound.stderr
    assert run("git", "apply", "broken.patch").returncode == 0
    broken = run(*git, "commit", "--allow-empty", "--quiet", "-m", "broken")
    assert broken.returncode == 1
    assert "number of users" in broken.stdout + broken.stderr
