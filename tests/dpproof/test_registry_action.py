"""The action for pull requests to the deployments registry: its script runs on records in a git repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpproof.deployments.records import bundled
from dpproof.deployments.registry import read_record

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / "tools" / "registry-action"


def record(name, **parameters):
    """One record of the registry, in its form."""
    basic = dict.fromkeys(("description", "intended_use", "data_product_type", "data_product_region"), "x")
    basic |= {"name": name, "data_curators": ["A | curator"], "publication_date": "2026-01-01"}
    loss = {"privacy_unit": "User-level", "privacy_parameters": parameters}
    deployment = {"basic": basic, "privacy_loss": loss}
    return {"url_slug": "x", "status": "Draft", "tier": 1, "deployment": deployment}


@pytest.fixture
def pull_request(tmp_path):
    """Commit a registry with two records, let a pull request change files, and run the action's script on it."""
    folder, shim = tmp_path / "registry", tmp_path / "bin" / "dpproof"
    (folder / "deployments").mkdir(parents=True)
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from dpproof.cli import main; main()" "$@"\n')
    shim.chmod(0o755)
    author = {
        f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    summary = tmp_path / "summary.md"
    environment = {**os.environ, **author, "PATH": f"{shim.parent}{os.pathsep}{os.environ['PATH']}"}
    environment |= {
        "FOLDER": "deployments",
        "GITHUB_STEP_SUMMARY": str(summary),
        "GIT_CONFIG_GLOBAL": os.devnull,
    }

    def ran(*command, **more):
        return subprocess.run(
            command, cwd=folder, env=environment | more, capture_output=True, text=True, check=False
        )

    def write(files):
        for name, content in files.items():
            text = content if isinstance(content, str) else yaml.safe_dump(content)
            (folder / name).write_text(text, encoding="utf-8")
        assert ran("git", "add", "-A").returncode == 0
        assert ran("git", "commit", "-q", "-m", "x").returncode == 0, ran("git", "commit", "-m", "x").stderr

    def check(files):
        ran("git", "init", "-q")
        write(
            {
                "deployments/old.yaml": "broken: [",
                "deployments/google_mobility.yaml": record("Mobility", epsilon=2.64),
            }
        )
        base = ran("git", "rev-parse", "HEAD").stdout.strip()
        write(files)
        done = ran("bash", str(ACTION / "check.sh"), BASE=base)
        return done, summary.read_text(encoding="utf-8") if summary.exists() else ""

    return check


def test_only_changed_records_are_checked_and_the_summary_says_what_came_out(pull_request):
    changed = {"deployments/google_mobility.yaml": record("Mobility", epsilon=2.65), "README.md": "more"}
    done, summary = pull_request(changed)
    assert done.returncode == 0, done.stderr
    assert "## `deployments/google_mobility.yaml`" in summary
    assert "loose by 0.01" in summary.replace("\\", "")
    assert "old" not in summary


@pytest.mark.slow
def test_a_record_without_its_form_fails_and_the_others_are_still_checked(pull_request):
    files = {
        "deployments/broken.yaml": "deployment: {basic: 3}",
        "deployments/a new one.yaml": record("New", epsilon=17.15, delta=1e-10, rho=2.556),
    }
    done, summary = pull_request(files)
    assert done.returncode == 1
    told = summary.replace("\\", "")
    assert "broken: url_slug is missing" in told
    assert "reproduced" in told
    assert "Traceback" not in done.stderr


def test_without_a_changed_record_nothing_is_checked(pull_request):
    done, summary = pull_request({"README.md": "more"})
    assert (done.returncode, summary) == (0, "No record of the registry was changed.\n")


def test_the_action_runs_that_script_after_an_installation():
    action = yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8"))
    steps = action["runs"]["steps"]
    assert [step["name"] for step in steps] == ["Install", "Check the records"]
    assert steps[1]["run"] == 'bash "$GITHUB_ACTION_PATH/check.sh"'
    assert steps[1]["env"].keys() == {"BASE", "FOLDER"}
    assert {name for name, given in action["inputs"].items() if "default" not in given} == set()


@pytest.mark.parametrize(
    "text", ["[1, 2]", "a: [", "deployment: 3", "deployment: {basic: {name: x}}", "3", ""]
)
def test_a_record_of_any_form_gets_a_reason_and_no_row(text, tmp_path):
    path = tmp_path / "odd.yaml"
    path.write_text(text, encoding="utf-8")
    rows, wrong = read_record(path, tmp_path / "none", bundled())
    assert rows == []
    assert wrong
    assert all(told.startswith("odd: ") for told in wrong)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epsilon", ".nan"),
        ("epsilon", "-1.0"),
        ("rho", "true"),
        ("rho", "[1, 2]"),
        ("delta", "2"),
        ("rho", "1e300"),
    ],
)
def test_a_number_that_no_guarantee_has_is_named_and_gets_no_verdict(name, value, tmp_path):
    content = record("Odd", **{"epsilon": 1.0, "delta": 1e-5, "rho": 0.1} | {name: "HERE"})
    path = tmp_path / "odd.yaml"
    path.write_text(yaml.safe_dump(content).replace("HERE", value), encoding="utf-8")
    rows, wrong = read_record(path, tmp_path / "none", bundled())
    assert rows == []
    assert wrong[0].startswith(f"odd: {name} (")


@pytest.mark.parametrize(
    ("written", "kept"), [("1e-5", "1e-5"), ("0.000123456789", "0.000123456789"), ("n^-2", None)]
)
def test_a_delta_keeps_its_digits_even_where_yaml_reads_text(written, kept, tmp_path):
    path = tmp_path / "new.yaml"
    path.write_text(yaml.safe_dump(record("New", epsilon=1.0, delta="HERE")).replace("HERE", written))
    ((row,), _) = read_record(path, tmp_path / "none", bundled())
    assert row.published.get("delta") == kept
