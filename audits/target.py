"""Targets: objects that dpproof can audit by name. A witness (the record of an audit) stores this name.

A target is defined by the object ``TARGET`` of a module below ``audits/targets`` or ``audits/training``. The target of
a mechanism of the catalogue has the same path as its accountant: ``accountant.noise.laplace`` is audited by
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
"""The word by which the record of an audit names the shipped class, unless the class has another name."""
LEAVES = f"{ROOT}targets"
RUN: Mapping[str, type] = {"budget": int, "sharpen": bool}
"""The fields of `AuditPlan` that the record of an audit stores under ``replay``, with their types."""


@dataclass(frozen=True)
class Told:
    """The data that the record of an audit stores about its target. Each method checks the type of a field.

    >>> Told({"runs": 3}).whole("runs")
    3
    >>> Told({"runs": "3"}).whole("runs")
    Traceback (most recent call last):
    ValueError: runs ('3') must be of type int
    """

    data: Mapping[str, object]

    def text(self, name: str) -> str:
        """Return the field ``name``, which must hold a text."""
        return self._of(name, str)

    def whole(self, name: str) -> int:
        """Return the field ``name``, which must hold an integer."""
        return self._of(name, int)

    def table(self, name: str) -> dict[str, object]:
        """Return the field ``name``, which must hold a dictionary."""
        return self._of(name, dict)

    def _of(self, name: str, kind: type[T]) -> T:
        value = self.data.get(name)
        if type(value) is not kind:
            raise ValueError(f"{name} ({value!r}) must be of type {kind.__name__}")
        return value


class Audited(Protocol):
    """An object with a ready-made audit."""

    def audit(self, plan: AuditPlan) -> Evidence:
        """Run the audit with the settings of ``plan``, and return the evidence."""
        ...


class Target(Audited, Protocol):
    """An object with a ready-made audit. The record of the audit stores enough data to build the object again."""

    fields: ClassVar[Mapping[str, type]]
    """The keys that `read` needs in the record of an audit, with the types of their values."""

    @classmethod
    def read(cls, how: Told) -> Self:
        """Return the object that ``how``, the record of an earlier audit, describes."""
        ...


@dataclass(frozen=True)
class Subject:
    """A mechanism of the catalogue with the settings of its audit.

    Attributes:
        name: the name of the mechanism on the command line.
        parameters: the parameters that the accountant of the mechanism takes.
        adjacency: the neighbouring relation of the claim.
        curve: the claimed guarantee; None for the accountant's guarantee. With a given curve, the plan's ``replay``
            takes the place of the usual replay data, which do not describe the curve.
        view: the name of the part of the output that the adversary observes, for mechanisms that offer a choice.
    """

    name: str
    parameters: Parameters
    adjacency: Adjacency
    curve: PrivacyCurve | None = None
    view: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "adjacency", Adjacency.of(self.adjacency))


class MechanismTarget(Protocol):
    """An object that makes the audits of one mechanism of the catalogue."""

    @property
    def relations(self) -> tuple[Adjacency, ...]:
        """The neighbouring relations that can be audited; empty for all relations of the accountant."""
        ...

    def of(self, subject: Subject) -> Audited:
        """Return the object that runs the audit of the mechanism with the settings in ``subject``.

        Raises:
            NoAuditError: with these parameters the outputs do not depend on the input.
        """
        ...


def mechanism_target(subject: Subject) -> Audited:
    """Return the object that runs the audit of a mechanism of the catalogue, for `dpproof.audit`.

    Raises:
        NoAuditError: there is no such audit, or nothing to audit.
    """
    found = leaf_target(subject.name)
    if found.relations and subject.adjacency not in found.relations:
        relation = subject.adjacency.value
        known = ", ".join(one.value for one in found.relations)
        raise NoAuditError(f"adjacency ({relation!r}) has no audit for {subject.name}. Use one of: {known}")
    return found.of(subject)


def leaf_target(name: str) -> MechanismTarget:
    """Return the object that makes the audits of the mechanism with this command-line name.

    Raises:
        NoAuditError: dpproof has no audit of the mechanism.
    """
    if not _exists(_leaf(name)):
        known = ", ".join(one for one in CATALOGUE if _exists(_leaf(one)))
        raise NoAuditError(f"mechanism ({name!r}) has no audit in dpproof. Audits exist for: {known}")
    found: MechanismTarget = leaf_of(LEAVES, name).TARGET
    return found


def _leaf(name: str) -> str:
    return f"{LEAVES}.{CATALOGUE.get(name, 'none')}"


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ModuleNotFoundError, ValueError):
        return False


UNNAMED = (
    "The witness does not name the audited function, because the function cannot be imported by a name. "
    "Put the function into a module, and audit it from there."
)


def target(name: object) -> type[Target]:
    """Return the class of ready-made audits with this name, as the record of an audit stores the name.

    Raises:
        ValueError: no class has this name; the message lists the known names. None is refused with advice.
    """
    if isinstance(name, str):
        file = name.replace(" ", "_").replace("-", "_")
        for module in (*(f"{ROOT}{folder}.{file}" for folder in FOLDERS), _leaf(name)):
            found = vars(importlib.import_module(module)) if _exists(module) else {}
            if found.get("KIND") == name:
                made: type[Target] = found["TARGET"]
                return made
    if name is None:
        raise ValueError(UNNAMED)
    raise ValueError(f"audit ({name!r}) must be one of: {', '.join(targets())}")


def variant(usual: type[T], name: str, called: str = USUAL) -> type[T]:
    """Return the class that the record of an audit names: the shipped class, or a faulty variant of it.

    The variants of a class in the file ``leaf.py`` are listed under ``VARIANTS`` in ``audits/corpus/leaf.py``. Each
    variant differs from the class in one step.

    Args:
        usual: the shipped class.
        name: the name in the record of the audit.
        called: the name of the shipped class in the record.

    Raises:
        ValueError: no class has this name; the message lists the known names.
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
    """Return the names of all ready-made audits that the record of an audit may store, in alphabetical order."""
    found = []
    for folder in FOLDERS:
        files = Path(importlib.import_module(ROOT + folder).__path__[0]).rglob("*.py")
        found += [_named(file.read_text(encoding="utf-8")) for file in files]
    return sorted(name for name in found if name)


def _named(text: str) -> str:
    """Return a module's target name from its source. The module is not imported, because it may need torch."""
    return text.partition('\nKIND = "')[2].partition('"')[0]
