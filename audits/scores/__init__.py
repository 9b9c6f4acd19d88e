"""Scores: one number per output; tails of a score are the events an audit bets on."""

from audits.scores.atoms import Atoms
from audits.scores.bits import float_bits, lowest_bit, lowest_bit_of_cells, only_bits
from audits.scores.classifiers import Classifier, logistic, trees
from audits.scores.coordinates import BestCoordinate, BitParity
from audits.scores.discriminant import LinearDiscriminant
from audits.scores.fixed import Identity, LogLikelihoodRatio, Projection
from audits.scores.protocol import Score, Scorer, View, shares, whole
from audits.scores.tokens import row_tokens, tokens

__all__ = [
    "Atoms",
    "BestCoordinate",
    "BitParity",
    "Classifier",
    "Identity",
    "LinearDiscriminant",
    "LogLikelihoodRatio",
    "Projection",
    "Score",
    "Scorer",
    "View",
    "float_bits",
    "logistic",
    "lowest_bit",
    "lowest_bit_of_cells",
    "only_bits",
    "row_tokens",
    "shares",
    "tokens",
    "trees",
    "whole",
]
