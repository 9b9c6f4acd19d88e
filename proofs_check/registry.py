"""All statements of the papers, and their verdicts.

To add a paper, add a folder below ``papers``: its ``__init__`` has a `Paper`, its README.md lists the pages in order,
and each statement is a page (docs/reference/pages.md).
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib
import multiprocessing
import os
import pkgutil
import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from dpproof.proofs_check import papers as library
from dpproof.proofs_check.certificates import Stored, stored
from dpproof.proofs_check.coq.record import CHECKED, NOT_CHECKED, claims_checked
from dpproof.proofs_check.coq.record import status as cross_check
from dpproof.proofs_check.kernel import Outcome, Rejected, check, goal_hash, load
from dpproof.proofs_check.manifest import differences
from dpproof.proofs_check.page import PageError, read_statement
from dpproof.proofs_check.papers.paper import Paper
from dpproof.proofs_check.statement import Goal, Obligation, Statement
from dpproof.proofs_check.verdict import Result, derive, opened

FORMER = {
    "eval.lemma19": "eval.lemma7.bound",
    "expert.theorem5_6.as_meant": "expert.theorem5_6.given_release",
    "sdp.corollary11.privacy_as_meant": "sdp.corollary11.privacy_bits",
    "sdp.corollary11.regret_as_meant": "sdp.corollary11.repaired",
    "sdp.lemma10.privacy.as_meant": "sdp.lemma10.privacy.bits",
    "sdp.lemma10.utility.tails_as_meant": "sdp.lemma10.utility.tails_to_mean",
    "sdp.lemma14.as_meant": "sdp.lemma14.large_error",
    "ucb.lemma5_1.privacy.printed": "ucb.lemma5_1.privacy",
    "ucb.lemma5_4.privacy.printed": "ucb.lemma5_4.privacy",
}
"""Former ids of statements, and alternative names, each with the present id.

Some former ids ended in ``as_meant``. They were renamed where the correction repairs more than a misprint.
"""


FOLDER = Path(__file__).with_name("papers")


@lru_cache(maxsize=1)
def papers() -> Mapping[str, Paper]:
    """Return the `Paper` objects of all papers by their command-line names, in the order of the list of papers.

    >>> list(papers())[:3]
    ['rlsvi', 'private-ucb', 'sdp-pe']
    """
    return {paper.name: paper for paper in _folders().values()}


@lru_cache(maxsize=1)
def _folders() -> Mapping[str, Paper]:
    """Return the record of each paper by its folder, in the order of the list of papers."""
    names = [found.name for found in pkgutil.iter_modules(library.__path__) if found.ispkg]
    records = {name: importlib.import_module(f"{library.__name__}.{name}").PAPER for name in names}
    return dict(sorted(records.items(), key=lambda item: int(item[1].place)))


def folder_of(identity: str) -> str:
    """Return the name of the folder of the paper to which a statement belongs.

    >>> folder_of("ucb.lemma1")
    'private_ucb'

    Raises:
        KeyError: if no paper's ids begin like this one.
    """
    prefix = identity.partition(".")[0]
    found = next((folder for folder, paper in _folders().items() if paper.prefix == prefix), None)
    if found is None:
        raise KeyError(identity)
    return found


def page_of(identity: str) -> Path:
    """Return the path of the page of a statement.

    >>> page_of("rlsvi.eq2").name
    'eq2.md'

    Raises:
        KeyError: if there is no such page.
    """
    path = FOLDER / folder_of(identity) / f"{identity.partition('.')[2]}.md"
    if not re.fullmatch(r"\w+\.[a-z][\w.]*", identity) or not path.is_file():
        raise KeyError(identity)
    return path


@cache
def _read(identity: str) -> Statement:
    path = page_of(identity)
    place = f"proofs_check/papers/{path.parent.name}/{path.name}"
    found = read_statement(identity, path, place)
    for name in (*found.parts, *found.rests_on, *([found.corrected_by] if found.corrected_by else ())):
        try:
            page_of(name)
        except KeyError:
            raise PageError(
                f"{place}:1: the page names the statement {name!r}, which does not exist"
            ) from None
    return found


@cache
def _listed(folder: str) -> tuple[str, ...]:
    """Return the names of the pages of a paper, in the order of its table of contents.

    Raises:
        ValueError: if the table lists a page twice, a page that does not exist, or not all pages.
    """
    contents, prefix = FOLDER / folder / "README.md", re.escape(_folders()[folder].prefix)
    link = rf"^- \[{prefix}\.([\w.]+)\]\(\1\.md\)$"
    names = re.findall(link, contents.read_text(encoding="utf-8"), re.MULTILINE)
    pages = {path.stem for path in contents.parent.glob("*.md")} - {"README"}
    if wrong := sorted({name for name in names if names.count(name) > 1} | pages ^ set(names)):
        raise ValueError(
            f"proofs_check/papers/{folder}/README.md must have one line '- [id](name.md)' for each page of its "
            f"folder. This does not hold for: {', '.join(wrong)}"
        )
    return tuple(names)


def statements() -> tuple[Statement, ...]:
    """Return all statements, in the papers' order."""
    return tuple(map(_read, statement_ids()))


