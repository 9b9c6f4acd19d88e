"""Hard pairs of neighbouring inputs by kind of data, each relation with its validator.

A validator takes two inputs and raises ValueError, showing the difference, unless they are neighbours; it
decides in exact arithmetic. A generator gives pairs in named patterns, each checked by its validator.
"""

from dpproof.audits.data.episode_relations import EPISODE_CHECKS
from dpproof.audits.data.neighbours.episodes import episodes_pair, trajectory_pairs
from dpproof.audits.data.neighbours.histograms import (
    check_one_record_more,
    check_one_record_moved,
    histogram_pairs,
)
from dpproof.audits.data.neighbours.rewards import REWARD_PATTERNS, reward_pairs
from dpproof.audits.data.neighbours.streams import StreamRelation, event_pairs, user_pairs
from dpproof.audits.data.neighbours.vectors import VECTOR_PATTERNS, Distance, VectorRelation, vector_pairs

__all__ = [
    "EPISODE_CHECKS",
    "REWARD_PATTERNS",
    "VECTOR_PATTERNS",
    "Distance",
    "StreamRelation",
    "VectorRelation",
    "check_one_record_more",
    "check_one_record_moved",
    "episodes_pair",
    "event_pairs",
    "histogram_pairs",
    "reward_pairs",
    "trajectory_pairs",
    "user_pairs",
    "vector_pairs",
]
