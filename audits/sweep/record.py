"""The record of a sweep: a JSON file with one row for each claim, and the witnesses of all violations.

A row without a violation has no witness. Its answer follows from the table, the seed and the version of the package.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from dpproof.accountant.numbers.written import finite, json_text
from dpproof.audits.paired.comparing import compare_runs
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.recording.replaying import ReplayError, replay
from dpproof.audits.recording.written import read as read_argument
from dpproof.audits.sweep.sweeping import Swept
from dpproof.audits.sweep.table import package_named

RECORDS = Path(__file__).parent / "records"
BESIDE = ("numpy", "scipy", "scikit-learn", "torch")
"""Packages whose versions a record states, too, beside those that the package requires."""
VIOLATIONS = tuple(one.value for one in Finding if one.violated)


@dataclass(frozen=True)
class Record:
    """What a sweep of one version of a package has found.

    Attributes:
        about: the package, its version, the hash of its files, the versions beside it, the seed, alpha, and the number
            of claims among which alpha is split.
        rows: the answers by mechanism and relation, in the order of the table.
    """

    about: Mapping[str, Any]
    rows: Mapping[tuple[str, str], Mapping[str, Any]]

    @property
    def violations(self) -> list[Mapping[str, Any]]:
        """The rows whose claim is refuted, also those that only floating-point bits refute."""
        return [row for row in self.rows.values() if row["verdict"] in VIOLATIONS]

    def with_answers(self, answers: Iterable[Swept]) -> Record:
        """Return the record with these answers in place of older ones on the same claims."""
        rows = (_row(one, self.about["package"]) for one in answers)
        new = {(row["mechanism"], row["relation"]): row for row in rows}
        table = package_named(self.about["package"]).claims
        every = {**self.rows, **new}
        order = [(entry.name, relation.value) for entry, relation in table]
        return Record(self.about, {key: every[key] for key in order if key in every})

    def text(self) -> str:
        """Return the record as JSON text for `read`."""
        return json_text({**self.about, "found": list(self.rows.values())}) + "\n"


def begun(package: str, seed: int, alpha: float) -> Record:
    """Return an empty record of a sweep of the installed version of a package."""
    table = package_named(package)
    about = {
        "package": package,
        "version": metadata.version(table.name),
        "files": files_of(table.name),
        "beside": beside(table.name),
        "python": platform.python_version(),
        "seed": seed,
        "alpha": alpha,
        "claims": len(table.claims),
    }
    return Record(about, {})


def recorded(package: str) -> Record:
    """Return the record of a package that dpproof ships.

    Raises:
        ValueError: there is no record of this package.
    """
    path = RECORDS / f"{package}.json"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in RECORDS.glob("*.json")))
        raise ValueError(f"package ({package!r}) has no record. Records exist for: {known}")
    return read(path)


def read(path: Path) -> Record:
    """Return the record in a JSON file.

    Raises:
        ValueError: the file is no record.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        rows = {(row["mechanism"], row["relation"]): row for row in data.pop("found")}
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"record ({str(path)!r}) must be the record of a sweep: {error!r}") from error
    return Record(data, rows)


def files_of(distribution: str) -> str:
    """Return a hash of the installed Python files and data files of a distribution, and of their names."""
    digest = hashlib.sha256()
    for file in sorted(metadata.files(distribution) or (), key=str):
        if file.suffix != ".pyc" and ".dist-info" not in str(file):
            content = Path(str(file.locate())).read_bytes()
            digest.update(f"{file} {hashlib.sha256(content).hexdigest()}\n".encode())
    return f"sha256:{digest.hexdigest()}"


def beside(distribution: str) -> dict[str, str]:
    """Return the versions of the installed packages that a distribution requires, and of those in `BESIDE`."""
    required = [line for line in metadata.requires(distribution) or () if "extra ==" not in line]
    names = [re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in required]
    return {
        name: metadata.version(name) for name in dict.fromkeys((*BESIDE, *sorted(names))) if _installed(name)
    }


def replayed(row: Mapping[str, Any]) -> str:
    """Return an empty text if the witness of a row gives the same result again, and else what differs."""
    try:
        replay(row["evidence"]["witness"])
    except ReplayError as error:
        return str(error)
    return ""


def where(package: str, row: Mapping[str, Any]) -> str:
    """Return a sentence on where two runs of a violation with the same noise differ; empty if nothing is seen.

    It is empty, too, if the package gives a generator a seed. The seed may come from the noise of the caller, as in a
    forest that draws a seed for each tree. The comparison does not follow the noise of such a generator.
    """
    how = row["evidence"]["witness"]["replay"]
    if not package_named(package).compared or "arguments" not in how:
        return ""
    given = {
        name: read_argument(how["arguments"][name])
        for name in ("sampler", "pair", "pairs")
        if name in how["arguments"]
    }
    pair = given["pairs"][how["search"]["winner"]] if "pairs" in given else given["pair"]
    found = compare_runs(
        given["sampler"], pair.first, pair.second, epsilon=row["epsilon"], delta=row["delta"]
    )
    if not found.seen or any(one.kind == "seed" for one in found.seen):
        return ""
    place, _, line = found.seen[0].place.split(", called from")[0].rpartition(":")
    return f"{found.seen[0].text.removesuffix('.')} ({Path(place).name}, line {line})."


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _row(one: Swept, package: str) -> dict[str, Any]:
    found = one.evidence
    row: dict[str, Any] = {
        "mechanism": one.mechanism,
        "relation": one.relation.value,
        "epsilon": one.epsilon,
        "delta": one.delta,
        "verdict": one.verdict,
        "samples": one.samples,
        "seconds": round(one.seconds, 1),
    }
    if found is None:
        return {**row, "error": one.error}
    row |= {"pair": found.pair, "epsilon_lower": finite(found.epsilon_lower)}
    if found.verdict.violated:
        row["evidence"] = _kept(found)
        located = where(package, row) if found.verdict is Finding.VIOLATION else ""
        return {**row, **({"where": located} if located else {})}
    return {**row, "weakness": found.weakness, "power": found.power, "not_covered": list(found.not_covered)}


def _kept(found: Evidence) -> dict[str, Any]:
    """Return the evidence without the histograms of its illustration, which are long."""
    data = found.as_json()
    if "shown" in data:
        data["shown"] = {**data["shown"], "edges": [], "counts": []}
    return data
