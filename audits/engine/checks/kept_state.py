"""The check for a function whose outputs are equal on both inputs if its random numbers are equal.

Such a function may not use the changed part of the data. Or it answers from an earlier input, which it keeps between
calls. Then its outputs are equal on both inputs of every pair, and nothing can be found. An audit cannot distinguish
the two, so it does not say "consistent".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpproof.audits.data.outputs import same
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.sampling.callables import (
    PROBES,
    Auditable,
    Mechanism,
    MechanismError,
    as_mechanism,
    generator,
    outputs,
)
from dpproof.audits.plan import AuditPlan
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.time_budget import OutOfTimeError

STATE = "state that the function keeps between calls, such as its first input"
WEAKNESS = (
    "for equal random numbers the function returned equal outputs on both inputs. Either this change of the data does"
    " not change its output, or the function keeps an earlier input between calls. Make sure that it keeps nothing"
    " between calls, and audit it on another pair"
)
SHARE = 0.05
"""The share of the budget that is drawn at most, in addition to the samples."""
FEW, MOST, PLACE = 64, 2048, 20
"""The number of outputs of each input that are compared first, their largest number for a pair, and their place in the
seed's tree of probes."""


def unless_alike(
    found: Evidence, sampler: Auditable, pairs: Sequence[Neighbours], plan: AuditPlan
) -> Evidence:
    """Return the evidence; it is inconclusive instead of consistent if the inputs of every pair lead to equal outputs.

    Nothing is compared if the function has randomness of its own. The evidence stays unchanged if the function fails,
    or if the time or the budget ends before the answer.
    """
    made, size = as_mechanism(sampler), min(int(SHARE * plan.drawn) // (2 * len(pairs)), MOST)
    if found.verdict is not Finding.CONSISTENT or not made.seeded or not size:
        return found
    try:
        equal = all(_alike(made, pair, size, (plan.seed, place)) for place, pair in enumerate(pairs))
    except (MechanismError, OutOfTimeError):
        return found
    return replace(found, verdict=Finding.INCONCLUSIVE, weakness=WEAKNESS) if equal else found


def _alike(made: Mechanism, pair: Neighbours, size: int, place: tuple[int, int]) -> bool:
    """Whether equal generators lead to ``size`` equal outputs on both inputs; a few outputs are compared first."""
    seed, at = place
    sizes = [size] if size <= FEW else [FEW, size - FEW]
    return all(
        same(*(outputs(made, pair, label, n, generator(seed, PROBES, PLACE, at, step)) for label in (0, 1)))
        for step, n in enumerate(sizes)
    )
