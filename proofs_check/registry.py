"""All statements, by paper, and their verdicts.

A new paper is a folder below ``papers``: its ``__init__`` has a `Paper`, its modules a tuple ``STATEMENTS`` each.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from dpproof.proofs_check import papers as library
from dpproof.proofs_check.certificates import stored
from dpproof.proofs_check.coq.record import CHECKED, NOT_CHECKED
from dpproof.proofs_check.coq.record import status as cross_check
from dpproof.proofs_check.kernel import Outcome, Rejected, check, load
from dpproof.proofs_check.manifest import differences
from dpproof.proofs_check.papers.paper import Paper
from dpproof.proofs_check.statement import Obligation, Statement
from dpproof.proofs_check.verdict import Result, derive, opened

FORMER = {
    "eval.lemma19": "eval.lemma7.bound",
    "expert.theorem5_6.as_meant": "expert.theorem5_6.given_release",
    "sdp.corollary11.privacy_as_meant": "sdp.corollary11.privacy_bits",
    "sdp.corollary11.regret_as_meant": "sdp.corollary11.repaired",
    "sdp.lemma10.privacy.as_meant": "sdp.lemma10.privacy.bits",
    "sdp.lemma10.utility.tails_as_meant": "sdp.lemma10.utility.tails_to_mean",
    "sdp.lemma14.as_meant": "sdp.lemma14.large_error",
}
"""Ids that a statement had before, or that name a part in its paper -> ids of today.

Those that ended in ``as_meant`` are corrections that change more than a slip.
"""


@lru_cache(maxsize=1)
def papers() -> Mapping[str, Paper]:
    """The papers by their command-line names, in the order in which they are listed.

    >>> list(papers())[:3]
    ['rlsvi', 'private-ucb', 'sdp-pe']
    """
    found = sorted((paper for _, paper in _folders()), key=lambda paper: paper.place)
    return {paper.name: paper for paper in found}


def _folders() -> list[tuple[str, Paper]]:
    """The package of each paper, and its record."""
    names = [
        f"{library.__name__}.{found.name}" for found in pkgutil.iter_modules(library.__path__) if found.ispkg
    ]
    return [(name, importlib.import_module(name).PAPER) for name in names]


def folder_of(identity: str) -> str:
    """The name of the folder of the paper that a statement belongs to.

    >>> folder_of("ucb.lemma1")
    'private_ucb'
    """
    prefix = identity.partition(".")[0]
    return next(name.rpartition(".")[2] for name, paper in _folders() if paper.prefix == prefix)


@cache
def _of_module(name: str) -> tuple[Statement, ...]:
    """The statements of one module of a paper."""
    found: tuple[Statement, ...] = tuple(importlib.import_module(name).STATEMENTS)
    return found


def _modules(prefix: str = "") -> Iterator[str]:
    """The modules of the papers, in their order; of one paper, with its ``prefix``."""
    for home, paper in sorted(_folders(), key=lambda found: found[1].place):
        if prefix in ("", paper.prefix):
            yield from (f"{home}.{name}" for name in paper.modules)


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Statement]:
    table: dict[str, Statement] = {}
    for entry in (entry for name in _modules() for entry in _of_module(name)):
        if table.setdefault(entry.id, entry) is not entry:
            raise ValueError(f"statement id {entry.id} occurs twice")
    return table


def statements() -> tuple[Statement, ...]:
    """All statements, in the papers' order."""
    return tuple(_table().values())


def statement_ids(prefix: str = "") -> tuple[str, ...]:
    """The ids that begin with ``prefix``, in the papers' order.

    >>> "rlsvi.lemma6" in statement_ids("rlsvi.")
    True
    """
    return tuple(name for name in _table() if name.startswith(prefix))


def lookup(identity: str) -> Statement:
    """The statement with this id, or with one that it had before.

    Only modules of its paper are imported, and none behind the one that has it.

    >>> lookup("sdp.corollary11.regret_as_meant").id
    'sdp.corollary11.repaired'

    Raises:
        KeyError: if there is none.
    """
    known = FORMER.get(identity, identity)
    every = (entry for name in _modules(known.partition(".")[0]) for entry in _of_module(name))
    found = next((entry for entry in every if entry.id == known), None)
    if found is None:
        raise KeyError(known)
    return found


def certificate_id(entry: Statement, obligation: Obligation) -> str:
    """The id that the certificate of an obligation carries."""
    return f"{entry.id}.{obligation.name}"


def _outcome(entry: Statement, obligation: Obligation) -> tuple[str, Outcome | None]:
    """The place of a certificate and the kernel's outcome; None for a missing or a rejected one."""
    try:
        found = stored(certificate_id(entry, obligation))
    except (LookupError, OSError):
        return f"no certificate of {certificate_id(entry, obligation)}", None
    try:
        return found.place, check(load(found.text), obligation.goal)
    except Rejected:
        return found.place, None


def _verified(identity: str, known: dict[str, Result], path: tuple[str, ...] = ()) -> Result:
    if identity in path:
        raise ValueError(f"statements rest on each other: {' -> '.join((*path, identity))}")
    if identity not in known:
        entry = lookup(identity)
        needed = (*entry.parts, *entry.rests_on)
        below = {name: _verified(name, known, (*path, identity)) for name in needed}
        result = derive(entry, [_outcome(entry, x) for x in entry.obligations], below)
        changed = differences(entry)
        known[identity] = opened(result, changed) if changed else result
    return known[identity]


def verify(ids: Iterable[str] | None = None) -> list[Result]:
    """Re-check the certificates of the statements with these ids (all of them without an argument).

    A missing, stale or damaged certificate makes its statement OPEN, and so does a statement that is not
    what the manifest says.

    >>> verify(["rlsvi.eq2"])[0].verdict.value
    'STEPS PROVED'

    Raises:
        KeyError: for an unknown id.
    """
    known: dict[str, Result] = {}
    chosen = statement_ids() if ids is None else [lookup(name).id for name in ids]
    return [_verified(name, known) for name in chosen]


def coq_status(result: Result) -> str:
    """What Coq checked of a result: nothing of a statement that is open or assumes something.

    An open statement may be one that lost the claims Coq does not have.
    """
    whole = result.verdict.decided and not result.assumptions
    return cross_check(lookup(result.id), _table()) if whole else NOT_CHECKED


def as_json(result: Result) -> dict[str, Any]:
    """One result with the keys of ``dpproof verify --json``."""
    coq, judgement = coq_status(result), result.judgement
    return {
        "id": result.id,
        "kind": result.kind,
        "title": result.title,
        "verdict": result.verdict.value,
        "method": result.method.value if result.method else None,
        "certificate": ", ".join(result.certificates) or None,
        "depends_on": list(result.depends_on),
        "assumptions": list(result.assumptions),
        "domain": result.domain,
        "point": dict(result.point) if result.point is not None else None,
        "corrected_by": result.corrected_by,
        "not_covered": result.not_covered,
        "coq": coq,
        "coq_all": coq == CHECKED,
        "parts": list(result.parts),
        "conjuncts": [
            {
                "id": x.id,
                "title": x.title,
                "verdict": x.verdict.value,
                "severity": x.severity.value if x.severity else None,
                "assumptions": list(x.assumptions),
            }
            for x in result.conjuncts
        ],
        "severity": result.severity.value if result.severity else None,
        "severity_why": judgement.why if judgement else None,
        "read_as": list(result.own_readings),
        "readings_own": len(result.own_readings),
        "readings_all": len(result.readings),
        "laws_all": list(result.laws),
        "changed": list(result.changed),
    }
