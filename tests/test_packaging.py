"""What is shipped: wheel and source, in a bare environment; the project's papers; how fast it is imported."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
FOLDERS = ("accountant", "mechanisms", "proofs_check", "audits")


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_extras_have_names_by_purpose_and_messages_name_extras():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    former = {"environments", "parquet", "opacus", "offline-rl"}
    assert extras.keys() == {"rl", "torch", "jax", "interop", "cluster", "release", "service", *former}
    texts = [
        x.read_text(encoding="utf-8") for name in (*FOLDERS, "dpproof") for x in (ROOT / name).rglob("*.py")
    ]
    named = {
        name
        for text in texts
        for found in re.findall(r"dpproof\[([a-z,-]+)\]", text)
        for name in found.split(",")
    }
    assert {"rl", "torch", "interop", "cluster", "release"} == named


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with wheel and source, built without isolation from what is installed here."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    return folder


@pytest.mark.slow
def test_the_wheel_installs_dpproof_and_nothing_else(built):
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if not name.split("/")[0].endswith(".dist-info")}
    assert tops == {"dpproof"}
    for needed in (
        "dpproof/__init__.pyi",
        "dpproof/py.typed",
        "dpproof/report/report.html.j2",
        "dpproof/reproduction/expert/page.md.j2",
        "dpproof/proofs_check/papers/rlsvi/eq2.md",
        "dpproof/proofs_check/papers/ids.txt",
        "dpproof/proofs_check/certificates/rlsvi.jsonl",
        "dpproof/mechanisms/rl/expert/networks/hiv.npz",
    ):
        assert needed in names
    listed = {
        f"dpproof/{path.relative_to(ROOT).as_posix()}"
        for name in FOLDERS
        for path in (ROOT / name).rglob("*.py")
    }
    assert listed <= set(names)


@pytest.mark.slow
def test_the_wheel_from_the_source_is_the_wheel_from_the_tree(built, tmp_path):
    """``python -m build`` makes the wheel from the source archive; here it is made from the tree."""
    run(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, ROOT)
    (first,), (second,) = built.glob("*.whl"), tmp_path.glob("*.whl")
    ours, theirs = zipfile.ZipFile(first), zipfile.ZipFile(second)
    assert sorted(ours.namelist()) == sorted(theirs.namelist())
    assert not [name for name in ours.namelist() if ours.read(name) != theirs.read(name)]


@pytest.mark.slow
def test_the_source_holds_what_it_is_built_from(built):
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = archive.getnames()
    assert any(name.endswith("/pyproject.toml") for name in names)
    assert not any("/.venv/" in name or "/build/" in name for name in names)


@pytest.mark.slow
def test_a_bare_environment_has_a_first_verdict_after_installing(built, tmp_path):
    """Outside of the repository, with the wheel's own dependencies only."""
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    run(tmp_path / "venv" / "bin" / "python", "-m", "pip", "install", "--quiet", wheel)
    dpproof = tmp_path / "venv" / "bin" / "dpproof"
    asked = ("account", "gaussian", "--sigma", "5", "--delta", "1e-6", "--json")
    assert '"epsilon"' in run(dpproof, *asked, cwd=tmp_path)
    run(dpproof, "init", cwd=tmp_path)
    assert "PROVED" in run(dpproof, "verify", "rlsvi", cwd=tmp_path)
    assert "kept" in run(dpproof, "check", "dpproof.toml", cwd=tmp_path)


@pytest.mark.slow
def test_the_citation_keeps_to_its_format_and_names_this_version():
    import yaml

    from dpproof import __version__

    run(BIN / "check-jsonschema", "--builtin-schema", "vendor.citation-file-format", ROOT / "CITATION.cff")
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == __version__


@pytest.mark.slow
def test_release_notes_come_from_fragments():
    notes = run(BIN / "towncrier", "build", "--draft", "--version", "9.9.9", cwd=ROOT)
    for path in (ROOT / "docs" / "changes").glob("*.*.md"):
        assert " ".join(path.read_text(encoding="utf-8").split())[:40] in " ".join(notes.split())


def test_every_dependency_has_a_line_that_says_why():
    import tomllib

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [name for names in declared["optional-dependencies"].values() for name in names]
    table = (ROOT / "docs" / "explanation" / "dependencies.md").read_text(encoding="utf-8")
    for requirement in (*declared["dependencies"], *extras):
        name = requirement.split(">")[0].split("=")[0].split("[")[0]
        assert name in table, name
