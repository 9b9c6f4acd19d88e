"""Verdicts on statements, and the ids of the statements that a name on the command line stands for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dpproof.accountant.claims.spelling import nearest
from dpproof.answers.coverage import identity_of
from dpproof.proofs_check import registry
from dpproof.proofs_check.verdict import Result


@dataclass(frozen=True)
class Verified:
    """Verdicts on some statements, given after the kernel (a small program) checked their formal proofs."""

    statements: tuple[Result, ...]

    @property
    def readings(self) -> frozenset[str]:
        """The texts of all proof steps of these statements that people must check by reading."""
        return frozenset(text for result in self.statements for text in result.readings)

    @property
    def laws(self) -> tuple[str, ...]:
        """Names of the known facts about distributions (`dpproof.proofs_check.laws`) that the statements use."""
        return tuple(sorted({name for result in self.statements for name in result.laws}))


def results(*ids: str) -> dict[str, Result]:
    """Return, by id, the verdicts on the statements with these ids. A certificate is checked only once."""
    return {result.id: result for result in registry.verify(ids)}


def verify(ids: Iterable[str]) -> Verified:
    """Check the certificates of the statements with these ids, and return the verdicts."""
    chosen = list(ids)
    registry.check_in_processes(chosen)
    return Verified(tuple(registry.verify(chosen)))


def ids_named(name: str) -> tuple[str, ...]:
    """Return the statement ids for ``papers``, for a paper's command-line name, or for a statement id.

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
    rule = f"must be 'papers', a paper ({', '.join(papers)}) or a statement id that `dpproof verify papers` lists"
    raise ValueError(f"name ({name!r}) {rule}{nearest(name, ('papers', *papers, *everything))}")


def departures(found: Iterable[Result], *prefixes: str) -> list[str]:
    """Return one line for each statement whose verdict is missing or is not the one that its page states.

    Args:
        found: the verdicts on statements. Each must be the one that the page of its statement states.
        prefixes: all statements whose ids begin with one of these must be among them; ``""`` for all.
    """
    answers = {result.id: result.verdict.value for result in found}
    listed = [name for text in prefixes for name in registry.statement_ids(text)]
    wanted = {name: registry.lookup(name).expected for name in (*listed, *answers)}
    return [
        f"{name}: recorded {verdict or 'nothing'}, found {answers.get(name, 'nothing')}"
        for name, verdict in wanted.items()
        if answers.get(name) != verdict
    ]
