"""`Deployment`: what a source publishes about one deployment, as data. Reads the bundled tables.

The tables are TOML files in the folder ``data``. A row has these keys:

- ``id``, ``name``, ``curator``, ``year``, ``source`` (a key of the table ``sources``, or text);
- ``record``: the file of the deployments registry, without its ending;
- ``unit``, ``relation``, ``trust``: whom the guarantee protects, and against whom;
- ``published``: ``epsilon``, ``delta`` and ``rho``, as text with the digits that were printed;
- ``given``: facts that are public without noise; ``missing``: what a complete recomputation would need;
- ``condition``: what must hold for the recomputation to apply, although the source does not state it;
- ``recompute``: the method and its arguments (see `dpproof.deployments.methods`); ``ask``: questions.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import Claim
from dpproof.accountant.claims.trust import TrustModel

TABLES = ("registry", "trainings")
_KEYS = {
    "id", "name", "curator", "year", "source", "record", "unit", "relation", "trust", "published", "given",
    "missing", "condition", "recompute", "ask",
}  # fmt: skip


@dataclass(frozen=True)
class Deployment:
    """One published guarantee, with everything that its source says and dpproof uses.

    Numbers are text, because their digits matter: 2.56 may stand for any number that rounds to 2.56.
    """

    id: str
    name: str
    curator: str
    year: int
    source: str
    published: Mapping[str, str]
    unit: str = ""
    relation: str = ""
    trust: str = "central"
    record: str = ""
    given: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    condition: str = ""
    recompute: Mapping[str, Any] = field(default_factory=dict)
    ask: str = ""

    @property
    def quantity(self) -> str:
        """The number that is compared: ``epsilon`` if it is published, else ``rho``, else nothing."""
        return next((name for name in ("epsilon", "rho") if name in self.published), "")

    @property
    def claim(self) -> Claim | None:
        """The published guarantee as a `Claim`. None if the source states no number or no neighbouring relation."""
        if not self.quantity or not self.relation:
            return None
        names = ("epsilon", "delta") if self.quantity == "epsilon" else ("rho",)
        return Claim(
            self.id,
            str(self.recompute.get("mechanism", self.recompute.get("by", "undisclosed"))),
            {},
            Adjacency.of(self.relation),
            {name: float(self.published[name]) for name in names if name in self.published},
            trust=TrustModel.of(self.trust),
            source=self.source,
        )


def bundled() -> list[Deployment]:
    """Return all rows of the bundled tables.

    >>> len({row.record for row in bundled() if row.record})
    41
    """
    folder = files("dpproof.deployments") / "data"
    return [row for name in TABLES for row in read_rows((folder / f"{name}.toml").read_text("utf-8"))]


def census(table: str) -> list[Fraction]:
    """Return the zCDP budgets of the queries of one product of the 2020 Census, from its configuration.

    >>> float(sum(census("dhc_persons"))), len(census("pl94_persons"))
    (4.9622, 65)
    """
    text = (files("dpproof.deployments") / "data" / "census.toml").read_text("utf-8")
    found = tomllib.loads(text)[table]
    scale = Fraction(found.get("scale", 1)) ** 2
    return [
        Fraction(rho) / scale
        for _, budgets in found["queries"]
        for count, rho in budgets
        for _ in range(count)
    ]


def read_rows(text: str, where: str = "the table") -> list[Deployment]:
    """Return the rows of a table in TOML.

    Raises:
        ValueError: a row has an unknown key, or lacks one of the required ones. The message names the row.
    """
    table = tomllib.loads(text)
    sources = {name: _place(entry) for name, entry in table.get("sources", {}).items()}
    return [_row(row, sources, where) for row in table.get("row", ())]


def read_file(path: Path) -> list[Deployment]:
    """Return the rows of a file of that form, so that users can add deployments of their own."""
    return read_rows(path.read_text("utf-8"), str(path))


def _row(row: Mapping[str, Any], sources: Mapping[str, str], where: str) -> Deployment:
    name = row.get("id", "a row without id")
    unknown, lacking = sorted(set(row) - _KEYS), sorted({"id", "name", "published"} - set(row))
    if unknown or lacking:
        said = f"unknown keys: {', '.join(unknown)}" if unknown else f"missing keys: {', '.join(lacking)}"
        raise ValueError(f"{where}: {name}: {said}. The keys of a row are: {', '.join(sorted(_KEYS))}.")
    wrong = [value for value in row["published"].values() if not isinstance(value, str)]
    if wrong:
        raise ValueError(
            f"{where}: {name}: published ({wrong[0]!r}) must be text, so that its digits are kept."
        )
    plain = {"curator": "", "year": 0, **row}
    place = row.get("source", "registry" if "registry" in sources else "")
    plain["source"] = sources.get(place, place)
    for key in ("given", "missing"):
        plain[key] = tuple(row.get(key, ()))
    return Deployment(**{"relation": "add-remove" if _trained(row) else "", **plain})


def _trained(row: Mapping[str, Any]) -> bool:
    return bool(row.get("recompute", {}).get("by") == "training")


def _place(entry: Mapping[str, str]) -> str:
    return f"{entry['where']} ({entry['version']}, retrieved {entry['retrieved']})"
