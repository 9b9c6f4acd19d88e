"""Let Coq check the recorded lemmas again: ``python -m dpproof.proofs_check.coq``. ``--search`` tries new ones.

``--labels`` checks the lemmas on which the label "cross-checked by Coq" of some statement rests, and no others.
``--labels=1/4`` takes every fourth of these statements, beginning with number 1 (from 0).

The exit code is 0 if Coq accepts all lemmas and 1 if not. Without the program coqc nothing is checked, and the exit
code is 3, or 0 if COQ_OPTIONAL=1 is in the environment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dpproof.proofs_check.coq import record
from dpproof.proofs_check.coq.claims import ERFC, EXPECTED, EXTRA, Claims
from dpproof.proofs_check.coq.compiler import (
    CoqError,
    Lemma,
    accepted,
    compiled,
    strangers,
    version,
)
from dpproof.proofs_check.coq.export import UntranslatableError
from dpproof.proofs_check.coq.files import BASE, IMPORTS, Part, assumptions, built, locked, packed
from dpproof.proofs_check.kernel import Rejected
from dpproof.proofs_check.registry import lookup, statements
from dpproof.proofs_check.statement import Statement

INSTALL = "apt-get install --no-install-recommends coq libcoq-interval"
ABSENT = "make coq: {word}, coqc or its Interval library is not installed: nothing was checked by Coq here."
OPTIONAL = "COQ_OPTIONAL"
"""The environment variable with which a missing coqc is no failure. Continuous integration does not set it."""
PROBE = "From Coquelicot Require Import Coquelicot.\nFrom Interval Require Import Tactic.\n"
PROBING, STEP, THEOREM, ALL = 60, 20, 300, 900
"""Seconds for the libraries, a step, a new file, a recorded file."""
CACHE = "DPPROOF_COQ_CACHE"
"""The environment variable with the folder of compiled files. What did not change there is not compiled again."""
FOLDER = Path(os.environ.get(CACHE) or Path("build", "coq"))
BATCH = 20


def _verify(parts: Sequence[Part], folder: Path = FOLDER) -> None:
    """Compile all lemmas and check their assumptions.

    Raises:
        CoqError: if a file does not compile, or a lemma assumes what is not on the list.
    """
    if wrong := built(parts, folder, ALL):
        name, error = min(wrong.items(), key=lambda x: x[1].startswith("it needs"))
        raise CoqError(f"{name}: {error}")
    assumed = assumptions(parts, folder, ALL)
    print("axioms: " + ", ".join(sorted(assumed)))
    if foreign := strangers(assumed):
        raise CoqError(f"The proofs use assumptions that are not allowed: {', '.join(foreign)}")


def _searched(ids: Sequence[str]) -> tuple[list[Part], set[str]]:
    """Return the recorded lemmas and the other lemmas that Coq now accepts, and which of them need more tactics."""
    claims, known = Claims(), record.recorded()
    extra = {*record.extra()}
    chosen = claims.closure(ids) if ids else list(claims.all)
    fresh = [x for x in chosen if claims.is_arithmetic(x) and claims.key(x) not in known]
    held, failed = {*known}, list[str]()
    for more in (False, True):
        failed = _tried(claims, dict.fromkeys(claims.first[claims.key(x)] for x in fresh), more)
        now = {claims.key(x) for x in fresh} - {claims.key(x) for x in failed}
        held |= now
        extra |= now if more else set()
        fresh = failed
    print("".join(f"not proved: {x}\n" for x in failed), end="", flush=True)
    wanted, lost = {*chosen, *claims.recorded(known)}, set[str]()
    while True:
        parts, reasons = claims.parts(held, wanted, extra, lost)
        wrong = built(parts, FOLDER, THEOREM)
        direct = {
            key for x in parts if x.name in wrong for key in x.claims if "it needs" not in wrong[x.name]
        }
        lost |= direct & extra
        if not direct - lost:
            break
        extra |= direct
    for reason in reasons.values():
        print(f"not exported: {reason}")
    for name, why in wrong.items():
        print(f"not proved: {name}: {why.splitlines()[0]}")
    print("".join(f"not proved: {claims.first[key]}\n" for key in lost), end="")
    good = [x for x in parts if x.name not in wrong]
    return good, {key for x in good if EXTRA in x.needs for key in x.claims}


def _tried(claims: Claims, ids: Iterable[str], extra: bool) -> list[str]:
    """Return the claims of arithmetic that Coq does not accept."""
    lemmas: dict[str, list[Lemma]] = {}
    failed = []
    for identity in ids:
        try:
            if extra or not claims.needs_extra(identity):
                lemmas[identity] = claims.arithmetic(identity, extra)
            else:
                failed.append(identity)
        except (UntranslatableError, Rejected, LookupError) as error:
            failed.append(identity)
            if extra:
                print(f"not exported: {identity}: {error}")
    heads, _ = claims.parts((), ())
    built(heads, FOLDER, ALL)
    needs = "".join(f"Require Import {x}.\n" for x in (BASE, EXPECTED, *[EXTRA] * extra, ERFC))
    rows = list(lemmas.items())
    batches = [rows[start : start + BATCH] for start in range(0, len(rows), BATCH)]

    def lost(batch: Sequence[tuple[str, list[Lemma]]]) -> list[str]:
        good = accepted((x for _, found in batch for x in found), STEP, IMPORTS + needs, FOLDER)
        return [identity for identity, found in batch if found[-1].name not in good]

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for found in pool.map(lost, batches):
            failed += found
            print(f"not proved {'with' if extra else 'without'} more tactics: {' '.join(found)}", flush=True)
    return failed


def _summary(coq: str, count: int, labelled: Sequence[Statement] | None) -> str:
    if labelled is not None:
        return f"make coq: Coq {coq} accepts {count} lemmas, those behind the labels of {len(labelled)} statements"
    every = statements()
    done = [x.id for x in every if record.status(x, lookup) == record.CHECKED]
    share = f"{len(done)} of {len(every)} statements, with all they rest on"
    return f"make coq: Coq {coq} accepts {count} lemmas: {share}, are cross-checked by Coq"


def _labelled(share: str) -> list[Statement]:
    """Return the statements whose label is checked. The share, such as "1/4", says which and how many."""
    begin, every = map(int, (share or "0/1").split("/"))
    return [x for x in statements() if record.status(x, lookup) == record.CHECKED][begin::every]


def _recorded(labelled: Sequence[Statement] | None = None) -> list[Part]:
    claims, known = Claims(), record.recorded()
    if labelled is not None:
        needed = record.labelled(labelled, lookup)
        known = {key: name for key, name in known.items() if key in needed}
    parts, reasons = claims.parts({*known}, claims.recorded(known), record.extra())
    if reasons:
        raise CoqError(f"Recorded claims can no longer be exported: {'; '.join(reasons.values())}")
    if stale := sorted(known[key] for key in known.keys() - claims.keys()):
        print(f"recorded for claims that are no longer made: {', '.join(stale)}")
    return parts


def _installed() -> str | None:
    """Return the version of coqc if it has the Interval library, and otherwise None."""
    try:
        compiled(PROBE, PROBING)
    except (CoqError, OSError):
        return None
    return version()


def _absent() -> int:
    """Report that there is no coqc. Return 0 if that is allowed, otherwise 3."""
    allowed = os.environ.get(OPTIONAL, "") not in ("", "0")
    print(ABSENT.format(word="SKIPPED" if allowed else "FAILED"))
    print(f"  {INSTALL}" + ("" if allowed else f", or set {OPTIONAL}=1 to go on without it"))
    return 0 if allowed else 3


def main(arguments: Sequence[str] = ()) -> int:
    """Let Coq check the recorded lemmas, and return the exit code. For the options see the module."""
    coq = _installed()
    if coq is None:
        return _absent()
    given = next((x for x in arguments if x.startswith("--labels")), None)
    labelled = None if given is None else _labelled(given.partition("=")[2])
    try:
        with locked(FOLDER):
            search = "--search" in arguments
            extra = set[str]()
            if search:
                parts, extra = _searched([x for x in arguments if x != "--search"])
            else:
                parts = packed(_recorded(labelled))
            _verify(parts)
    except CoqError as error:
        print(f"make coq: FAILED: {error}")
        return 1
    names = {key: name for part in parts for key, name in part.claims.items()}
    if search:
        record.write(coq, names, extra)
    print(_summary(coq, len(names), labelled))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
