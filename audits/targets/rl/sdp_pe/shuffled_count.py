"""The audit of shuffled counts: one user's bit differs; the bits of the other users are the worst case."""

from __future__ import annotations

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.sdp_pe.shuffled_count import ShuffledCountParameters
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.targets.answers import Floats, Numbers, flat, heads
from dpproof.audits.targets.primitive import Setting


def _bits(parameters: ShuffledCountParameters, adjacency: Adjacency) -> Neighbours:
    """Return one user's bit, 0 or 1. The other bits are 0 for the encoding "bits", and 1 for any other encoding."""
    others = 0 if parameters.encoding == "bits" else parameters.users - 1
    described = f"one user's bit, 0 or 1, where {others} others hold 1"
    return Neighbours(others, others + 1, adjacency, described, _one_more)


def _one_more(first: int, second: int) -> None:
    if abs(second - first) != 1:
        raise ValueError(f"The numbers of ones ({first!r} and {second!r}) must differ by exactly 1.")


def _ratio(outputs: Numbers, parameters: ShuffledCountParameters, first: int, second: int) -> Floats:
    """Return the log-likelihood ratio for the encoding "bits", otherwise minus the first number of an output."""
    if parameters.encoding != "bits":
        return -outputs[:, 0].astype(np.float64)
    coins = parameters.users * max(parameters.noise_bits, 1), float(parameters.noise_chance)
    return flat(heads(outputs - second, *coins) - heads(outputs - first, *coins))


TARGET = Setting(_bits, _ratio, samples=5_000_000)
