"""Write docs/planted-faults.md: ``python -m benchmarks.planted [RECORD]``.

Answers are kept in the file RECORD, one JSON object on each line. Answers in it are not computed again.
``python -m benchmarks.planted third [RECORD]`` audits the cases of the third user alone, and writes that section.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.planted import third_page
from benchmarks.planted.page import page
from benchmarks.planted.run import answers, packages

PAGE = Path("docs/planted-faults.md")

if __name__ == "__main__":
    arguments = sys.argv[1:]
    alone = arguments[:1] == ["third"]
    record = Path(arguments[alone]) if arguments[alone:] else Path("build/planted.jsonl")
    record.parent.mkdir(parents=True, exist_ok=True)
    cases, versions = packages()
    found = answers([case for case in cases if case.author == 3 or not alone], record)
    kept = PAGE.read_text().split(third_page.TITLE)[0].rstrip() + "\n"
    first = kept if alone else "\n".join(page(cases, versions, found)) + "\n"
    PAGE.write_text(first + "\n" + "\n".join(third_page.section(cases, found)) + "\n")
