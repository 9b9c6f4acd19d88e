"""Write docs/planted-faults.md: ``python -m benchmarks.planted [RECORD]``.

Answers are kept in the file RECORD, one JSON object on each line. Answers in it are not computed again.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.planted.page import page
from benchmarks.planted.run import answers, packages

if __name__ == "__main__":
    cases, versions = packages()
    record = Path(sys.argv[1]) if sys.argv[1:] else Path("build/planted.jsonl")
    record.parent.mkdir(parents=True, exist_ok=True)
    found = answers(cases, record)
    Path("docs/planted-faults.md").write_text("\n".join(page(cases, versions, found)) + "\n")
