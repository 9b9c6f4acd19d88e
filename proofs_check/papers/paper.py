"""What is recorded of a paper: its names, and the sizes its page quotes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpproof.accountant.claims.adjacency import Adjacency


@dataclass(frozen=True)
class Deployment:
    """A mechanism at the sizes that a paper's page quotes."""

    mechanism: str
    parameters: Mapping[str, Any]
    adjacency: Adjacency
    delta: str
    along: str | None = None
    """The parameter that the plot of epsilon runs along; None for no plots."""


@dataclass(frozen=True)
class Paper:
    """One paper; its folder's ``__init__`` defines it as ``PAPER``."""

    place: int
    """Its place among the papers, wherever they are listed."""
    name: str
    """What the command line calls it."""
    prefix: str
    """How the ids of its statements begin."""
    title: str
    citation: str
    deployment: Deployment | None = None
    """Its mechanism, if that has an accountant here."""
