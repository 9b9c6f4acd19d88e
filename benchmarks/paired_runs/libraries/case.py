"""A case: a mechanism of a library, two neighbouring data sets, the claim, and what dp-recorder published of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dpproof import compare_runs


@dataclass(frozen=True)
class LibraryCase:
    """A case of the table.

    Attributes:
        library, version: the package and its version.
        package: the folder of the package, whose lines the answer names.
        mechanism: the mechanism.
        change: the change from the first to the second data set.
        run: the function that is compared.
        first, second: the two data sets.
        epsilon, delta: the claim.
        published: what the authors of dp-recorder published of this case.
        covered: whether the relation and the documented inputs of the library cover the pair.
        meaning: what a difference means, if we have read the source.
    """

    library: str
    version: str
    package: str
    mechanism: str
    change: str
    run: Callable[[Any], Any]
    first: Any
    second: Any
    epsilon: float
    delta: float
    published: str
    covered: bool = True
    meaning: str = ""

    def row(self) -> dict[str, Any]:
        """Return the answer, as JSON."""
        found = compare_runs(
            self.run, self.first, self.second, epsilon=self.epsilon, delta=self.delta, package=self.package
        )
        told = asdict(self)
        for name in ("run", "first", "second", "package"):
            del told[name]
        seen = found.seen[0] if found.seen else None
        return told | {
            "answer": found.answer.value,
            "kind": seen.kind if seen else "",
            "text": seen.text if seen else "",
            "place": _short(seen.place, self.package) if seen else "",
            "needed": None if found.loss is None else found.loss.epsilon(self.delta).upper,
        }


def _short(place: str, package: str) -> str:
    """Return the innermost place, from the folder of the package on."""
    inner = place.split(", called from ")[0]
    name, _, line = inner.rpartition(":")
    parts = Path(name).parts
    return "/".join(parts[parts.index(package) + 1 :]) + f":{line}" if package in parts else ""
