"""The examples gallery: every script runs as it is, draws its picture, and stands on the page."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("*.py"))
PAGE = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")


def test_the_page_shows_every_script_and_its_picture():
    assert len(SCRIPTS) >= 12
    for script in SCRIPTS:
        assert f'--8<-- "examples/gallery/{script.name}"' in PAGE
        assert f"](../examples/gallery/{script.name})" in PAGE
        picture = script.stem.partition("_")[2]
        if ".svg" in script.read_text(encoding="utf-8"):
            assert f"images/gallery/{picture}.svg" in PAGE
            assert (ROOT / "docs" / "images" / "gallery" / f"{picture}.svg").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_runs_and_draws(script, tmp_path):
    ran = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "svg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    pictures = list(tmp_path.glob("*.svg"))
    assert bool(pictures) == (".svg" in script.read_text(encoding="utf-8"))
    assert all("<svg" in picture.read_text(encoding="utf-8") for picture in pictures)
