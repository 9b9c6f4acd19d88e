"""Coq's tactics, compiled once for all tests that build files on them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from dpproof.proofs_check.coq.claims import HEADS
from dpproof.proofs_check.coq.files import Part, built, locked


@pytest.fixture(scope="session")
def coq_tactics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the compiled tactics. The first worker compiles them for all workers."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "coq-tactics"
    heads = [Part(name, (), head=path.read_text(encoding="utf-8")) for name, path in HEADS.items()]
    with locked(folder):
        assert built(heads, folder, 200) == {}
    return folder


@pytest.fixture
def coq_folder(coq_tactics: Path, tmp_path: Path) -> Path:
    """A copy of that folder for one test, which compiles its own files in it."""
    return shutil.copytree(coq_tactics, tmp_path / "coq")
