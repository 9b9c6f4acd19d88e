"""What accountants of smooth sensitivity say alike, and what they answer where no pair attains the bound."""

from __future__ import annotations

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult, PublishedGuarantee
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.notions import Guarantee

__all__ = ["smooth_notes", "unattained"]

_NOTE = "the smoothing is to be chosen without looking at the data: the noise itself depends on them"


def smooth_notes(adjacency: Adjacency) -> tuple[str, ...]:
    """What noise scaled by a smooth bound takes as given: the smoothing, and the relation of the bound.

    >>> smooth_notes(Adjacency.REPLACE)[-1]
    'the smooth bound is taken to be one under replace neighbours'
    """
    taken = f"the smooth bound is taken to be one under {adjacency.value} neighbours"
    return (_NOTE,) if adjacency is Adjacency.BY_SENSITIVITY else (_NOTE, taken)


def unattained(
    guarantee: Guarantee,
    adjacency: Adjacency,
    statement: str,
    published: PublishedGuarantee | None = None,
    notes: tuple[str, ...] = (),
) -> PrivacyResult:
    """The answer of a noise primitive whose ``guarantee`` is proved, but not attained at every delta.

    >>> from dpproof.accountant.guarantees.notions import PureDP
    >>> unattained(PureDP(1), Adjacency.BY_SENSITIVITY, "classic.smooth_pure").attained is None
    True
    """
    return PrivacyResult(
        guarantee,
        adjacency,
        TrustModel.CENTRAL,
        "the noisy answer",
        statement,
        published=published,
        notes=(*smooth_notes(adjacency), *notes),
    )
