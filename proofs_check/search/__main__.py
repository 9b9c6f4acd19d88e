"""Write the certificates of the statements with the given ids: ``python -m dpproof.proofs_check.search [IDS]``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from dpproof.accountant.claims.spelling import nearest
from dpproof.proofs_check.certificates import keep
from dpproof.proofs_check.registry import FORMER, certificate_id, folder_of, lookup, statement_ids
from dpproof.proofs_check.search.provers import certificate, prove, refute
from dpproof.proofs_check.statement import Obligation, Statement


def _text(entry: Statement, obligation: Obligation) -> str | None:
    """The certificate of an obligation as one line of JSON, or None if the search finds nothing."""
    identity = certificate_id(entry, obligation)
    hint = obligation.hint
    proof, verdict = (None if hint and "point" in hint else prove(obligation.goal, hint)), "PROVED"
    if proof is None:
        proof, verdict = (hint if hint and "point" in hint else refute(obligation.goal)), "REFUTED"
    if proof is None:
        return None
    return json.dumps(certificate(identity, obligation.goal, verdict, proof), sort_keys=True)


def _search(identity: str) -> list[tuple[str, str, str | None]]:
    """For each obligation of a statement its paper, its certificate's id, and what the search found."""
    entry = lookup(identity)
    return [(folder_of(entry.id), certificate_id(entry, x), _text(entry, x)) for x in entry.obligations]


def main(ids: Sequence[str] = ()) -> int:
    """Search for every obligation and write what is found; 1 if something stays open, 2 for an unknown id."""
    for identity in ids:
        if identity not in {*statement_ids(), *FORMER}:
            known = statement_ids(f"{identity.partition('.')[0]}.") or statement_ids()
            rule = f"must be a statement id: {', '.join(known)}{nearest(identity, known)}"
            print(f"id ({identity!r}) {rule}", file=sys.stderr)
            return 2
    with ProcessPoolExecutor() as executor:
        found = [row for rows in executor.map(_search, ids or statement_ids()) for row in rows]
    for paper in {paper for paper, _, _ in found}:
        keep(paper, {name: text for home, name, text in found if home == paper and text is not None})
    for _, name, text in found:
        print(f"{name}: {'open' if text is None else 'found'}")
    return int(any(text is None for _, _, text in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
