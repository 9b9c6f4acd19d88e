"""Check certificate files: ``python -m dpproof.proofs_check.kernel FILE...``.

A ``.jsonl`` file has one certificate on each line. Any other file has one certificate. ``FILE:12`` means line 12. A
file of the package, such as ``rlsvi.jsonl``, needs no folder.

The exit code is 0 if every certificate is accepted, 1 if one is rejected, 2 if one cannot be read. A certificate is
checked against the claim in its own file. Only the registry compares this claim with the claim in the paper. A
certificate that uses other claims names them with their hashes. Their certificates are looked up in the folder of the
package and in the given files, and are checked first. The answer marks the claims that are assumed and have no
certificate. A certificate of a number (`dpproof.proofs_check.kernel.numbers`) is checked likewise.
"""

import sys
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from dpproof.proofs_check.kernel.arithmetic import Rejected
from dpproof.proofs_check.kernel.certificate import check, goal_hash, load
from dpproof.proofs_check.kernel.numbers import check_number

FOLDER = Path(__file__).parent.parent / "certificates"
NAMES = ", ".join(sorted(file.name for file in FOLDER.glob("*.jsonl")))
USAGE = f"""usage: python -m dpproof.proofs_check.kernel FILE[:LINE]...
Check certificates again. FILE is a path, or one of: {NAMES}"""


def main(paths: list[str]) -> int:
    """Check the certificates (proofs) in these files, print one line for each, and return the exit code."""
    if not paths or {"-h", "--help"} & set(paths):
        print(USAGE)
        return 0 if paths else 2
    worst, library = 0, Library(paths)
    for path in paths:
        try:
            found = _certificates(path)
        except (OSError, UnicodeDecodeError, IndexError) as error:
            print(f"{path}: unreadable: {getattr(error, 'strerror', None) or error}")
            worst = 2
            continue
        worst = max([worst, *(_one(place, text, library) for place, text in found)])
    return worst


def _certificates(path: str) -> list[tuple[str, str]]:
    """Where the certificates of a file stand, and their texts."""
    name, _, line = path.rpartition(":")
    if name and line.isdecimal():
        lines = _text(name).splitlines()
        if not 1 <= int(line) <= len(lines):
            raise IndexError(f"the file has no line {line}, only lines 1 to {len(lines)}")
        return [(path, lines[int(line) - 1])]
    text = _text(path)
    if not path.endswith(".jsonl"):
        return [(path, text)]
    return [(f"{path}:{number}", part) for number, part in enumerate(text.splitlines(), 1)]


def _text(name: str) -> str:
    """Return the text of a file. A name that is no path is that of a file in the package."""
    stored = FOLDER / name.removeprefix("proofs_check/certificates/")
    return (Path(name) if Path(name).exists() or stored.parent != FOLDER else stored).read_text(
        encoding="utf-8"
    )


class Library:
    """The certificates of the package and of some files, by id, and the claims that are known to be proved."""

    def __init__(self, files: list[str]) -> None:
        self.places = [*map(str, sorted(FOLDER.glob("*.jsonl"))), *(x.rpartition(":")[0] or x for x in files)]
        self.assumed: dict[str, Any] = load((FOLDER / "assumed.json").read_text(encoding="utf-8"))
        self.proved = dict(self.assumed)
        self.below = {name: {name} for name in self.assumed}
        """The assumed claims that the proof of each claim uses, directly or not."""

    @cached_property
    def rows(self) -> dict[str, Any]:
        """The certificates by id. Those that cannot be read are left out."""
        found: dict[str, Any] = {}
        for place in self.places:
            with suppress(OSError, UnicodeDecodeError):
                for _, text in _certificates(place):
                    with suppress(Rejected, KeyError, TypeError):
                        row = load(text)
                        found[row["id"]] = row
        return found

    def used(self, certificate: Any, above: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return the claims that a certificate uses, after the kernel has accepted certificates that prove them.

        Raises:
            Rejected: if one of them has no certificate, is refuted, or uses itself. ``above`` are the claims whose
                certificates use this one.
        """
        for name in certificate.get("uses", {}):
            if name in above:
                raise Rejected(f"{name} is used in its own proof")
            if name not in self.proved:
                row = self.rows.get(name, {"claim": None})
                if check(row, row["claim"], self.used(row, (*above, name))).verdict != "PROVED":
                    raise Rejected(f"it uses {name}, which is refuted")
                self.proved[name] = row["claim"]
                self.below[name] = set().union(*(self.below[x] for x in row.get("uses", {})))
        return {name: self.proved[name] for name in certificate.get("uses", {})}


def _one(path: str, text: str, library: Library) -> int:
    try:
        certificate = load(text)
    except Rejected as error:
        print(f"{path}: unreadable: {error}")
        return 2
    if type(certificate) is dict and "number" in certificate:
        return _number(path, certificate)
    try:
        claim, identity = certificate["claim"], certificate["id"]
        used = library.used(certificate, (identity,))
        verdict = check(certificate, claim, used).verdict
    except (Rejected, RecursionError) as reason:
        print(f"{path}: rejected: {reason}")
        return 1
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        print(f"{path}: unreadable: {error}")
        return 2
    assumed = set().union(*(library.below[name] for name in used))
    names = [name + " (assumed)" * (name in assumed) for name in sorted({*used, *assumed})]
    given = f", given {', '.join(names)}" if names else ""
    print(f"{path}: {verdict} {identity}, claim {goal_hash(claim)}{given}")
    return 0


def _number(path: str, certificate: object) -> int:
    try:
        found = check_number(certificate)
    except Rejected as reason:
        print(f"{path}: rejected: {reason}")
        return 1
    print(f"{path}: accepted {found.id}, epsilon at most {found.epsilon} at delta {found.delta}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
