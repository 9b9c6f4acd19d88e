"""The experiments that can be run again, by the command-line name of their paper."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpproof.accountant.claims.spelling import nearest
from dpproof.proofs_check.registry import papers

if TYPE_CHECKING:
    from dpproof.reproduction.engine import Study


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper: its title, and the module whose constant `STUDY` runs it."""

    title: str
    module: str
    columns: tuple[str, ...]
    """The columns of the table that the command line prints."""
    table: str = "rows"
    """The key of the answer that holds the printed table."""
    figures: tuple[str, ...] = ()
    """Names of the figures that the report of all papers shows."""

    def study(self) -> Study[Any]:
        """Return the object that runs the experiment. Loading it takes some time."""
        found: Study[Any] = importlib.import_module(self.module).STUDY
        return found


@cache
def experiments() -> Mapping[str, Experiment]:
    """Return the experiments by the command-line name of their paper.

    Each experiment has a folder named after its paper.

    >>> list(experiments())
    ['rlsvi', 'private-ucb', 'sdp-pe', 'policy-evaluation', 'expert']
    """
    folders = {found.name for found in pkgutil.iter_modules([str(Path(__file__).parent)]) if found.ispkg}
    names = (name for name in papers() if name.replace("-", "_") in folders)
    return {name: _experiment_in(name.replace("-", "_")) for name in names}


def _experiment_in(folder: str) -> Experiment:
    found: Experiment = importlib.import_module(f"{__package__}.{folder}").EXPERIMENT
    return found


def experiment_for(paper: str) -> Experiment:
    """Return the experiment of a paper.

    >>> experiment_for("private-ucb").module
    'dpproof.reproduction.private_ucb.study'

    Raises:
        ValueError: for a paper whose experiment is not here.
    """
    known = experiments()
    if paper not in known:
        raise ValueError(f"paper ({paper!r}) must be one of: {', '.join(known)}{nearest(paper, known)}")
    return known[paper]
