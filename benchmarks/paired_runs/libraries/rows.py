"""The rows of the libraries that are installed beside this interpreter, one JSON object a line."""

from __future__ import annotations

import json
import sys
import time
import warnings
from importlib import import_module

LIBRARIES = ("dpmm", "mbi", "synthcity")


def main(names: list[str]) -> None:
    """Print the rows of the named libraries; a library that is missing has no row.

    A name such as ``mbi:worst`` selects the cases whose change contains the second word.
    """
    warnings.simplefilter("ignore")
    for asked in names or LIBRARIES:
        name, _, part = asked.partition(":")
        try:
            found = list(import_module(f"benchmarks.paired_runs.libraries.of_{name}").cases())
        except ImportError as error:
            print(f"{name}: skipped ({error})", file=sys.stderr)
            continue
        for case in found:
            if part not in case.change:
                continue
            begun = time.perf_counter()
            print(json.dumps(case.row()), flush=True)
            print(
                case.mechanism,
                case.change,
                f"{time.perf_counter() - begun:.1f} s",
                file=sys.stderr,
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
