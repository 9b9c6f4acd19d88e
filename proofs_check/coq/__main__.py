"""Let Coq check the recorded lemmas again: ``python -m dpproof.proofs_check.coq``. ``--search`` tries new ones.

The exit code is 0 if Coq accepts all lemmas and 1 if not. Without the program coqc nothing is checked, and the exit
code is 3, or 0 if COQ_OPTIONAL=1 is in the environment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from dpproof.proofs_check.certificates import stored
from dpproof.proofs_check.coq import record
from dpproof.proofs_check.coq.compiler import (
    CoqError,
    Lemma,
    accepted,
    compiled,
    foundations,
    source,
    strangers,
    version,
)
from dpproof.proofs_check.coq.export import UntranslatableError, lemma_name, proved, refuted
from dpproof.proofs_check.coq.script import proof, refutation
from dpproof.proofs_check.kernel import Rejected, check, goal_hash, load
from dpproof.proofs_check.registry import (
    certificate_id,
    lookup,
    statement_ids,
    statements,
)
from dpproof.proofs_check.statement import Obligation, Statement

INSTALL = "apt-get install --no-install-recommends coq libcoq-interval"
ABSENT = "make coq: {word}, coqc or its Interval library is not installed: nothing was checked by Coq here."
OPTIONAL = "COQ_OPTIONAL"
"""The environment variable with which a missing coqc is no failure. Continuous integration does not set it."""
PROBE = "From Coquelicot Require Import Coquelicot.\nFrom Interval Require Import Tactic.\n"
PROBING, STEP, ALL = 60, 10, 900  # seconds allowed for the libraries, a proof step, and the whole file
BATCH = 40


def lemma(entry: Statement, obligation: Obligation) -> Lemma:
    """Return the Coq lemma for a claim of a statement, if the kernel accepts the claim's proof (certificate).

    Raises:
        UntranslatableError: if the export does not support something in the claim or its certificate.
        Rejected: if the kernel does not accept the certificate.
        LookupError: if there is no certificate.
    """
    claim, name = obligation.goal, lemma_name(certificate_id(entry, obligation))
    certificate = load(stored(certificate_id(entry, obligation)).text)
    if "vars" not in claim:
        raise UntranslatableError("a theorem with functions and integrals")
    if check(certificate, claim).verdict == "PROVED":
        return Lemma(name, proved(claim), proof(claim, certificate["proof"]))
    return Lemma(name, refuted(claim), refutation(claim, certificate["proof"]))


def lemmas(ids: Sequence[str] = ()) -> tuple[dict[str, Lemma], dict[str, str]]:
    """Return the Coq lemmas of claims, and the reasons why some claims have no lemma.

    Both are dictionaries, whose keys are the hashes of the claims.
    """
    exported: dict[str, Lemma] = {}
    reasons: dict[str, str] = {}
    for entry in map(lookup, ids or statement_ids()):
        for obligation in entry.obligations:
            key = goal_hash(obligation.goal)
            if key in exported or key in reasons:
                continue
            try:
                exported[key] = lemma(entry, obligation)
            except (UntranslatableError, Rejected, LookupError) as error:
                reasons[key] = f"{certificate_id(entry, obligation)}: {error}"
    return exported, reasons


def _searched(ids: Sequence[str]) -> dict[str, Lemma]:
    """Return the recorded lemmas, and the other lemmas that Coq now accepts."""
    known = record.recorded()
    old = {key: x for key, x in lemmas()[0].items() if key in known}
    exported, reasons = lemmas(ids)
    new = {key: x for key, x in exported.items() if key not in old}
    for reason in reasons.values():
        print(f"not exported: {reason}")
    fresh = list(new.values())
    proved_now: set[str] = set()
    for start in range(0, len(fresh), BATCH):
        batch = fresh[start : start + BATCH]
        good = accepted(batch, STEP)
        proved_now |= good
        print("\n".join(f"not proved: {x.name}" for x in batch if x.name not in good), flush=True)
    return old | {key: x for key, x in new.items() if x.name in proved_now}


def _verify(chosen: Mapping[str, Lemma]) -> None:
    """Compile all lemmas as one file and check their assumptions.

    Raises:
        CoqError: if the file does not compile, or a lemma assumes what is not on the list.
    """
    folder = Path("build", "coq")
    assumed = foundations(compiled(source(chosen.values()), ALL, folder))
    print("axioms: " + ", ".join(sorted(assumed)))
    if foreign := strangers(assumed):
        raise CoqError(f"The proofs use assumptions that are not allowed: {', '.join(foreign)}")


def _summary(coq: str, count: int) -> str:
    every = statements()
    done = [x.id for x in every if record.status(x, lookup) == record.CHECKED]
    share = f"{len(done)} of {len(every)} statements, with all they rest on"
    return f"make coq: Coq {coq} accepts {count} lemmas: {share}, are cross-checked by Coq"


def _recorded_lemmas() -> dict[str, Lemma]:
    known = record.recorded()
    exported, reasons = lemmas()
    if broken := [reason for key, reason in reasons.items() if key in known]:
        raise CoqError(f"Recorded claims can no longer be exported: {'; '.join(broken)}")
    if stale := sorted(known[key] for key in known.keys() - exported.keys()):
        print(f"recorded for claims that are no longer made: {', '.join(stale)}")
    return {key: x for key, x in exported.items() if key in known}


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
    """Let Coq check the recorded lemmas, and return the exit code. ``--search [IDS]`` also tries new lemmas."""
    coq = _installed()
    if coq is None:
        return _absent()
    try:
        search = "--search" in arguments
        chosen = _searched([x for x in arguments if x != "--search"]) if search else _recorded_lemmas()
        _verify(chosen)
    except CoqError as error:
        print(f"make coq: FAILED: {error}")
        return 1
    if search:
        record.write(coq, {key: x.name for key, x in chosen.items()})
    print(_summary(coq, len(chosen)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
