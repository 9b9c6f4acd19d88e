"""Check certificate files: ``python -m dpproof.proofs_check.kernel FILE...``.

A ``.jsonl`` file has one certificate on each line. Any other file has one certificate. ``FILE:12`` means line 12. A
file of the package, such as ``rlsvi.jsonl``, needs no folder.

The exit code is 0 if every certificate is accepted, 1 if one is rejected, 2 if one cannot be read. A certificate is
checked against the claim in its own file. Only the registry compares this claim with the claim in the paper. A
certificate that uses other claims names them with their hashes. They are looked up in the folder of the package and
in the given files; check their certificates, too. The answer marks those that are assumed and have no certificate.
"""

import sys
from functools import cache
from pathlib import Path

from dpproof.proofs_check.kernel.arithmetic import Rejected
from dpproof.proofs_check.kernel.certificate import check, goal_hash, load

FOLDER = Path(__file__).parent.parent / "certificates"
NAMES = ", ".join(sorted(file.name for file in FOLDER.glob("*.jsonl")))
USAGE = f"""usage: python -m dpproof.proofs_check.kernel FILE[:LINE]...
Check certificates again. FILE is a path, or one of: {NAMES}"""


def main(paths: list[str]) -> int:
    """Check the certificates (proofs) in these files, print one line for each, and return the exit code."""
    if not paths or {"-h", "--help"} & set(paths):
        print(USAGE)
        return 0 if paths else 2
    worst = 0
    for path in paths:
        try:
            found = _certificates(path)
        except (OSError, UnicodeDecodeError, IndexError) as error:
            print(f"{path}: unreadable: {getattr(error, 'strerror', None) or error}")
            worst = 2
            continue
        worst = max([worst, *(_one(place, text, paths) for place, text in found)])
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


@cache
def _claims(files: tuple[str, ...]) -> dict[str, object]:
    """Return the claims by id that these files, and those of the package, have certificates of; and assumed claims."""
    places = [*map(str, sorted(FOLDER.glob("*.jsonl"))), *(x.rpartition(":")[0] or x for x in files)]
    rows = (load(text) for place in places for _, text in _certificates(place))
    return {row["id"]: row["claim"] for row in rows} | _assumed()


@cache
def _assumed() -> dict[str, object]:
    """Return the claims that the package assumes, by id. They have no certificates."""
    claims: dict[str, object] = load((FOLDER / "assumed.json").read_text(encoding="utf-8"))
    return claims


def _one(path: str, text: str, files: list[str]) -> int:
    try:
        certificate = load(text)
        claim = certificate["claim"]
        wanted = certificate.get("uses", {})
        used = (
            {name: claim for name, claim in _claims(tuple(files)).items() if name in wanted} if wanted else {}
        )
    except (Rejected, KeyError, TypeError, IndexError) as error:
        print(f"{path}: unreadable: {error}")
        return 2
    try:
        verdict = check(certificate, claim, used).verdict
        names = [name + " (assumed)" * (name in _assumed()) for name in sorted(used)]
        given = f", given {', '.join(names)}" if names else ""
        print(f"{path}: {verdict} {certificate['id']}, claim {goal_hash(claim)}{given}")
    except Rejected as reason:
        print(f"{path}: rejected: {reason}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
