"""What all noise primitives say alike: whom they speak of, what is released, which pair attains it.

A primitive is given a sensitivity, which is a function of a neighbouring relation. It is therefore private
under every relation whose neighbours' answers differ by at most that much: without a relation the answer
speaks of inputs ``by-sensitivity``; a relation that is given is repeated, and taken to be the
sensitivity's own.
"""

from __future__ import annotations

from accountant.accounted import Accounted, Attained, PublishedGuarantee
from accountant.adjacency import Adjacency
from accountant.notions import Guarantee
from accountant.trust import TrustModel

__all__ = ["by_sensitivity"]


def by_sensitivity(
    guarantee: Guarantee,
    adjacency: Adjacency,
    statement: str,
    pair: str,
    published: PublishedGuarantee | None = None,
    notes: tuple[str, ...] = (),
) -> Accounted:
    """The answer of a primitive whose ``guarantee`` is exactly what ``pair`` attains.

    >>> from accountant.notions import GaussianDP
    >>> by_sensitivity(GaussianDP(1), Adjacency.REPLACE, "classic.gaussian", "means 0 and 1").notes
    ('the sensitivity is taken to be that under replace neighbours',)
    """
    taken = f"the sensitivity is taken to be that under {adjacency.value} neighbours"
    return Accounted(
        guarantee,
        adjacency,
        TrustModel.CENTRAL,
        "every noisy answer",
        statement,
        published=published,
        attained=Attained(guarantee, pair),
        notes=notes if adjacency is Adjacency.BY_SENSITIVITY else (*notes, taken),
    )
