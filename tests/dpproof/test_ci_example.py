"""The sample project of continuous integration: it passes as it is and fails with its broken patch."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
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


@pytest.mark.slow
def test_the_action_runs_what_it_says(project):
    """The shell of the action's second step, with the variables that GitHub sets."""
    import yaml

    folder, run = project
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    script = next(step["run"] for step in action["runs"]["steps"] if step["name"] == "Check the claims")
    assert run("git", "apply", "broken.patch").returncode == 0
    ran = run("bash", "-euo", "pipefail", "-c", script, FILE="dpproof.toml", REPORT="report", STRICT="true",
              GITHUB_STEP_SUMMARY=str(folder / "summary"))  # fmt: skip
    assert ran.returncode == 1, ran.stderr
    assert sorted(path.name for path in (folder / "report").iterdir()) == [
        "found.md",
        "found.sarif",
        "found.xml",
        "index.html",
    ]
    assert "number of users" in (folder / "summary").read_text(encoding="utf-8")
