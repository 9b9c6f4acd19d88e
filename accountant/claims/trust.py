"""Trust models, and the billboard lemma as the step from one to another."""

from __future__ import annotations

import enum

from dpproof.accountant.claims.spelling import word
from dpproof.accountant.published.sources import Source

BILLBOARD = Source("arXiv:1311.2828", "v2", "Lemma 9", "rlsvi.lemma9")
"""Hsu, Huang, Roth, Roughgarden and Wu, Private matchings and allocations."""


class TrustModel(enum.Enum):
    """The trust model: who sees raw data, and what an adversary sees."""

    CENTRAL = "central"
    """A trusted curator sees all raw data; the adversary sees everything it publishes."""
    JOINT = "joint"
    """A trusted curator; the adversary sees what everybody but the protected user receives."""
    LOCAL = "local"
    """Nobody is trusted: users randomise before sending."""
    SHUFFLE = "shuffle"
    """A trusted shuffler removes names and order before anyone sees the users' messages."""

    @classmethod
    def of(cls, name: str) -> TrustModel:
        """The model of that name.

        Raises:
            ValueError: for an unknown name, listing the known ones.
        """
        return word(cls, "trust", name)


_STRONGEST_FIRST = (TrustModel.LOCAL, TrustModel.SHUFFLE, TrustModel.CENTRAL, TrustModel.JOINT)
"""What is seen in a model is made from what is seen in the one before it, without the user's data."""


def implies(proved: TrustModel, promised: TrustModel) -> bool:
    """Whether a guarantee in one model implies the same guarantee in another, by post-processing.

    The shuffled messages are made from the messages, what a curator publishes from these, and what all others
    receive is a part of that.

    >>> implies(TrustModel.SHUFFLE, TrustModel.CENTRAL), implies(TrustModel.CENTRAL, TrustModel.LOCAL)
    (True, False)
    """
    return _STRONGEST_FIRST.index(proved) <= _STRONGEST_FIRST.index(promised)


def billboard(model: TrustModel) -> TrustModel:
    """The model of the actions computed from a published billboard, given that of the billboard.

    If the billboard is private in the central model, and each user's actions are computed from the
    billboard and that user's own data, then the actions are joint differentially private with the same
    parameters (``BILLBOARD``).

    >>> billboard(TrustModel.CENTRAL)
    <TrustModel.JOINT: 'joint'>

    Raises:
        ValueError: for a model in which there is no billboard to speak of.
    """
    if model is not TrustModel.CENTRAL:
        raise ValueError(
            f"trust model ({model.value!r}) must be 'central', because the billboard lemma holds for this model only"
        )
    return TrustModel.JOINT
