"""The whole corpus of cases, by kind of mechanism: the ``CASES`` of every module of this folder.

``PLACE`` gives the order of the modules. ``PAPER`` names the paper whose own mechanisms are the cases of a
module. ``QUICK`` lists the cases that take seconds, where not all of them do.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from dpproof.audits.corpus.case import CorpusCase


@cache
def all_cases() -> tuple[CorpusCase, ...]:
    """Every case, in order."""
    return tuple(case for module in _modules() for case in module.CASES)


def cases_of_paper(paper: str) -> tuple[CorpusCase, ...]:
    """The cases on a paper's own mechanisms that take seconds."""
    found = [module for module in _modules() if getattr(module, "PAPER", None) == paper]
    return tuple(
        case
        for module in found
        for case in module.CASES
        if case.name in getattr(module, "QUICK", (case.name,))
    )


def _modules() -> list[ModuleType]:
    """The modules, told by their text: one that holds faults only may need torch."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    named = [file.stem for file in files if "\nCASES" in file.read_text(encoding="utf-8")]
    modules = (import_module(f"{__package__}.{name}") for name in named)
    return sorted(modules, key=lambda one: getattr(one, "PLACE", 99))


def case_named(name: str) -> CorpusCase:
    """The case of this name.

    Raises:
        ValueError: there is none.
    """
    for case in all_cases():
        if case.name == name:
            return case
    raise ValueError(f"case ({name!r}) must be one of the corpus: {', '.join(c.name for c in all_cases())}")
