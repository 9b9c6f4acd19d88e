"""A mechanism to audit: planted with a fault, or left as its package made it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

INF = float("inf")
REPLACE, ADD_REMOVE = "replace", "add-remove"
AGES = [0.0, 0.2, 0.2, 0.2, 0.3, 0.5, 0.5, 0.6, 0.9, 1.0]
BITS = [0, 1, 1, 0, 1, 0, 0, 0, 1, 1]
WORDS = ["ant", "bee", "bee", "cat", "cat", "cat", "dog", "dog", "eel", "bee"]
FIVE = sorted(set(WORDS))


class Event(StrEnum):
    """The class of events of the audit's documentation that shows the fault; decided before anything was run.

    The first six are required for *consistent*. The audit measures the last six as further classes.
    """

    TAIL = "a rare extreme value"
    THRESHOLD = "one number against a threshold"
    WEIGHTED = "a weighted sum"
    PARITY = "the parity of two bits"
    LOW = "low bits of a whole number"
    WORD = "a word, or an order of words"
    NORM = "a norm of several numbers"
    INTERVAL = "one number in an interval"
    JOINT = "two numbers beyond thresholds, both or exactly one"
    ATOM = "a value that occurs repeatedly"
    REMAINDER = "a remainder or a decimal digit"
    LENGTH = "the length of a text or a collection"
    NONE = "none"


@dataclass(frozen=True)
class Case:
    """One mechanism with its claim.

    ``loss`` is the true epsilon at the claimed delta, None where the author could not compute it. A case without
    a fault is untouched. ``author`` is 2 for the faults that a second author planted after the first measurement,
    and 3 for those of a third author. ``mass`` is the probability of the event that shows the fault, the smaller
    one and the larger one of the two inputs. ``set`` numbers the sets in which an author wrote faults.
    """

    name: str
    package: str
    fault: str
    run: Callable[[Any], object]
    data: Any
    relation: str = ADD_REMOVE
    claim: tuple[float, float] = (1.0, 0.0)
    loss: float | None = None
    event: Event = Event.NONE
    author: int = 1
    mass: tuple[float, float] | None = None
    set: int = 1
    options: dict[str, Any] = field(default_factory=dict)

    def neighbour(self) -> Any:
        """Return the data with the first record replaced by the last, or without the last record."""
        if isinstance(self.data, dict):
            *kept, last = self.data
            if self.relation == ADD_REMOVE:
                return {key: self.data[key] for key in kept}
            return self.data | {kept[0]: self.data[last]}
        changed = self.data.copy()
        if self.relation == ADD_REMOVE:
            return changed[:-1]
        changed[0] = self.data[-1]
        return changed


class Cases(list[Case]):
    """The cases of one package, in the order in which they were written."""

    def __init__(self, package: str) -> None:
        self.package = package

    def planted(self, data: Any, **rest: Any) -> Callable[[Callable[[Any], object]], None]:
        """Return a decorator that adds a function as a faulty case; its docstring describes the fault."""

        def add(run: Callable[[Any], object]) -> None:
            self.append(Case(run.__name__, self.package, run.__doc__ or "", run, data, **rest))

        return add

    def untouched(self, name: str, run: Callable[[Any], object], data: Any, **rest: Any) -> None:
        """Add a mechanism as the package made it."""
        self.append(Case(name, self.package, "", run, data, **rest))
