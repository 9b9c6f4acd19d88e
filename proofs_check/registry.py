"""All statements of the papers, and their verdicts.

To add a paper, add a folder below ``papers``. Its ``__init__`` has a `Paper`, and each of its modules has a
tuple ``STATEMENTS``.
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
"""Former ids of statements, and alternative names, each with the present id.

Some former ids ended in ``as_meant``. They were renamed where the correction repairs more than a misprint.
"""


@lru_cache(maxsize=1)
def papers() -> Mapping[str, Paper]:
    """Return the `Paper` objects of all papers by their command-line names, in the order of the list of papers.

    >>> list(papers())[:3]
    ['rlsvi', 'private-ucb', 'sdp-pe']
    """
    found = sorted((paper for _, paper in _folders()), key=lambda paper: paper.place)
    return {paper.name: paper for paper in found}


def _folders() -> list[tuple[str, Paper]]:
    """Return the package name and the record of each paper."""
    names = [
        f"{library.__name__}.{found.name}" for found in pkgutil.iter_modules(library.__path__) if found.ispkg
    ]
    return [(name, importlib.import_module(name).PAPER) for name in names]


def folder_of(identity: str) -> str:
    """Return the name of the folder of the paper to which a statement belongs.

    >>> folder_of("ucb.lemma1")
    'private_ucb'
    """
    prefix = identity.partition(".")[0]
    return next(name.rpartition(".")[2] for name, paper in _folders() if paper.prefix == prefix)


@cache
def _of_module(name: str) -> tuple[Statement, ...]:
    """Return the statements of one module of a paper."""
    found: tuple[Statement, ...] = tuple(importlib.import_module(name).STATEMENTS)
    return found


def _modules(prefix: str = "") -> Iterator[str]:
    """Yield the modules of the papers in order, or those of one paper, given its ``prefix``."""
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
    """Return all statements, in the papers' order."""
    return tuple(_table().values())


def statement_ids(prefix: str = "") -> tuple[str, ...]:
    """Return the ids of all statements whose id begins with ``prefix``, in the papers' order.

    >>> "rlsvi.lemma6" in statement_ids("rlsvi.")
    True
    """
    return tuple(name for name in _table() if name.startswith(prefix))


def lookup(identity: str) -> Statement:
    """Return the statement with this id or former id.

    The function imports only modules of the statement's paper, up to the module that contains the statement.

    >>> lookup("sdp.corollary11.regret_as_meant").id
    'sdp.corollary11.repaired'

    Raises:
        KeyError: if there is no such statement.
    """
    known = FORMER.get(identity, identity)
    every = (entry for name in _modules(known.partition(".")[0]) for entry in _of_module(name))
    found = next((entry for entry in every if entry.id == known), None)
    if found is None:
        raise KeyError(known)
    return found


def certificate_id(entry: Statement, obligation: Obligation) -> str:
    """Return the id of the certificate (the stored proof) for an obligation, one of the claims of a statement."""
    return f"{entry.id}.{obligation.name}"


def _outcome(entry: Statement, obligation: Obligation) -> tuple[str, Outcome | None]:
    """Return the place of a certificate and the kernel's outcome; None if it is missing or rejected."""
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
        raise ValueError(
            f"Statements must not rest on each other in a circle: {' -> '.join((*path, identity))}"
        )
    if identity not in known:
        entry = lookup(identity)
        needed = (*entry.parts, *entry.rests_on)
        below = {name: _verified(name, known, (*path, identity)) for name in needed}
        result = derive(entry, [_outcome(entry, x) for x in entry.obligations], below)
        changed = differences(entry)
        known[identity] = opened(result, changed) if changed else result
    return known[identity]


def verify(ids: Iterable[str] | None = None) -> list[Result]:
    """Return the results for the statements with these ids, or for all, after the kernel has checked their proofs.

    A statement is OPEN if a certificate (a stored proof) is missing, stale or damaged, or if the statement differs
    from the manifest, the record of what people agreed to.

    >>> verify(["rlsvi.eq2"])[0].verdict.value
    'STEPS PROVED'

    Raises:
        KeyError: for an unknown id.
    """
    known: dict[str, Result] = {}
    chosen = statement_ids() if ids is None else [lookup(name).id for name in ids]
    return [_verified(name, known) for name in chosen]


def coq_status(result: Result) -> str:
    """Return `CHECKED` if Coq proved all claims of a statement again, and otherwise `NOT_CHECKED`.

    The answer is `NOT_CHECKED` for a statement that is open or assumes something. Coq may have checked all claims of an
    open statement, but such a statement may still lack a claim.
    """
    whole = result.verdict.decided and not result.assumptions
    return cross_check(lookup(result.id), _table()) if whole else NOT_CHECKED


def as_json(result: Result) -> dict[str, Any]:
    """Return a result as the JSON data that ``dpproof verify --json`` prints."""
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
