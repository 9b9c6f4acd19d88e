"""The common part of the accountants of basic noise mechanisms: the neighbouring relation and the result.

Such a mechanism has a sensitivity, which depends on a neighbouring relation. The guarantee holds under every
relation in which the answers of neighbours differ by at most the sensitivity. If the user names no relation,
the relation is ``by-sensitivity``. If the user names one, the sensitivity either is given and assumed to hold
under this relation, or follows from a named query. See `dpproof.accountant.claims.sensitivity`.
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
    """Return the `PrivacyResult` of a basic noise mechanism whose ``guarantee`` is known.

    ``pair`` describes two inputs that attain the guarantee exactly. ``pair`` is None if no such inputs are
    known.

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
