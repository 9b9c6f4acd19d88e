"""The audit in one run: a weaker bound than that of many runs, from a single one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.engine.power.measured import simulated
from dpproof.audits.engine.sampling.callables import Auditable
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.recording.written import call_of
from dpproof.audits.training.canaries import Canaries, played
from dpproof.audits.training.guesses import Guesses, guess, guess_counts
from dpproof.audits.training.one_run import one_run_epsilon_lower, one_run_refutes, one_run_tail
from dpproof.audits.training.one_run_power import needed_right, one_run_would_have_seen

__all__ = ["METHOD", "audit_one_run"]

UNDISTURBED = "canaries that do not disturb each other"
"""What the power of one run is simulated for: the best case."""
METHOD = "one run"
"""How the evidence names what found it; its bounds are weaker than those of many runs."""


def audit_one_run(
    claim: str,
    curve: PrivacyCurve,
    mechanism: Auditable,
    canaries: Canaries,
    *,
    seed: int,
    delta: float = 0.0,
    alpha: float = 0.01,
    runs: int = 1,
    shares: tuple[float, ...] | None = None,
    replay: Mapping[str, Any] | None = None,
) -> Evidence:
    """Audit a claim by guessing, from one output, which canaries took part.

    Weaker than `dpproof.audit`: canaries disturb each other, and the bound holds for every mechanism. A false
    alarm, or a bound above the truth, has probability at most ``alpha`` (docs/notes/audit_one_run.md). The
    verdict concerns the whole curve, ``epsilon_lower`` the point ``delta``.

    Args:
        claim: a name.
        curve: the claimed guarantee.
        mechanism: as for `dpproof.audit`.
        canaries: the canaries, and how to score them.
        seed: a nonnegative integer; equal seeds give equal evidence.
        delta: where ``epsilon_lower`` and ``would_have_seen`` are stated.
        alpha: the level, split evenly over the numbers of guesses.
        runs: independent runs, whose canaries are guessed about together.
        shares: the shares of the canaries to guess about, fixed before looking; by default two numbers that
            suit how many canaries there are.
        replay: JSON data that the witness carries.

    Raises:
        InvalidNeighboursError: turning one coin over does not give a neighbour.
        MechanismError: the mechanism fails.
        ValueError: an argument is outside its range, or the claim promises nothing at ``delta``.

    >>> from dpproof.accountant.guarantees.notions import PureDP
    >>> import numpy as np
    >>> from dpproof.audits.training.canaries import Canaries
    >>> same = Canaries(200, lambda coins: coins, lambda x: x, "one bit", "200 bits")
    >>> audit_one_run("leaks all", PureDP(1.0), lambda bits, n, rng: bits[None] * 1.0, same, seed=0).verdict
    <Finding.VIOLATION: 'violation'>
    """
    claimed = _checked(curve, seed, delta, alpha, runs, shares)
    called = {"curve": curve, "mechanism": mechanism, "canaries": canaries}
    replay = {**({} if "audit" in (replay or {}) else call_of("audit_one_run", **called)), **(replay or {})}
    drawn = [played(canaries, mechanism, seed, run) for run in range(runs)]
    coins, scores = (np.concatenate([one[part] for one in drawn]) for part in (0, 1))
    numbers = guess_counts(len(coins), shares)
    level = alpha / len(numbers)
    found = [guess(scores, coins, number) for number in numbers]

    def refuted(outcome: Guesses) -> bool:
        return one_run_tail(outcome, claimed, delta) <= level or one_run_refutes(outcome, curve, level)

    least = [one_run_epsilon_lower(outcome, delta, level) for outcome in found]
    best = max(range(len(found)), key=lambda k: (refuted(found[k]), least[k]))
    seen = None
    if not refuted(found[best]):
        needed = {number: needed_right(len(coins), number, refuted) for number in numbers}
        seen = one_run_would_have_seen(len(coins), needed, claimed, delta, seed)
    found_power = {} if seen is None else simulated(seen, claimed, UNDISTURBED).as_evidence()
    return Evidence(
        claim=claim,
        verdict=_verdict(seen, claimed),
        claimed_epsilon=claimed,
        epsilon_lower=max(least),
        delta=delta,
        confidence=1 - alpha,
        samples=runs,
        would_have_seen=seen,
        e_value=1 / alpha if seen is None else 0.0,
        alpha=alpha,
        seed=seed,
        pair=canaries.description,
        event={"method": METHOD, "canaries": len(coins), "guesses": found[best].guesses},
        counts={"right": found[best].right, "wrong": found[best].wrong, "abstained": found[best].abstained},
        score="canaries",
        pairs=(drawn[0][2].as_json(),),
        replay={"runs": runs, "shares": None if shares is None else list(shares), **(replay or {})},
        **found_power,
    )


def _checked(
    curve: PrivacyCurve, seed: int, delta: float, alpha: float, runs: int, shares: tuple[float, ...] | None
) -> float:
    """The claimed epsilon, after everything was looked at."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha ({alpha!r}) must be in (0, 1)")
    if not 0 <= delta < 1:
        raise ValueError(f"delta ({delta!r}) must be in [0, 1)")
    for name, value, least in (("seed", seed, 0), ("runs", runs, 1)):
        if not isinstance(value, int) or value < least:
            raise ValueError(f"{name} ({value!r}) must be an integer at least {least}")
    if shares is not None and not (shares and all(0 < share <= 1 for share in shares)):
        raise ValueError(f"shares ({shares!r}) must be numbers in (0, 1], at least one")
    claimed = curve.epsilon(delta).upper
    if not claimed < float("inf"):
        raise ValueError(f"delta ({delta!r}) must be one at which the claim promises a finite epsilon")
    return claimed


def _verdict(seen: float | None, claimed: float) -> Finding:
    if seen is None:
        return Finding.VIOLATION
    return Finding.CONSISTENT if seen <= 2 * claimed else Finding.INCONCLUSIVE
