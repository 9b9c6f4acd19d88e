"""What one round of expert-level offline learning releases, and its law."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.rl.expert.design import Design
from dpproof.mechanisms.rl.expert.policies import TabularExperts, prefix_counts
from dpproof.mechanisms.rl.expert.release import stable_lengths

Floats = NDArray[np.float64]


def one_expert_more(first: Floats, second: Floats) -> None:
    """Raise ValueError unless one array has the other's rows and one more at the end."""
    small, large = sorted((first, second), key=len)
    if len(large) != len(small) + 1 or not np.array_equal(large[:-1], small):
        raise ValueError(f"experts ({len(first)} and {len(second)}) must be the same but for one more")


@dataclass(frozen=True)
class PrefixRound:
    """One round of the release where the state is the number of the step, and there are two actions.

    An input is a table of policies (experts, steps, 2). An output is the released prefix as one number: its
    actions as binary digits behind a leading 1.
    """

    design: Design

    def __call__(self, table: Floats, n: int, rng: np.random.Generator) -> Floats:
        """The releases of ``n`` rounds, ``(n, 1)``."""
        experts, steps = table.shape[:2]
        drawn = rng.integers(0, experts, n)
        actions = (rng.random((n, steps)) < table[drawn, :, 1]).astype(np.int64)
        codes = actions @ (1 << np.arange(steps)[::-1])
        lengths = np.zeros(n, dtype=np.int64)
        for code in np.unique(codes):
            chosen = np.flatnonzero(codes == code)
            counts = self._counts(table, actions[chosen[0]])
            lengths[chosen] = stable_lengths(self.design, counts, len(chosen), rng)
        released = (codes >> (steps - lengths)) + (1 << lengths)
        return np.asarray(released[:, None], dtype=np.float64)

    def _counts(self, table: Floats, actions: NDArray[np.int64]) -> Floats:
        return prefix_counts(TabularExperts(table), np.arange(len(actions)), actions)

    def law(self, table: Floats) -> dict[int, float]:
        """The chances of all outputs, by the trapezoidal rule over the threshold's noise; not certified."""
        noise = np.linspace(-40, 40, 4001)
        weights = np.exp(-np.abs(noise))
        found: dict[int, float] = {}
        for path in itertools.product(range(2), repeat=table.shape[1]):
            actions = np.array(path)
            happens = table[:, np.arange(len(path)), actions].prod(axis=1).mean()
            passed, code = weights / weights.sum(), 1
            for count, action in zip(self._counts(table, actions), path, strict=True):
                gap = (
                    self.design.cutoff + self.design.threshold_scale * noise - count
                ) / self.design.count_scale
                top = np.where(gap > 0, np.exp(-np.abs(gap)) / 2, 1 - np.exp(-np.abs(gap)) / 2)
                found[code] = found.get(code, 0.0) + happens * float((passed * (1 - top)).sum())
                passed, code = passed * top, 2 * code + action
            found[code] = found.get(code, 0.0) + happens * float(passed.sum())
        return found
