"""Processor seconds of work, here or as the first call of a fresh process; when they were measured."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

from dpproof import __version__


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def compile_seconds(first_call: str) -> float:
    """What a program prints, its CPU seconds, run in a fresh process where nothing is compiled yet."""
    root = str(Path(__file__).resolve().parent.parent)
    with tempfile.TemporaryDirectory() as empty:
        environment = os.environ | {"NUMBA_CACHE_DIR": empty, "PYTHONPATH": root}
        command = [sys.executable, "-c", first_call]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def measured() -> str:
    """The sentence that says when, and with which code, the figures were measured."""
    root = Path(__file__).resolve().parent.parent
    asked = ["git", "-C", str(root), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(asked, check=False, capture_output=True, text=True).stdout.strip()
    code = f"{__version__}, commit {commit}" if commit else __version__
    return f"Measured on {date.today().isoformat()} with dpproof {code}."
