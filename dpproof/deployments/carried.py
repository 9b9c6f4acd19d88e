"""Number certificates of deployments: which claims they must have, and how the bundled ones were found.

``python -m dpproof.deployments.carried`` writes the bundled certificates again. Their search is not trusted: the
kernel checks each certificate (`dpproof.proofs_check.kernel.numbers`).
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.numbers.written import write_whole
from dpproof.deployments.records import Deployment, bundled, census
from dpproof.proofs_check.kernel.composition import Grid, certainly, composed
from dpproof.proofs_check.kernel.numbers import Number, check_number

DIGITS = 4
"""The digits after the point of a certified epsilon."""
GRID = Grid(Fraction(1, 1000), 80, 58)
_ROWS = ("census-pl94-persons", "census-dhc-persons", "census-dhc-units")


@dataclass(frozen=True)
class Stated:
    """What a certificate of a deployment must be about: its kind, the parameters and delta."""

    kind: str
    mechanism: Mapping[str, Any]
    delta: Fraction

    def is_of(self, number: Number) -> bool:
        """Return whether an accepted number is about this mechanism at this delta."""
        return (self.kind, self.mechanism, self.delta) == (number.kind, number.mechanism, number.delta)


def folder() -> Path:
    """Return the folder of the package that has the bundled certificates."""
    return Path(str(files("dpproof.proofs_check") / "certificates"))


def stated(row: Deployment) -> Mapping[str, Stated]:
    """Return what each certificate of a row must be about, by the certificate's id.

    A row with queries has one for the noise of its queries, and one for the sum of their budgets. It has a third one
    for the published rho, if this is not smaller than the sum. A changed record moves two noisy counts of each query by
    one. So each query stands for two answers.
    """
    if row.recompute.get("by") != "queries":
        return {}
    rhos, delta = census(row.recompute["table"]), exact(row.published["delta"])
    counts, total, printed = (
        Counter(1 / rho for rho in rhos),
        sum(rhos, Fraction(0)),
        exact(row.published["rho"]),
    )
    answers = tuple((v, 2 * counts[v]) for v in sorted(counts))
    found = {
        row.id: Stated("discrete-gaussians", {"answers": answers}, delta),
        f"{row.id}.rho": Stated("zcdp", {"rho": total}, delta),
        f"{row.id}.printed-rho": Stated("zcdp", {"rho": printed}, delta),
    }
    return found if printed >= total else dict(list(found.items())[:2])


def carried(row: Deployment) -> Mapping[str, Fraction]:
    """Return the file names of the bundled certificates of a row, with the epsilon that each one claims.

    >>> rows = {row.id: row for row in bundled()}
    >>> {name: float(epsilon) for name, epsilon in carried(rows["census-dhc-units"]).items()}
    {'census-dhc-units.json': 32.0721, 'census-dhc-units.rho.json': 33.2888}
    """
    names = [f"{name}.json" for name in stated(row) if (folder() / f"{name}.json").is_file()]
    found = {name: json.loads((folder() / name).read_text(encoding="utf-8")) for name in names}
    return {name: Fraction(data["claim"]["epsilon"]) for name, data in found.items()}


def certificate(name: str, wanted: Stated, grid: Grid = GRID) -> dict[str, Any]:
    """Return a certificate with the least epsilon of four digits that the search finds."""
    if wanted.kind == "zcdp":
        epsilon, order = _least_zcdp(float(wanted.mechanism["rho"]), float(wanted.delta))
        claim: dict[str, Any] = {"rho": str(wanted.mechanism["rho"])}
        plan: dict[str, Any] = {"order": str(order)}
    else:
        answers = wanted.mechanism["answers"]
        epsilon = _least(answers, wanted.delta, grid)
        claim = {"answers": [[str(v), count] for v, count in answers]}
        plan = {"step": str(grid.step), "bits": grid.bits, "tail": grid.tail}
    claim |= {"epsilon": f"{epsilon * 10**DIGITS}/{10**DIGITS}", "delta": str(wanted.delta)}
    return {"v": 1, "number": wanted.kind, "id": name, "claim": claim, "plan": plan}


def _least(answers: Sequence[tuple[Fraction, int]], delta: Fraction, grid: Grid) -> Fraction:
    law, unit = composed(answers, grid), 10**DIGITS
    low, high = 0, (law.first + len(law.masses)) * math.ceil(grid.step * unit)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if certainly(law, grid, Fraction(middle, unit), delta) else (middle, high)
    return Fraction(high, unit)


def _least_zcdp(rho: float, delta: float) -> tuple[Fraction, Fraction]:
    """Return epsilon and an order near the best one."""

    def epsilon(order: float) -> float:
        return order * rho + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)

    order = min((1 + place / 1000 for place in range(1, 50_000)), key=epsilon)
    return Fraction(math.ceil(epsilon(order) * 10**DIGITS), 10**DIGITS), Fraction(round(order * 1000), 1000)


def main() -> None:
    """Write the bundled certificates, after the kernel has accepted them."""
    for row in bundled():
        for name, wanted in stated(row).items() if row.id in _ROWS else ():
            found = certificate(name, wanted)
            number = check_number(found)
            write_whole(folder() / f"{name}.json", json.dumps(found) + "\n")
            print(f"{name}: epsilon at most {float(number.epsilon)} at delta {float(number.delta)}")


if __name__ == "__main__":
    main()
