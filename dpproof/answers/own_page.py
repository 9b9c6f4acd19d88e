"""Verdicts on pages of one's own: a lemma that no paper of the registry has, checked with what the search finds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from dpproof.proofs_check.page import read_statement
from dpproof.proofs_check.registry import certificate_id, page_of, verify_page
from dpproof.proofs_check.search import Found, found, satisfiable
from dpproof.proofs_check.verdict import Result

_IMPOSSIBLE = (
    "no values were found that satisfy all its hypotheses, so that they may contradict each other; mend them, or write "
    "the claim as a theorem with an instance"
)


@dataclass(frozen=True)
class OwnPage:
    """The verdict on a page, and what the search found for each of its claims."""

    result: Result
    claims: tuple[Found, ...]


def verify_own(path: Path) -> OwnPage:
    """Return the verdict on a page. The search looks for proofs and counterexamples, and the kernel checks them.

    Raises:
        ValueError: for a file that is missing, cannot be read, or names a statement that does not exist. The message
            names the file and the line.
    """
    if not path.is_file():
        raise ValueError(f"page ({path}) must be a file")
    entry = read_statement(f"own.{path.stem}", path, str(path), needed=())
    for name in (*entry.parts, *entry.rests_on):
        try:
            page_of(name)
        except KeyError:
            raise ValueError(
                f"{path}:1: the page names the statement {name!r}, which does not exist"
            ) from None
    claims = tuple(found(entry))
    steps = {certificate_id(entry, x): x for x in entry.obligations if "vars" in x.goal}
    claims = tuple(
        replace(x, text=None, reason=_IMPOSSIBLE) if x.id in steps and not satisfiable(steps[x.id]) else x
        for x in claims
    )
    result = verify_page(entry, {x.id: x.text for x in claims if x.text is not None})
    return OwnPage(result, claims)
