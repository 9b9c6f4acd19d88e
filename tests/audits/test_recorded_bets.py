"""Recorded violations, which notice a change of the bets of an audit.

A witness is worth nothing if later code bets in another way. So the bets of an edition (`EDITION` of
`dpproof.audits.engine.scores.names`) stay as they are. `python -m tests.audits.test_recorded_bets` records the
violations for a new edition.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import ApproxDP, PureDP
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.scores.names import EDITION
from dpproof.audits.recording.replaying import ReplayError, replay
from dpproof.audits.targets.call import audit

RECORDS = Path(__file__).with_name("recorded_bets.json")
CHANGED = (
    "The bets of an audit changed, so recorded violations no longer replay: {what}. Undo the change. If you want it,"
    " raise EDITION in audits/engine/scores/names.py, sweep the recorded packages again (dpproof audit sweep), and run"
    " `python -m tests.audits.test_recorded_bets`."
)


def dictionary(values: list[float], n: int, rng: np.random.Generator) -> list[dict[str, float]]:
    """Three noisy numbers, one of which has too little noise."""
    noise = rng.laplace(0, [0.8, 2.0, 1.0], (n, 3)).tolist()
    return [{"sum": sum(values) + a, "mean": sum(values) / 2 + b, "other": c} for a, b, c in noise]


def vector(values: list[float], n: int, rng: np.random.Generator) -> Any:
    """Two noisy sums with too little noise."""
    return sum(values) + rng.normal(0, 2.2, (n, 2))


CASES: Mapping[str, tuple[Callable[..., Any], float, float]] = {
    "dictionary": (dictionary, 1.0, 0.0),
    "vector": (vector, 0.5, 1e-3),
}


def recorded(case: str) -> Any:
    function, epsilon, delta = CASES[case]
    claim = ApproxDP(epsilon, delta) if delta else PureDP(epsilon)
    pair = Neighbours([0.0, 1.0], [0.0, 0.0], Adjacency.REPLACE, "1 or 0")
    return audit(case, claim, function, pair, seed=0, delta=delta, budget=10_000, power=False).witness()


def record() -> None:
    """Record the present edition, and keep the records of the others."""
    now = {str(EDITION): {case: recorded(case) for case in CASES}}
    RECORDS.write_text(json.dumps({**json.loads(RECORDS.read_text()), **now}, indent=1) + "\n")


def test_each_edition_has_its_records():
    editions = {str(edition) for edition in range(1, EDITION + 1)}
    assert json.loads(RECORDS.read_text()).keys() == editions, CHANGED.format(
        what="an edition has no records"
    )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("edition", range(1, EDITION + 1))
def test_a_recorded_violation_has_the_same_bets_as_long_as_the_edition_is_the_same(case, edition):
    """The records of editions 1 to 3 are from the code before edition 4."""
    witness = json.loads(RECORDS.read_text())[str(edition)][case]
    assert witness["replay"].get("edition", 1) == edition
    try:
        now = replay(witness).witness()
    except ReplayError as error:
        if error.found is None:
            raise
        now = error.found.witness()
    for key in ("verdict", "samples", "score", "counts", "e_value"):
        # processors round sums in different ways
        same = now[key] == (pytest.approx(witness[key], rel=1e-9) if key == "e_value" else witness[key])
        assert same, CHANGED.format(what=f"{key} is {now[key]}, and was {witness[key]}")


if __name__ == "__main__":
    from tests.audits.test_recorded_bets import record as record_imported

    record_imported()
