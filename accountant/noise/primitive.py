"""What all noise primitives share: the neighbouring relation, the release, and the attaining pair.

A primitive has a sensitivity, which depends on a neighbouring relation. So it is private under every relation
whose neighbours' answers differ by at most that much. Without a relation the answer is about inputs
``by-sensitivity``. With a relation the sensitivity is given, and is assumed to be the one under it, or it
follows from a named query. See `dpproof.accountant.claims.sensitivity`.
"""

from __future__ import annotations

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import Attained, PrivacyResult, PublishedGuarantee
from dpproof.accountant.claims.sensitivity import Sensitivity
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.profile import Profile


def by_sensitivity(
    guarantee: Profile,
    adjacency: Adjacency,
    statement: str,
    pair: str | None,
    published: PublishedGuarantee | None = None,
    notes: tuple[str, ...] = (),
    released: str = "every noisy answer",
    trust: TrustModel = TrustModel.CENTRAL,
    sensitivity: Sensitivity | None = None,
    exact_sampler: str | None = None,
) -> PrivacyResult:
    """The answer of a primitive whose ``guarantee`` the named ``pair``, if there is one, attains exactly.

    >>> from dpproof.accountant.guarantees.notions import GaussianDP
    >>> by_sensitivity(GaussianDP(1), Adjacency.REPLACE, "classic.gaussian", "means 0 and 1").attained.pair
    'means 0 and 1'
    """
    told = () if sensitivity is None or adjacency is Adjacency.BY_SENSITIVITY else (sensitivity.rule,)
    return PrivacyResult(
        guarantee,
        adjacency,
        trust,
        released,
        statement,
        published=published,
        attained=None if pair is None else Attained(guarantee, pair),
        notes=(*notes, *told),
        sensitivity=sensitivity,
        exact_sampler=exact_sampler,
    )
