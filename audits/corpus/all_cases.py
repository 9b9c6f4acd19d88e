"""All cases of the corpus (mechanisms with known answers), from every module of this folder.

Each module lists its cases in ``CASES``. ``PLACE`` is the place of the module in the order. ``PAPER`` is the paper
whose mechanisms it tests. ``QUICK`` lists the cases that take seconds; if it is missing, all cases do.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from dpproof.audits.corpus.case import CorpusCase


@cache
def all_cases() -> tuple[CorpusCase, ...]:
    """Return all test cases of the corpus, in the order of their modules."""
    return tuple(case for module in _modules() for case in module.CASES)


def cases_of_paper(paper: str) -> tuple[CorpusCase, ...]:
    """Return the cases that test a paper's mechanisms and take only seconds."""
    found = [module for module in _modules() if getattr(module, "PAPER", None) == paper]
    return tuple(
        case
        for module in found
        for case in module.CASES
        if case.name in getattr(module, "QUICK", (case.name,))
    )


def _modules() -> list[ModuleType]:
    """Return the modules with cases. They are found by their source, because other modules may need torch."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    named = [file.stem for file in files if "\nCASES" in file.read_text(encoding="utf-8")]
    modules = (import_module(f"{__package__}.{name}") for name in named)
    return sorted(modules, key=lambda one: getattr(one, "PLACE", 99))


def case_named(name: str) -> CorpusCase:
    """Return the case with this name.

    Raises:
        ValueError: there is no such case.
    """
    for case in all_cases():
        if case.name == name:
            return case
    raise ValueError(f"case ({name!r}) must be one of: {', '.join(c.name for c in all_cases())}")
