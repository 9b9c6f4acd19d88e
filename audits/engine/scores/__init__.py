"""Scores: one number per output; tails of a score are the events an audit bets on."""

from dpproof.audits.engine.scores.atoms import Atoms
from dpproof.audits.engine.scores.bits import float_bits, lowest_bit, lowest_bit_of_cells, only_bits
from dpproof.audits.engine.scores.classifiers import Classifier, logistic, trees
from dpproof.audits.engine.scores.coordinates import BestCoordinate, BitParity
from dpproof.audits.engine.scores.discriminant import LinearDiscriminant
from dpproof.audits.engine.scores.fixed import Identity, LogLikelihoodRatio, Projection
from dpproof.audits.engine.scores.protocol import Score, Scorer, View, shares, whole
from dpproof.audits.engine.scores.tokens import row_tokens, tokens

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
