"""``Source``: the place in the literature of a formula or theorem."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """A place in the literature: a paper, its version, and an item such as "Theorem 3".

    ``statement`` is the name of the corresponding statement in this project. It is ``None`` if there is none.

    >>> str(Source("arXiv:2606.01952", "v1", "Corollary 14", "rlsvi.corollary14"))
    'arXiv:2606.01952v1, Corollary 14'
    """

    paper: str
    version: str
    item: str
    statement: str | None = None

    def __str__(self) -> str:
        return f"{self.paper}{self.version}, {self.item}"