def statement_ids(prefix: str = "") -> tuple[str, ...]:
    """Return the ids of all statements whose id begins with ``prefix``, in the papers' order.

    >>> "rlsvi.lemma6" in statement_ids("rlsvi.")
    True
    """
    every = (f"{paper.prefix}.{name}" for folder, paper in _folders().items() for name in _listed(folder))
    return tuple(name for name in every if name.startswith(prefix))


def lookup(identity: str) -> Statement:
    """Return the statement with this id or former id. Only its own page is read.

    >>> lookup("sdp.corollary11.regret_as_meant").id
    'sdp.corollary11.repaired'

    Raises:
        KeyError: if there is no such statement.
    """
    return _read(FORMER.get(identity, identity))


def certificate_id(entry: Statement, obligation: Obligation) -> str:
    """Return the id of the certificate (the stored proof) for an obligation, one of the claims of a statement."""
    return f"{entry.id}.{obligation.name}"


Claims = Mapping[str, Goal]
"""Claims by the ids of their certificates."""
Find = Callable[[str], Stored]
"""Returns the certificate with an id, or raises LookupError."""


def lemmas(entry: Statement) -> dict[str, Goal]:
    """Return the claims that proofs on a page may use: those of the page, and of the statements it rests on."""
    every = (entry, *map(lookup, entry.rests_on))
    return {certificate_id(x, obligation): obligation.goal for x in every for obligation in x.obligations}


def _checked(name: str, claim: Goal, allowed: Claims, find: Find) -> tuple[str, Outcome | None]:
    """Return the place of a certificate and the kernel's outcome; None if it is missing or rejected."""
    try:
        found = find(name)
    except (LookupError, OSError):
        return f"no certificate of {name}", None
    try:
        return found.place, _decided(found.text, claim, allowed)
    except Rejected:
        return found.place, None


_CHECKED: dict[tuple[str, str], tuple[Mapping[str, str], Outcome | None]] = {}
"""Certificates that the kernel has checked, by the hashes of certificate and claim. The first entry has the claims that
the certificate uses, with their hashes. The second is the outcome if these may be used, or None if it was rejected."""


def _decided(text: str, claim: Goal, allowed: Claims) -> Outcome:
    """Return the kernel's outcome. A certificate is checked once in a process for the same claim and lemmas."""
    key = (hashlib.sha256(text.encode()).hexdigest(), goal_hash(claim))
    if key not in _CHECKED:
        data = load(text)
        uses = data.get("uses", {}) if type(data) is dict else {}
        if type(uses) is not dict or not _fit(uses, allowed):
            raise Rejected("the certificate uses a claim that may not be used")
        try:
            _CHECKED[key] = uses, check(data, claim, allowed)
        except Rejected:
            _CHECKED[key] = uses, None
    uses, outcome = _CHECKED[key]
    if outcome is None or not _fit(uses, allowed):
        raise Rejected("the kernel rejected the certificate")
    return outcome


def _fit(uses: Mapping[str, str], allowed: Claims) -> bool:
    return all(x in allowed and goal_hash(allowed[x]) == uses[x] for x in uses)


def check_in_processes(ids: Sequence[str]) -> None:
    """Have the kernel check the certificates of many statements in one process for each processor, at most 8.

    `verify` then knows what the kernel said. For few statements, with one processor, beside other threads (such as
    those of JAX), or without forks, nothing happens, because new processes would cost more than they save.
    """
    workers = min(os.cpu_count() or 1, 8)
    alone = threading.active_count() == 1 and "jax" not in sys.modules
    forks = "fork" in multiprocessing.get_all_start_methods() and alone
    if len(ids) < 100 or workers == 1 or not forks:
        return
    for name in ids:  # the pages are read once, before the fork
        lemmas(lookup(name))
    shares = [ids[k :: 20 * workers] for k in range(20 * workers)]
    with (
        contextlib.suppress(BrokenExecutor),  # then this process checks the rest alone
        ProcessPoolExecutor(workers, multiprocessing.get_context("fork"), gc.disable) as pool,
    ):
        for found in pool.map(_checked_of, shares):
            _CHECKED.update(found)


def _checked_of(ids: Iterable[str]) -> Mapping[tuple[str, str], tuple[Mapping[str, str], Outcome | None]]:
    """Return what the kernel says of the certificates of statements, as if all claims that they use were proved."""
    before = set(_CHECKED)
    for entry in map(lookup, ids):
        for obligation in () if entry.reason else entry.obligations:
            _outcome(entry, obligation, lemmas(entry), stored)
    return {key: x for key, x in _CHECKED.items() if key not in before}


