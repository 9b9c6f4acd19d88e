"""A fuzzer on the reader of claim files: ``python -m benchmarks.fuzz_claim_files --minutes 10``.

Claim files of the examples are cut, joined and mutated. Whatever comes out is read, or refused by a
ValueError, or by one printable line for each claim; anything else is a finding, shown with its file.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from dpproof.answers.audit import check_ready
from dpproof.claim_file import read_all

ROOT = Path(__file__).resolve().parents[1]
WORDS = """[[claim]] [claim] [budget] nan inf -inf true 1e400 0x1f -1 1979-05-27 claim mechanism parameters
adjacency epsilon delta rho mu trust audit command event training neighbours seconds alpha "math:pi" "a:b"
"rlsvi" "gaussian" "replace" "add-remove"""
TOKENS = (
    *"[]{}=\"'#,.\n\\:-+e0123456789 \u2028\ufeff\ud7ff\x00",
    *WORDS.split(),
    *('"""', "'''", "\r\n", "9" * 400, "[" * 300),
)


def mutated(text: str, rng: random.Random) -> str:
    """The text after a few cuts, insertions and swaps."""
    for _ in range(rng.choice((1, 1, 2, 4, 12))):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice((0, 1, 1, 4, 30)))
        text = text[:start] + rng.choice((rng.choice(TOKENS), text[start:end] * 2, "")) + text[end:]
    return text


def lines_joined(texts: list[str], rng: random.Random) -> str:
    """Lines of several files, in any order."""
    lines = [line for text in texts for line in text.splitlines(keepends=True)]
    return "".join(rng.choice(lines) for _ in range(rng.randrange(1, 40)))


def finding(path: Path) -> str | None:
    """What is wrong with how the file is read; None if nothing is."""
    try:
        reading = read_all(path, check_ready)
    except ValueError as error:
        return None if str(error).splitlines()[0].isprintable() else f"not printable: {error!r}"
    except OSError:
        return None
    except BaseException:
        return traceback.format_exc()
    for refusal in reading.refusals:
        if not str(refusal).isprintable():
            return f"not one printable line: {str(refusal)!r}"
    return None


def main(sleep: Callable[[], float] = time.monotonic) -> int:
    """Fuzz for the given minutes; 1 if something was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng, until, done, found = random.Random(given.seed), sleep() + 60 * given.minutes, 0, 0
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").rglob("*.toml"))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "claims.toml")
        while sleep() < until:
            text = mutated(rng.choice(texts) if rng.random() < 0.7 else lines_joined(texts, rng), rng)
            path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
            done += 1
            if (said := finding(path)) is not None:
                found += 1
                print(f"--- finding {found}\n{text!r}\n{said}", flush=True)
    print(f"{done} files read in {given.minutes:g} minutes, {found} findings")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
