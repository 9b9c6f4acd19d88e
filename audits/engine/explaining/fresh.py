"""Illustrate and explain a violation with fresh outputs on the two inputs."""

from __future__ import annotations

import numpy as np

from dpproof.audits.data.outputs import Block, joined
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.engine.conclusion import DECIMALS
from dpproof.audits.engine.explaining.events import clearest, counted, drawn
from dpproof.audits.engine.explaining.explanations import explained, offered
from dpproof.audits.engine.explaining.facts import Fresh, rows, taken_apart
from dpproof.audits.engine.sampling.callables import FRESH, Mechanism, MechanismError, generator, outputs
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.recording.words import Shown
from dpproof.audits.time_budget import OutOfTimeError

MOST, FEWEST = 2000, 500
"""The number of fresh outputs on each input is a quarter of the samples, at most `MOST` and at least `FEWEST`."""
SPARED = 5
"""A slow mechanism gets fewer fresh outputs on each input: this number for each output in a call of a check."""


def shown(made: Mechanism, pair: Neighbours, curve: PrivacyCurve, found: Evidence, seed: int) -> Shown | None:
    """Return an illustration and explanation of a violation; None if time is over or the mechanism fails."""
    size = SPARED * made.sparing or min(MOST, max(FEWEST, found.samples // 4))
    try:
        blocks = drawn_on_each(made, pair, size, seed)
    except (MechanismError, OutOfTimeError):
        return None
    numbers, facts = taken_apart([row for block in blocks for row in rows(block)])
    floating = found.verdict is Finding.FLOATING_POINT
    second = np.repeat([False, True], size)
    fresh = Fresh(numbers, facts, second, found.claimed_epsilon, found.delta, curve, floating)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # moments of huge numbers
        event = clearest(fresh)
        kind, words = ("", "") if found.weakness == DECIMALS else explained(fresh, event)
        return Shown(
            size // 2,
            **counted(fresh, event),
            kind=kind,
            looks_like=offered(kind, words),
            **drawn(fresh, event),
        )


def drawn_on_each(made: Mechanism, pair: Neighbours, size: int, seed: int) -> list[Block]:
    """Return outputs on each input. Slow ones without a seed are drawn in turn: a drift is the same on both inputs."""
    rngs = [generator(seed, FRESH, label) for label in (0, 1)]
    if made.seeded or not made.sparing:
        return [outputs(made, pair, label, size, rng) for label, rng in enumerate(rngs)]
    turns = [[outputs(made, pair, label, 1, rng) for label, rng in enumerate(rngs)] for _ in range(size)]
    return [joined(one) for one in zip(*turns, strict=True)]
