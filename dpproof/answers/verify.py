"""Statements: the ids that a name stands for, and the verdicts on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dpproof.accountant.claims.spelling import nearest
from dpproof.answers.coverage import identity_of
from dpproof.proofs_check import registry
from dpproof.proofs_check.verdict import Result


@dataclass(frozen=True)
class Verified:
    """The verdicts on some statements, their certificates checked again."""

    statements: tuple[Result, ...]

    @property
    def readings(self) -> frozenset[str]:
        """All readings that the statements together rest on."""
        return frozenset(text for result in self.statements for text in result.readings)

    @property
    def laws(self) -> tuple[str, ...]:
        """The laws that they take from the table."""
        return tuple(sorted({name for result in self.statements for name in result.laws}))


def results(*ids: str) -> dict[str, Result]:
    """The results of statements by id, what they share checked once."""
    return {result.id: result for result in registry.verify(ids)}


def verify(ids: Iterable[str]) -> Verified:
    """The verdicts on statements, their certificates checked again."""
    return Verified(tuple(registry.verify(list(ids))))


def ids_named(name: str) -> tuple[str, ...]:
    """The statement ids that ``papers``, a paper's command-line name, or a statement id stands for.

    >>> ids_named("rlsvi.eq2"), ids_named("sdp.lemma19")
    (('rlsvi.eq2',), ('sdp.lemma7',))

    Raises:
        ValueError: for an unknown name.
    """
    everything, papers = registry.statement_ids(), registry.papers()
    if name == "papers":
        return everything
    if name in papers:
        return registry.statement_ids(f"{papers[name].prefix}.")
    if (identity := identity_of(name)) in everything:
        return (identity,)
    rule = f"must be papers, a paper ({', '.join(papers)}) or a statement id"
    raise ValueError(f"name ({name!r}) {rule}{nearest(name, ('papers', *papers, *everything))}")
