"""The data of the held-out functions: small, with the ends of every range among them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpproof.accountant.claims.episodes import Episodes

_RNG = np.random.default_rng(20_260)

HOURS = [0, 24, *_RNG.integers(1, 24, 28).tolist()]
"""Hours of work on a day, 30 people."""
FEW_HOURS = HOURS[:9]
SHARES = [0.0, 1.0, *(_RNG.integers(0, 65, 23) / 64).tolist()]
"""Numbers in [0, 1]."""
RATINGS = [-2, 2, *_RNG.integers(-2, 3, 18).tolist()]
LABELS = ("yes", "no", "blank")
ANSWERS = ["blank", *_RNG.choice(LABELS, 35, p=[0.5, 0.4, 0.1]).tolist()]
FEW_ANSWERS = ["no", "yes", "blank", "yes"]
COLOURS = ("red", "green", "blue", "grey")
CHOICES = ["grey", *_RNG.choice(COLOURS, 11, p=[0.5, 0.3, 0.15, 0.05]).tolist()]
CARS = ["red", "grey", "red", "green", "red", "grey", "green", "red", "green", "green"]
EVENTS = [1, 0, *_RNG.integers(0, 2, 12).tolist()]
"""Whether something happened, for 14 moments."""
SHORT = EVENTS[:5]
FEW_EVENTS = [0, 1, 0]
WORDS = ("good", "bad", "fast", "slow", "odd")
REVIEWS = [
    "good fast",
    "bad slow",
    "good slow",
    "good fast",
    "fast odd",
    "bad fast",
    "good fast",
    "good slow",
    "bad slow",
    "good fast",
]
ITEMS = ("milk", "bread", "eggs", "rice", "tea")
BASKETS = {
    f"user {i}": [ITEMS[j] for j in sorted(_RNG.permutation(5 if i == 3 else 4)[:3])] for i in range(16)
}
"""Three items of each user; few have the last one."""
SPENDING = {f"user {i}": (_RNG.integers(1, 13, 1 + i % 4) / 4).tolist() for i in range(18)}
SPENDING["user 18"] = [2.5, 3.0, 2.25]
"""Amounts of each user; some users spent more than 5."""
FEW_SPENDING = {"ann": [0.5, 0.25], "bob": [4.0, 2.0, 0.5], "cy": [1.0]}
_DIRECTIONS = _RNG.normal(size=(10, 3))
ROWS = (
    np.concatenate([_DIRECTIONS, -_DIRECTIONS])
    / np.linalg.norm(np.tile(_DIRECTIONS, (2, 1)), axis=1)[:, None]
)
"""Vectors of norm 1, each with its opposite."""
FLAGS = np.concatenate([np.ones((1, 3)), np.zeros((1, 3)), _RNG.integers(0, 2, (12, 3))])
FLAGS[1:, 2] = 0
"""Ones and zeros; the last column is zero but for one row."""
POINTS = (ROWS, np.sign(ROWS[:, 0]) * 0.75)
"""Rows and the numbers to be predicted."""
PULLS = [(0, -1), (1, 1), (0, 1), (1, -1), (0, 1), (1, 1), (0, 1), (1, -1), (0, -1), (0, 1), (1, 1), (0, 1)]
"""The arm of a bandit and its reward."""
WARDS = ("east", "north", "west")
STAYS = pd.DataFrame(
    {
        "ward": ["west", *_RNG.choice(WARDS[:2], 23, p=[0.6, 0.4]).tolist()],
        "nights": [8, *_RNG.integers(1, 9, 23).tolist()],
    }
)
"""Stays in a hospital; one ward had one patient."""
PATIENTS = pd.DataFrame(
    {
        "age": [20, 80, *_RNG.integers(20, 81, 22).tolist()],
        "nights": [0, 8, *_RNG.integers(0, 9, 22).tolist()],
    }
)
VISITS = [
    {"page": page, "seconds": int(s)} for page, s in zip(["home", "shop"] * 10, range(3, 63, 3), strict=True)
]
VISITS.append({"page": "help", "seconds": 60})
"""Visits of pages; one page was visited once."""
TRIPS = Episodes.rectangular(
    np.concatenate([[[0, 1, 2, 2]], _RNG.integers(0, 2, (9, 4))]),
    _RNG.integers(0, 2, (10, 4)),
    _RNG.integers(0, 2, (10, 4)).astype(float),
)
"""Trajectories of four steps; one person alone was in the last state."""
