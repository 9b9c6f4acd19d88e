"""The table of a package: its private mechanisms, their parameters, and data sets on which they are audited.

An entry names one mechanism with fixed parameters. A package's documentation rarely states the neighbouring relation,
so an entry on data sets gives one claim for each relation that the documentation could mean. A noise primitive takes
the result of a query, so its only relation is "by-sensitivity".
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.data.pairs import Neighbours

DATA = (Adjacency.ADD_REMOVE, Adjacency.REPLACE)
"""The relations that a claim about data sets could mean."""
PACKAGES = f"{__package__}.packages"
Sampler = Callable[[Any, int, np.random.Generator], Any]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One mechanism of a package, with parameters and inputs.

    Attributes:
        name: the name in the package, with a word on the parameters if the package has several entries of this name.
        sampler: a function ``(data, n, rng)``. It must be a dataclass, so that a witness can store it.
        epsilon, delta: the claim.
        pairs: pairs of inputs for a noise primitive; empty if there are ``bases``.
        bases: data sets, each a list of records, from which neighbouring data sets are made.
        records: the records that are added, or that replace the last record.
        relations: the relations that the documentation could mean; ``by-sensitivity`` for pairs.
        budget: the largest number of samples for each claim.
        failures: with "token", an exception is an output, as in `dpproof.audit`.
        seeded: whether all randomness comes from the seed.
        scores: the scores, as in `dpproof.audit`; None for the default.
        steps: the largest number of audits that try smaller data sets after a violation.
        power: whether to measure what the audit would have found. Slow mechanisms leave this out.
    """

    name: str
    sampler: Sampler
    epsilon: float
    delta: float = 0.0
    pairs: Sequence[tuple[Any, Any]] = ()
    bases: Sequence[Sequence[Any]] = ()
    records: Sequence[Any] = ()
    relations: Sequence[Adjacency] = DATA
    budget: int = 40_000
    failures: str = "error"
    seeded: bool = True
    scores: Sequence[str] | None = None
    power: bool = True
    steps: int = 6

    @property
    def claims(self) -> tuple[Adjacency, ...]:
        """The relations under which the mechanism is audited."""
        return (Adjacency.BY_SENSITIVITY,) if self.pairs else tuple(self.relations)

    def neighbours(self, relation: Adjacency) -> list[Neighbours]:
        """Return the pairs of inputs under a relation, small data sets first.

        Raises:
            InvalidNeighboursError: an entry of the table has inputs that are not neighbours.
        """
        return [
            Neighbours(first, second, relation, f"{_short(first)} and {_short(second)}")
            for first, second in self._made(relation)
        ]

    def _made(self, relation: Adjacency) -> Iterator[tuple[Any, Any]]:
        if self.pairs:
            yield from self.pairs
            return
        for base in self.bases:
            for record in self.records:
                if relation is Adjacency.ADD_REMOVE:
                    yield list(base), [*base, record]
                elif record != base[-1]:
                    yield list(base), [*base[:-1], record]


def _short(data: object) -> str:
    text = repr(data)
    return text if len(text) <= 60 else f"{text[:57]}..."


@dataclass(frozen=True)
class Meaning:
    """What people found out about a violation.

    Attributes:
        status: "known", "new", "by design" or "float only": whether the package's tracker or documentation has it.
        text: the cause, in a sentence or two.
        draft: the number of the section in the package's draft of a report; 0 if there is none.
        exact: the least epsilon of the pair, computed from the published code and not from samples; None if it was not
            computed. At a delta above 0 it is a lower bound. Infinity means that no finite epsilon holds.
        delta: the figure holds at every delta below this; 0 if it is for delta 0 alone.
        seen: an event that cannot occur on one input has at least this probability on the other, with confidence
            1 - 1e-6, from samples; 0 if no such event is known.
    """

    status: str
    text: str
    draft: int = 0
    exact: float | None = None
    delta: float = 0.0
    seen: float = 0.0

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"status ({self.status!r}) must be one of: {', '.join(STATUSES)}")


STATUSES = ("known", "new", "by design", "float only")


@dataclass(frozen=True)
class Package:
    """The table of one package.

    Attributes:
        name: the name of the package, for people and for the installer.
        entries: the mechanisms.
        says: what the documentation says about the neighbouring relation.
        omitted: mechanisms of the package that are not in the table, each with the reason.
        meanings: what a violation means, by mechanism and relation.
        compared: whether `dpproof.compare_runs` knows the mechanisms of the package.
        bits: what a violation through floating-point bits alone means, unless ``meanings`` has it.
        bits_exact: those violations for which a test shows that no finite epsilon holds at delta 0 in doubles.
        bits_seen: the figure ``seen`` of a `Meaning` for those violations that have one.
    """

    name: str
    entries: Sequence[Entry]
    says: str
    omitted: Mapping[str, str] = field(default_factory=dict)
    meanings: Mapping[tuple[str, Adjacency], Meaning] = field(default_factory=dict)
    bits: Meaning | None = None
    bits_exact: Collection[tuple[str, Adjacency]] = ()
    bits_seen: Mapping[tuple[str, Adjacency], float] = field(default_factory=dict)
    compared: bool = False

    @cached_property
    def claims(self) -> tuple[tuple[Entry, Adjacency], ...]:
        """All claims of the table. A sweep splits its error probability equally among them."""
        return tuple((entry, relation) for entry in self.entries for relation in entry.claims)


def package_named(name: str) -> Package:
    """Return the table of the package ``name``.

    Raises:
        ValueError: dpproof has no table of this package; the message lists the known packages.
        ImportError: the package is not installed.
    """
    known = known_packages()
    if name not in known:
        raise ValueError(f"package ({name!r}) has no table of mechanisms. Use one of: {', '.join(known)}")
    found: Package = importlib.import_module(f"{PACKAGES}.{name.replace('-', '_')}").TABLE
    return found


def known_packages() -> list[str]:
    """Return the names of the packages that have a table, in alphabetical order."""
    from importlib.resources import files

    names = (file.name for file in files(PACKAGES).iterdir())
    return sorted(name[:-3].replace("_", "-") for name in names if name.endswith(".py") and name[0] != "_")
