"""Neighbouring inputs and likelihood ratios of noisy training that several ways to draw a batch share."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, logsumexp

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.targets.answers import Floats, flat


def one_record(adjacency: Adjacency, first: float, second: float, most: float = 1.0) -> Neighbours:
    """Return the two contributions of one record to a step, in clipping norms; ``most`` is their largest size."""

    def checked(one: float, other: float) -> None:
        if not (abs(one) <= most and abs(other) <= most):
            raise ValueError(f"{one!r} and {other!r} must be in [{-most:g}, {most:g}]")

    return Neighbours(
        first, second, adjacency, f"contributions of a record: {first:g}, or {second:g}", checked
    )


def sampled_ratio(outputs: Floats, noise: float, rates: Floats, first: float, second: float) -> Floats:
    """Return the log-likelihood ratio if step i has the record with probability ``rates[i]``, by a coin of its own."""
    with np.errstate(divide="ignore"):
        logs = np.log(np.stack([1 - rates, rates], axis=-1))
    both = [
        logsumexp(-((outputs[..., None] - np.array([0.0, v])) ** 2) / (2 * noise**2) + logs, axis=-1)
        for v in (first, second)
    ]
    return flat(both[1] - both[0])


def allocated_ratio(
    outputs: Floats, noise: float, shape: tuple[int, int, int], fresh: bool, first: float, second: float
) -> Floats:
    """Return the log-likelihood ratio if the record takes part in random steps of each epoch.

    ``shape`` holds the numbers of epochs, of steps of an epoch, and of steps that are drawn.
    """
    epochs, steps, chosen = shape
    parts = outputs.reshape(len(outputs), epochs, steps)
    values = [(parts * v - v * v / 2) / noise**2 for v in (first, second)]
    if not fresh:
        values = [value.sum(axis=1, keepdims=True) for value in values]
    both = [_log_symmetric(value, chosen).sum(axis=1) for value in values]
    return flat(both[1] - both[0])


def _log_symmetric(logs: Floats, chosen: int) -> Floats:
    """Return the logarithm of the mean, over all sets of ``chosen`` steps, of the product of exp(logs)."""
    steps = logs.shape[-1]
    totals = np.full((*logs.shape[:-1], chosen + 1), -np.inf)
    totals[..., 0] = 0.0
    for step in range(steps):
        totals[..., 1:] = np.logaddexp(totals[..., 1:], totals[..., :-1] + logs[..., step, None])
    ways = gammaln(steps + 1) - gammaln(chosen + 1) - gammaln(steps - chosen + 1)
    return np.asarray(totals[..., chosen] - ways)
