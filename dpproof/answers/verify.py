"""Statements: the ids that a name stands for, and the verdicts on them."""

from __future__ import annotations

from collections.abc import Iterable

from dpproof.accountant.claims.spelling import nearest
from dpproof.answers.account import Json, envelope
from dpproof.answers.coverage import identity_of

__all__ = ["ids_named", "verify"]


def ids_named(name: str) -> tuple[str, ...]:
    """The statement ids that ``papers``, a paper's command-line name, or a statement id stands for.

    >>> ids_named("rlsvi.eq2"), ids_named("sdp.lemma19")
    (('rlsvi.eq2',), ('sdp.lemma7',))

    Raises:
        ValueError: for an unknown name.
    """
    from dpproof.proofs_check.registry import papers, statement_ids

    everything = statement_ids()
    if name == "papers":
        return everything
    if name in papers():
        return statement_ids(f"{papers()[name].prefix}.")
    if (identity := identity_of(name)) in everything:
        return (identity,)
    rule = f"must be papers, a paper ({', '.join(papers())}) or a statement id"
    raise ValueError(f"name ({name!r}) {rule}{nearest(name, ('papers', *papers(), *everything))}")


def verify(ids: Iterable[str]) -> Json:
    """The verdicts on statements, their certificates checked again."""
    from dpproof.proofs_check.registry import as_json
    from dpproof.proofs_check.registry import verify as verify_statements

    results = verify_statements(list(ids))
    readings = {text for result in results for text in result.readings}
    laws = {name for result in results for name in result.laws}
    found = [as_json(result) for result in results]
    return envelope({"statements": found, "readings_all": len(readings), "laws_all": sorted(laws)})
