"""Re-check certificate files: ``python -m dpproof.proofs_check.kernel FILE...``.

Exit code 0 if every file is accepted, 1 if one is rejected, 2 if one cannot be read. A file is checked
against the claim it carries; that the claim is the paper's is the registry's business.
"""

import sys
from pathlib import Path

from dpproof.proofs_check.kernel.arithmetic import Rejected
from dpproof.proofs_check.kernel.certificate import check, goal_hash, load


def main(paths: list[str]) -> int:
    """Check the files and print one line for each."""
    worst = 0 if paths else 2
    for path in paths:
        worst = max(worst, _one(path))
    return worst


def _one(path: str) -> int:
    try:
        certificate = load(Path(path).read_text(encoding="utf-8"))
        claim = certificate["claim"]
    except (OSError, UnicodeDecodeError, Rejected, KeyError, TypeError, IndexError) as error:
        print(f"{path}: unreadable: {error}")
        return 2
    try:
        verdict = check(certificate, claim).verdict
        print(f"{path}: {verdict} {certificate['id']}, claim {goal_hash(claim)}")
    except Rejected as reason:
        print(f"{path}: rejected: {reason}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
