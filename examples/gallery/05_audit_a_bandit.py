"""An epsilon-greedy bandit that forgets the noise in its first rounds."""

import numpy as np

from dpproof import audit


def choices(rewards: np.ndarray, rng: np.random.Generator) -> list[int]:
    """The arm chosen in each round: the better one by noisy means of the rewards seen so far."""
    chosen = []
    for seen in range(2, len(rewards) + 1):
        noise = rng.laplace(0, 2.0, 2) if seen > 4 else np.zeros(2)
        sums = np.array([rewards[:seen:2].sum(), rewards[1:seen:2].sum()]) + noise
        chosen.append(int(sums.argmax()))
    return chosen


rewards = np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
found = audit(choices, rewards, adjacency="replace", epsilon=2, budget=20_000)
print(found)
