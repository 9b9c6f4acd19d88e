"""Is "consistent" worth what it says? Power against twice the claim, at the smallest budget that earns it.

"Consistent" states that twice the claimed epsilon would have been seen with power 0.9, on a reference pair
and by simulated counts (`engine.power.simulated`). Here whole audits are run on mechanisms with twice the epsilon.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.audit_power import BITS, Draw, gaussian, laplace, response
from benchmarks.audits.rows import Row
from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP, PureDP
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.engine.betting.reference import gaussian_mu
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.targets.call import audit

ALPHA, DELTA, RUNS, TOGETHER = 0.01, 1e-5, 1000, 20
SMALLEST, STEP = 50, 1.1
MU = gaussian_mu(1, DELTA)


@dataclass(frozen=True)
class Doubled:
    """A claim, a mechanism exactly on it, and one with twice its epsilon at ``delta``."""

    name: str
    claim: PrivacyCurve
    delta: float
    exact: Draw
    twice: Draw

    def audited(self, draw: Draw, seed: int, budget: int) -> Evidence:
        """The audit of one of the two."""
        return audit(
            self.name,
            self.claim,
            draw,
            BITS,
            seed=seed,
            delta=self.delta,
            alpha=ALPHA,
            budget=budget,
            known_ratio=True,
        )


CASES = {
    case.name: case
    for case in (
        Doubled("Laplace, claim 0.1", PureDP(0.1), 0.0, laplace(0.1), laplace(0.2)),
        Doubled("Laplace, claim 1", PureDP(1), 0.0, laplace(1), laplace(2)),
        Doubled("Laplace, claim 3", PureDP(3), 0.0, laplace(3), laplace(6)),
        Doubled("randomised response, claim 1", PureDP(1), 0.0, response(1), response(2)),
        Doubled(
            "Gaussian, curve through (1, 1e-5)",
            GaussianDP(MU),
            DELTA,
            gaussian(MU),
            gaussian(gaussian_mu(2, DELTA)),
        ),
        Doubled(
            "Gaussian, point (1, 1e-5)",
            ApproxDP(1, DELTA),
            DELTA,
            gaussian(MU),
            gaussian(gaussian_mu(2, DELTA)),
        ),
    )
}


@functools.cache
def budget_of(name: str) -> tuple[int, float]:
    """The smallest budget, within 10 %, at which a true claim is "consistent", and what it says."""
    case, budget = CASES[name], SMALLEST
    while True:
        found = case.audited(case.exact, 0, budget)
        if found.verdict is Finding.CONSISTENT:
            assert found.would_have_seen is not None
            return budget, found.would_have_seen
        budget = round(budget * STEP)


def tasks(known: Sequence[Row], runs: int | None = None) -> Iterator[tuple[str, tuple[int, ...]]]:
    """What is left to do."""
    for name in CASES:
        done = {row["seed"] for row in known if row["case"] == name}
        left = [seed for seed in range(runs or RUNS) if seed not in done]
        yield from ((name, tuple(left[start : start + TOGETHER])) for start in range(0, len(left), TOGETHER))


def measured(name: str, seeds: tuple[int, ...]) -> list[Row]:
    """Audit the mechanism with twice the claimed epsilon, within that budget, with each seed."""
    case, (budget, seen) = CASES[name], budget_of(name)
    return [
        {"case": name, "seed": seed, "budget": budget, "would_have_seen": seen, **_one(case, seed, budget)}
        for seed in seeds
    ]


def _one(case: Doubled, seed: int, budget: int) -> Row:
    found = case.audited(case.twice, seed, budget)
    return {"samples": found.samples, "refuted": found.verdict is Finding.VIOLATION}
