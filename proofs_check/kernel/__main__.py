"""Check certificate files again: ``python -m dpproof.proofs_check.kernel FILE...``.

A file has one certificate on each line, or one certificate; ``FILE:12`` means its line 12.

Exit code 0 if every file is accepted, 1 if one is rejected, 2 if one cannot be read. A file is checked against
the claim that it carries. The registry is responsible for this claim being the paper's.
"""

import sys
from pathlib import Path

from dpproof.proofs_check.kernel.arithmetic import Rejected
from dpproof.proofs_check.kernel.certificate import check, goal_hash, load


def main(paths: list[str]) -> int:
    """Check the certificates and print one line for each."""
    worst = 0 if paths else 2
    for path in paths:
        try:
            found = _certificates(path)
        except (OSError, UnicodeDecodeError, IndexError) as error:
            print(f"{path}: unreadable: {error}")
            worst = 2
            continue
        worst = max([worst, *(_one(place, text) for place, text in found)])
    return worst


def _certificates(path: str) -> list[tuple[str, str]]:
    """Where the certificates of a file stand, and their texts."""
    name, _, line = path.rpartition(":")
    if name and line.isdecimal():
        return [(path, Path(name).read_text(encoding="utf-8").splitlines()[int(line) - 1])]
    text = Path(path).read_text(encoding="utf-8")
    if not path.endswith(".jsonl"):
        return [(path, text)]
    return [(f"{path}:{number}", part) for number, part in enumerate(text.splitlines(), 1)]


def _one(path: str, text: str) -> int:
    try:
        certificate = load(text)
        claim = certificate["claim"]
    except (Rejected, KeyError, TypeError, IndexError) as error:
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
