"""What accountants answer whose bound no pair is known to attain at every delta."""

from __future__ import annotations

from accountant.accounted import Accounted, PublishedGuarantee
from accountant.adjacency import Adjacency
from accountant.notions import Guarantee
from accountant.trust import TrustModel

__all__ = ["NOTE", "unattained"]

NOTE = "the smoothing is to be chosen without looking at the data: the noise itself depends on them"


def unattained(
    guarantee: Guarantee,
    adjacency: Adjacency,
    statement: str,
    published: PublishedGuarantee | None = None,
    notes: tuple[str, ...] = (),
) -> Accounted:
    """The answer of a noise primitive whose ``guarantee`` is proved, but not attained at every delta.

    >>> from accountant.notions import PureDP
    >>> unattained(PureDP(1), Adjacency.BY_SENSITIVITY, "classic.smooth_pure").attained is None
    True
    """
    taken = f"the smooth bound is taken to be one under {adjacency.value} neighbours"
    said = (NOTE, *notes) if adjacency is Adjacency.BY_SENSITIVITY else (NOTE, *notes, taken)
    return Accounted(
        guarantee,
        adjacency,
        TrustModel.CENTRAL,
        "the noisy answer",
        statement,
        published=published,
        notes=said,
    )
