"""Targets: mechanisms with a ready-made audit, found by name; a witness names its target.

A target is a module below ``audits/targets`` or ``audits/training`` with one object, ``TARGET``. A mechanism
of the catalogue has its target in the leaf that its accountant has: ``accountant.noise.laplace`` is audited by
``audits.targets.noise.laplace``. Any other target has the name of its file.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol, Self, TypeVar

from dpproof.accountant.catalogue import CATALOGUE, leaf_of
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Parameters
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.engine.errors import NoAuditError
from dpproof.audits.plan import AuditPlan
from dpproof.audits.recording.evidence import Evidence

T = TypeVar("T")
ROOT = "dpproof.audits."
FOLDERS = ("training", "targets")
CORPUS = f"{ROOT}corpus"
USUAL = "none"
"""What a witness calls the variant that ships, unless it has a name of its own."""
LEAVES = f"{ROOT}targets"
RUN: Mapping[str, type] = {"budget": int, "sharpen": bool}
"""What the witness of an audit by betting says of its plan under ``replay``."""


@dataclass(frozen=True)
class Told:
    """What a witness says of its target, under ``replay``; every field is read with its type.

    >>> Told({"runs": 3}).whole("runs")
    3
    >>> Told({"runs": "3"}).whole("runs")
    Traceback (most recent call last):
    ValueError: runs ('3') must be of type int
    """

    data: Mapping[str, object]

    def text(self, name: str) -> str:
        """A field that holds a text."""
        return self._of(name, str)

    def whole(self, name: str) -> int:
        """A field that holds an integer."""
        return self._of(name, int)

    def table(self, name: str) -> dict[str, object]:
        """A field that holds a table."""
        return self._of(name, dict)

    def _of(self, name: str, kind: type[T]) -> T:
        value = self.data.get(name)
        if type(value) is not kind:
            raise ValueError(f"{name} ({value!r}) must be of type {kind.__name__}")
        return value


class Audited(Protocol):
    """What can be audited as it stands."""

    def audit(self, plan: AuditPlan) -> Evidence:
        """The evidence that the plan leads to."""
        ...


class Target(Audited, Protocol):
    """What an audit is of, and what its witness says of it."""

    fields: ClassVar[Mapping[str, type]]
    """What `read` takes, by type: the keys of a witness under ``replay``."""

    @classmethod
    def read(cls, how: Told) -> Self:
        """The target of a witness, from what that says under ``replay``."""
        ...


@dataclass(frozen=True)
class Subject:
    """A mechanism of the catalogue, as it is audited.

    Attributes:
        name: its command-line name.
        parameters: of its accountant.
        adjacency: the relation that the claim speaks of.
        curve: the claim, if it is not the accountant's guarantee; the plan's ``replay`` then says what it is.
        view: what is seen of it, where that can be chosen.
    """

    name: str
    parameters: Parameters
    adjacency: Adjacency
    curve: PrivacyCurve | None = None
    view: str | None = None


class MechanismTarget(Protocol):
    """The target of a mechanism of the catalogue."""

    @property
    def relations(self) -> tuple[Adjacency, ...]:
        """The relations whose neighbours it makes; none for all that the accountant proves something of."""
        ...

    def of(self, subject: Subject) -> Audited:
        """What is audited.

        Raises:
            NoAuditError: the parameters leave nothing to tell apart.
        """
        ...


def mechanism_target(subject: Subject) -> Audited:
    """What is audited of a mechanism of the catalogue.

    Raises:
        NoAuditError: there is no such audit, or nothing to audit.
    """
    found = leaf_target(subject.name)
    if found.relations and subject.adjacency not in found.relations:
        relation = subject.adjacency.value
        raise NoAuditError(f"adjacency ({relation!r}): no audit of {subject.name} makes such neighbours")
    return found.of(subject)


def leaf_target(name: str) -> MechanismTarget:
    """The target of the mechanism with this command-line name.

    Raises:
        NoAuditError: its leaf has none.
    """
    if not _exists(_leaf(name)):
        known = ", ".join(one for one in CATALOGUE if _exists(_leaf(one)))
        raise NoAuditError(f"mechanism ({name!r}): an audit is known of {known} only")
    found: MechanismTarget = leaf_of(LEAVES, name).TARGET
    return found


def _leaf(name: str) -> str:
    return f"{LEAVES}.{CATALOGUE.get(name, 'none')}"


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ModuleNotFoundError, ValueError):
        return False


def target(name: object) -> type[Target]:
    """The target that witnesses call by this name.

    Raises:
        ValueError: there is none, listing those there are.
    """
    if isinstance(name, str):
        file = name.replace(" ", "_").replace("-", "_")
        for module in (*(f"{ROOT}{folder}.{file}" for folder in FOLDERS), _leaf(name)):
            found = vars(importlib.import_module(module)) if _exists(module) else {}
            if found.get("KIND") == name:
                made: type[Target] = found["TARGET"]
                return made
    raise ValueError(f"audit ({name!r}) must be one of: {', '.join(targets())}")


def variant(usual: type[T], name: str, called: str = USUAL) -> type[T]:
    """The class that is run where a witness says this name: the usual one, or one of the corpus.

    Those of ``package.leaf.Class`` stand under ``VARIANTS`` in ``audits/corpus/leaf.py``, and differ in one step.

    Args:
        usual: the class that ships.
        name: what the witness says.
        called: the name of the usual one.

    Raises:
        ValueError: there is none, listing those there are.
    """
    if name == called:
        return usual
    known: Mapping[str, type[T]] = importlib.import_module(
        f"{CORPUS}.{usual.__module__.rpartition('.')[2]}"
    ).VARIANTS
    if type(name) is not str or name not in known:
        raise ValueError(f"variant ({name!r}) must be one of: {', '.join((called, *known))}")
    return known[name]


def targets() -> list[str]:
    """The names of all targets that a witness may name, in order."""
    found = []
    for folder in FOLDERS:
        files = Path(importlib.import_module(ROOT + folder).__path__[0]).rglob("*.py")
        found += [_named(file.read_text(encoding="utf-8")) for file in files]
    return sorted(name for name in found if name)


def _named(text: str) -> str:
    """The name that a module's witnesses say, without importing it: it may need torch."""
    return text.partition('\nKIND = "')[2].partition('"')[0]
