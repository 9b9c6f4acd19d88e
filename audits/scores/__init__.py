"""Scores: one number per output; tails of a score are the events an audit bets on."""

from dpproof.audits.scores.atoms import Atoms
from dpproof.audits.scores.bits import float_bits, lowest_bit, lowest_bit_of_cells, only_bits
from dpproof.audits.scores.classifiers import Classifier, logistic, trees
from dpproof.audits.scores.coordinates import BestCoordinate, BitParity
from dpproof.audits.scores.discriminant import LinearDiscriminant
from dpproof.audits.scores.fixed import Identity, LogLikelihoodRatio, Projection
from dpproof.audits.scores.protocol import Score, Scorer, View, shares, whole
from dpproof.audits.scores.tokens import row_tokens, tokens

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
