"""Write the certificates of the statements with the given ids: ``python -m proofs_check.find [IDS]``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from proofs_check.provers.search import certificate, prove, refute
from proofs_check.registry import ROOT, certificate_id, certificate_path, lookup, statement_ids
from proofs_check.statement import Obligation, Statement

__all__ = ["main"]


def _text(entry: Statement, obligation: Obligation) -> str | None:
    """The certificate of an obligation as JSON text, or None if the search finds nothing."""
    identity = certificate_id(entry, obligation)
    hint = obligation.hint
    proof, verdict = (None if hint and "point" in hint else prove(obligation.claim, hint)), "PROVED"
    if proof is None:
        proof, verdict = (hint if hint and "point" in hint else refute(obligation.claim)), "REFUTED"
    if proof is None:
        return None
    return (
        json.dumps(certificate(identity, obligation.claim, verdict, proof), indent=1, sort_keys=True) + "\n"
    )


def main(ids: Sequence[str] = ()) -> int:
    """Search for every obligation and write what is found; 1 if something stays open."""
    missing = 0
    for entry in map(lookup, ids or statement_ids()):
        for obligation in entry.obligations:
            text, path = _text(entry, obligation), ROOT / certificate_path(entry, obligation)
            print(f"{certificate_id(entry, obligation)}: {'open' if text is None else 'found'}")
            if text is None:
                missing = 1
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return missing


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
