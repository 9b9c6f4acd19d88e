"""A coarse law of the losses, for choosing a grid; no bound rests on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpproof.accountant.pairs.base import DominatingPair, Floats

__all__ = ["Guide"]

_EDGES = 300


@dataclass(frozen=True)
class Guide:
    """Laws of the losses of several parts, one a row, on cells of geometric widths."""

    losses: Floats
    logs: Floats
    """Logarithms of the masses."""
    lows: Floats
    highs: Floats
    """Ends of the cells."""
    counts: Floats
    infinite: float
    """Mass of the loss infinity after composition."""

    @classmethod
    def of(cls, parts: Sequence[tuple[DominatingPair, int]]) -> Guide:
        """The coarse law of ``parts`` with their counts."""
        positive = np.geomspace(1e-9, 1e5, _EDGES)
        edges = np.concatenate([-positive[::-1], positive])
        rows = [_row(pair, _with_ends(edges, pair.loss_range())) for pair, _ in parts]
        logs = [
            math.log1p(-min(row[4], 1 - 1e-16)) * count for row, (_, count) in zip(rows, parts, strict=True)
        ]
        losses, masses, lows, highs = (np.stack([row[i] for row in rows]) for i in range(4))
        used = np.isfinite(masses).any(axis=0)
        counts = np.array([float(count) for _, count in parts])
        return cls(
            losses[:, used],
            masses[:, used],
            lows[:, used],
            highs[:, used],
            counts,
            -math.expm1(math.fsum(logs)),
        )

    def log_mgf(self, tilt: float) -> tuple[float, float, float]:
        """Log of the moment-generating function of the sum, and its first two derivatives."""
        logs = self.logs + tilt * self.losses
        top = logs.max(axis=1, keepdims=True)
        weights = np.exp(logs - top)
        total = weights.sum(axis=1)
        means = (weights * self.losses).sum(axis=1) / total
        variances = (weights * (self.losses - means[:, None]) ** 2).sum(axis=1) / total
        values = top[:, 0] + np.log(total)
        return float(self.counts @ values), float(self.counts @ means), float(self.counts @ variances)

    def saddle(self, tilt: float) -> tuple[float, float]:
        """The epsilon whose saddle point is ``tilt``, and roughly the logarithm of delta there."""
        value, mean, variance = self.log_mgf(tilt)
        epsilon = mean - 1 / tilt - 1 / (tilt + 1)
        curvature = variance + 1 / tilt**2 + 1 / (tilt + 1) ** 2
        return epsilon, value - tilt * epsilon - math.log(
            tilt * (tilt + 1) * math.sqrt(2 * math.pi * curvature)
        )

    def ranges(self, tilt: float, log_goal: float, small: float) -> tuple[Floats, Floats]:
        """For each part, losses beyond which it matters less than exp(log_goal), or ``small`` when tilted.

        What lies below the first is counted as if raised to it.
        """
        rows, last = np.arange(len(self.losses)), self.losses.shape[1] - 1
        above = np.cumsum(np.exp(self.logs)[:, ::-1], axis=1)[:, ::-1] * self.counts[:, None]
        with np.errstate(divide="ignore"):
            high = last - np.argmax((np.log(above) > log_goal)[:, ::-1], axis=1)
        highs = self.highs[rows, high]
        tilted = self.logs + tilt * np.minimum(self.losses, highs[:, None])
        top = tilted.max(axis=1, keepdims=True)
        total = top + np.log(np.exp(tilted - top).sum(axis=1, keepdims=True))
        with np.errstate(divide="ignore"):
            under = np.log(np.cumsum(np.exp(self.logs), axis=1) - np.exp(self.logs))
            raised = under + tilt * self.lows + np.log(self.counts)[:, None]
        low = np.minimum(np.maximum(np.argmax(raised > total + math.log(small), axis=1) - 1, 0), high)
        return self.lows[rows, low], highs

    def cut(self, lows: Floats, highs: Floats) -> Guide:
        """The law with losses clipped to the ranges."""
        return replace(self, losses=np.clip(self.losses, lows[:, None], highs[:, None]))


def _with_ends(edges: Floats, ends: tuple[float, float]) -> Floats:
    """The edges, and others that close in on the ends of the range from within."""
    shares = np.geomspace(1e-9, 0.9, 100)
    low, high = np.clip(ends, -2e5, 2e5)
    return np.sort(np.concatenate([edges, low + abs(low) * shares, high - abs(high) * shares]))


def _row(pair: DominatingPair, edges: Floats) -> tuple[Floats, Floats, Floats, Floats, float]:
    """Mean losses, log masses and ends of one pair's cells, and its infinite mass."""
    cells = pair.cells(edges)
    p, q = cells.p, cells.q
    lows, highs = np.append(edges[:1], edges), np.append(edges, edges[-1:])
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.log(p) - np.log(q)
        logs = np.where((p > 1e-280) & (np.asarray(cells.p_error) < 0.5), np.log(p), -np.inf)
    known = np.isfinite(loss) & (q > 1e-280)
    loss = np.clip(np.where(known, loss, (lows + highs) / 2), lows, highs)
    least, most = pair.loss_range()
    return loss, logs, np.maximum(lows, least), np.minimum(highs, most), cells.infinite[1]
