"""Let Coq check the recorded lemmas again: ``python -m dpproof.proofs_check.coq``. ``--search`` tries new ones.

The exit code is 0 if Coq accepts all lemmas and 1 if not. Without the program coqc nothing is checked, and the exit
code is 3, or 0 if COQ_OPTIONAL=1 is in the environment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from dpproof.proofs_check.coq import record
from dpproof.proofs_check.coq.claims import Claims
from dpproof.proofs_check.coq.compiler import (
    CoqError,
    Lemma,
    accepted,
    compiled,
    foundations,
    strangers,
    version,
)
from dpproof.proofs_check.coq.export import UntranslatableError
from dpproof.proofs_check.coq.files import Part, assumptions, built
from dpproof.proofs_check.kernel import Rejected
from dpproof.proofs_check.registry import lookup, statements

INSTALL = "apt-get install --no-install-recommends coq libcoq-interval"
ABSENT = "make coq: {word}, coqc or its Interval library is not installed: nothing was checked by Coq here."
OPTIONAL = "COQ_OPTIONAL"
"""The environment variable with which a missing coqc is no failure. Continuous integration does not set it."""
PROBE = "From Coquelicot Require Import Coquelicot.\nFrom Interval Require Import Tactic.\n"
PROBING, STEP, THEOREM, ALL = (
    60,
    10,
    150,
    900,
)  # seconds for the libraries, a step, a new file, a recorded file
FOLDER = Path("build", "coq")
BATCH = 40


def _verify(parts: Sequence[Part], folder: Path = FOLDER) -> None:
    """Compile all lemmas and check their assumptions.

    Raises:
        CoqError: if a file does not compile, or a lemma assumes what is not on the list.
    """
    if wrong := built(parts, folder, ALL):
        name, error = min(wrong.items(), key=lambda x: x[1].startswith("it needs"))
        raise CoqError(f"{name}: {error}")
    assumed = foundations(assumptions(parts, folder, ALL))
    print("axioms: " + ", ".join(sorted(assumed)))
    if foreign := strangers(assumed):
        raise CoqError(f"The proofs use assumptions that are not allowed: {', '.join(foreign)}")


def _searched(ids: Sequence[str]) -> list[Part]:
    """Return the recorded lemmas, and the other lemmas that Coq now accepts."""
    claims, known = Claims(), record.recorded()
    chosen = claims.closure(ids) if ids else list(claims.all)
    fresh: dict[str, Lemma] = {}
    for identity in chosen:
        if claims.is_arithmetic(identity) and claims.key(identity) not in known:
            try:
                fresh[claims.key(identity)] = claims.arithmetic(identity)
            except (UntranslatableError, Rejected, LookupError) as error:
                print(f"not exported: {identity}: {error}")
    lemmas, proved_now = list(fresh.values()), set()
    for start in range(0, len(lemmas), BATCH):
        batch = lemmas[start : start + BATCH]
        proved_now |= (good := accepted(batch, STEP))
        print("\n".join(f"not proved: {x.name}" for x in batch if x.name not in good), flush=True)
    held = {*known, *(key for key, x in fresh.items() if x.name in proved_now)}
    parts, reasons = claims.parts(held, {*chosen, *claims.recorded(known)})
    for reason in reasons.values():
        print(f"not exported: {reason}")
    wrong = built(parts, FOLDER, THEOREM)
    for name, error in wrong.items():
        print(f"not proved: {name}: {error.splitlines()[0] if error else ''}")
    return [x for x in parts if x.name not in wrong]


def _summary(coq: str, count: int) -> str:
    every = statements()
    done = [x.id for x in every if record.status(x, lookup) == record.CHECKED]
    share = f"{len(done)} of {len(every)} statements, with all they rest on"
    return f"make coq: Coq {coq} accepts {count} lemmas: {share}, are cross-checked by Coq"


def _recorded() -> list[Part]:
    claims, known = Claims(), record.recorded()
    parts, reasons = claims.parts({*known}, claims.recorded(known))
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
    """Let Coq check the recorded lemmas, and return the exit code. ``--search [IDS]`` also tries new lemmas."""
    coq = _installed()
    if coq is None:
        return _absent()
    try:
        search = "--search" in arguments
        parts = _searched([x for x in arguments if x != "--search"]) if search else _recorded()
        _verify(parts)
    except CoqError as error:
        print(f"make coq: FAILED: {error}")
        return 1
    names = {key: name for part in parts for key, name in part.claims.items()}
    if search:
        record.write(coq, names)
    print(_summary(coq, len(names)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