def _outcome(
    entry: Statement, obligation: Obligation, allowed: Claims, find: Find
) -> tuple[str, Outcome | None]:
    """Return the outcome of a claim. A proved theorem needs a second certificate, which refutes a changed version.

    The second certificate shows that the hypotheses can hold together, perhaps with claims that it uses. A theorem that
    is a lemma may do without a changed version, because whoever uses a lemma proves its hypotheses. On a page without
    goals no claim is only a lemma.
    """
    name = certificate_id(entry, obligation)
    place, outcome = _checked(name, obligation.goal, allowed, find)
    needed = obligation.mutation or not entry.goals or obligation.name in entry.goals
    if outcome and outcome.verdict == "PROVED" and needed and "vars" not in obligation.goal:
        changed = _checked(f"{name}.moved", obligation.mutation or {}, allowed, find)[1]
        if not changed or changed.verdict != "REFUTED":
            return place, None
        outcome = replace(outcome, uses=outcome.uses | changed.uses)
    return place, outcome


@dataclass
class _Verified:
    """The results so far, and the claims by id that each statement offers to the statements that rest on it."""

    find: Find
    results: dict[str, Result] = field(default_factory=dict)
    offered: dict[str, Claims] = field(default_factory=dict)
    granted: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The assumptions of each claim, by the id of its certificate."""

    def result(self, identity: str, path: tuple[str, ...] = ()) -> Result:
        """Return the result of a statement, after those of all statements that it needs."""
        if identity in path:
            raise ValueError(
                f"Statements must not rest on each other in a circle: {' -> '.join((*path, identity))}"
            )
        if identity not in self.results:
            entry = lookup(identity)
            result = self.derived(entry, path)
            changed = differences(entry)
            self.results[identity] = opened(result, changed) if changed else result
        return self.results[identity]

    def derived(self, entry: Statement, path: tuple[str, ...] = ()) -> Result:
        """Return the result of a statement as its page stands."""
        below = {name: self.result(name, (*path, entry.id)) for name in (*entry.parts, *entry.rests_on)}
        return derive(entry, self._outcomes(entry), below, self.granted)

    def _outcomes(self, entry: Statement) -> list[tuple[str, Outcome | None]]:
        """Check the claims of a page in their order. Each may use what was proved before it."""
        proved: dict[str, Goal] = {}
        found = []
        for obligation in entry.obligations:
            known = {k: x for name in entry.rests_on for k, x in self.offered[name].items()} | proved
            place, outcome = ("", None) if entry.reason else _outcome(entry, obligation, known, self.find)
            found += [] if entry.reason else [(place, outcome)]
            name = certificate_id(entry, obligation)
            if entry.reason or (outcome and outcome.verdict == "PROVED"):
                proved[name] = obligation.goal
            used = sorted(outcome.uses) if outcome else ()
            own = (entry.reason,) if entry.reason else ()
            self.granted[name] = (*own, *(text for x in used for text in self.granted[x]))
        self.offered[entry.id] = proved
        return found


def verify(ids: Iterable[str] | None = None) -> list[Result]:
    """Return the results for the statements with these ids, or for all, after the kernel has checked their proofs.

    A statement is OPEN if a certificate (a stored proof) is missing, stale or damaged, or if the statement differs
    from the manifest, the record of what people agreed to.

    >>> verify(["rlsvi.eq2"])[0].verdict.value
    'PROVED'

    Raises:
        KeyError: for an unknown id.
    """
    known = _Verified(stored)
    chosen = statement_ids() if ids is None else [lookup(name).id for name in ids]
    return [known.result(name) for name in chosen]


def verify_page(entry: Statement, certificates: Mapping[str, str]) -> Result:
    """Return the result of a statement that is not one of the registry, with its own certificates by their ids."""

    def find(name: str) -> Stored:
        return Stored("(this run)", certificates[name]) if name in certificates else stored(name)

    return _Verified(find).derived(entry)


def coq_status(result: Result) -> str:
    """Return `CHECKED` if Coq proved all claims of a statement again, and otherwise `NOT_CHECKED`.

    The answer is `NOT_CHECKED` for a statement that is open or assumes something. Coq may have checked all claims of an
    open statement, but such a statement may still lack a claim.
    """
    whole = result.verdict.decided and not result.assumptions
    return cross_check(lookup(result.id), lookup) if whole else NOT_CHECKED


def as_json(result: Result, coq: str = "") -> dict[str, Any]:
    """Return a result as the JSON data that ``dpproof verify --json`` prints.

    ``coq`` says whether Coq has checked the statement, for one that is not in the registry.
    """
    coq, judgement = coq or coq_status(result), result.judgement
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
        "coq_own": claims_checked(lookup(result.id)) if result.id in statement_ids() else False,
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
