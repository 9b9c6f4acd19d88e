"""Run the cases as a user would: ``dpproof.audit`` on the data and ``dpproof.compare_runs`` on one pair."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import dpproof
from benchmarks.planted.case import Case

PACKAGES = {
    "diffprivlib": ("diffprivlib_cases", "diffprivlib_third", "diffprivlib_third_narrow"),
    "python-dp": ("pydp_cases", "pydp_third", "pydp_third_narrow", "pydp_third_unusual", "fourth"),
    "opendp": ("opendp_cases", "opendp_third"),
    "pipeline-dp": ("pipeline_dp_third",),
    "multi-freq-ldpy": ("multi_freq_ldpy_third", "multi_freq_ldpy_third_narrow"),
}
SECONDS = {True: 120.0, False: 60.0}
THIRD = {True: 180.0, False: 60.0}
Answer = dict[str, Any]


def packages() -> tuple[list[Case], dict[str, str]]:
    """Return the cases of the packages that are installed, and each package's version or why it is skipped."""
    cases: list[Case] = []
    versions = {}
    for package, modules in PACKAGES.items():
        try:
            cases += [case for name in modules for case in import_module(f"benchmarks.planted.{name}").CASES]
            versions[package] = metadata.version(package)
        except ImportError as missing:
            versions[package] = f"skipped ({missing})"
    return cases, versions


def answers(cases: list[Case], record: Path) -> dict[str, Answer]:
    """Return the answers by name. Each is added to the record at once; those in it are not computed again."""
    lines = record.read_text().splitlines() if record.exists() else []
    known = {answer["name"]: answer for answer in map(json.loads, lines)}
    for case in cases:
        if key(case) not in known:
            known[key(case)] = {"name": key(case), "audit": _audit(case), "paired": _paired(case)}
            with record.open("a") as file:
                file.write(json.dumps(known[key(case)]) + "\n")
    return known


def key(case: Case) -> str:
    """The name of a case in the record."""
    return f"{case.package} {case.name}"


def seconds(case: Case) -> float:
    """The time budget of the audit of a case: the third user gives more time, so that the power can be measured."""
    return (THIRD if case.author == 3 else SECONDS)[bool(case.fault)]


def _audit(case: Case) -> Answer:
    def run(data: Any, rng: object) -> object:
        return case.run(data)

    return _asked(
        lambda: dpproof.audit(
            run,
            case.data,
            adjacency=case.relation,
            epsilon=case.claim[0],
            delta=case.claim[1],
            seeded=False,
            arithmetic="real",
            seconds=seconds(case),
            claim=case.name,
            **case.options,
        ).as_json()
    )


def _paired(case: Case) -> Answer:
    if case.author == 3:
        return {"verdict": "not run"}

    def compare() -> Answer:
        epsilon, delta = case.claim
        found = dpproof.compare_runs(case.run, case.data, case.neighbour(), epsilon=epsilon, delta=delta)
        return {"verdict": found.answer.value, "words": str(found)}

    return _asked(compare)


def _asked(ask: Callable[[], Answer]) -> Answer:
    begun = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = ask()
    except Exception as error:  # whatever a user would see is the answer
        answer = {"verdict": "error", "words": f"{type(error).__name__}: {error}"}
    return answer | {"seconds": time.perf_counter() - begun}
