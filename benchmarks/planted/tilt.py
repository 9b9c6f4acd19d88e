"""A fault with an exact loss: the outputs of a mechanism, where one event depends on the data.

The third user wrote the faults in the files ``*_third.py`` before any of them was audited. Three rules were fixed
then. An event belongs to a class of the documentation if one of the two inputs gives it a probability of at least
1 %. A wrong assurance is the answer *consistent* that lists this class as covered, for a fault whose loss is at
least twice the claim. Faults of which the name begins with ``weak`` have a smaller loss, so *consistent* is right.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, log
from typing import Any

from benchmarks.planted.case import BITS, REPLACE, Case, Cases, Event


def odd(bits: Any) -> bool:
    """Whether the number of ones is odd. It changes whenever one bit changes."""
    return sum(bits) % 2 == 1


def odd_size(records: Any) -> bool:
    """Whether the number of records is odd. It changes whenever a record is added or removed."""
    return len(records) % 2 == 1


def first(bits: Any) -> bool:
    """Whether the first bit is 1."""
    return bool(bits[0])


@dataclass(frozen=True)
class Tilt:
    """An event of probability ``share`` that gets more or less frequent by a factor exp(loss).

    The mechanism is run again, with a fixed probability, on outputs outside of the event (``loss`` above 0) or on
    outputs in the event (below 0). So all other probabilities change by one common factor, and the largest log-ratio
    of probabilities is ``abs(loss)``. At a loss of minus infinity the event never occurs.
    """

    share: float
    loss: float
    event: Callable[[Any], bool]

    def __post_init__(self) -> None:
        """Refuse an event that is too large for its loss, or whose complement has the larger loss."""
        if not 0 <= self.tilted < 1 or abs(log((1 - self.share) / (1 - self.tilted))) > abs(self.loss):
            raise ValueError(f"share ({self.share}) does not suit loss ({self.loss})")

    @property
    def tilted(self) -> float:
        """The probability of the event if the data say so."""
        return self.share * exp(self.loss) if self.loss > -inf else 0.0

    @property
    def facts(self) -> dict[str, Any]:
        """What a case states: its true loss and the two probabilities of the event."""
        low, high = sorted((self.share, self.tilted))
        return {"loss": abs(self.loss), "mass": (low, high)}

    def fault(self, make: Callable[[], Any], changed: Callable[[Any], bool] = odd) -> Callable[[Any], object]:
        """Return the faulty function of the data: a mechanism whose event depends on a property of the data."""
        return lambda data: self.draw(changed(data), make)

    def draw(self, changed: bool, make: Callable[[], Any]) -> Any:
        """Return an output of the mechanism. The event is more or less frequent if ``changed``."""
        output = make()
        while changed and self._again(self.event(output)):
            output = make()
        return output

    def _again(self, held: bool) -> bool:
        if held == (self.loss > 0):
            return False
        return random.random() >= self._kept

    @cached_property
    def _kept(self) -> float:
        """The probability that an output is kept which may be drawn again."""
        low = min(self.share, self.tilted) if self.loss < 0 else 1 - self.tilted
        was = self.share if self.loss < 0 else 1 - self.share
        return low * (1 - was) / (was * (1 - low))


def added(
    cases: Cases,
    written: int,
    name: str,
    fault: str,
    event: Event,
    tilt: Tilt,
    make: Callable[[], Any],
    **options: Any,
) -> None:
    """Add a fault on ten bits to the cases: the number of ones decides how frequent the event is.

    Args:
        cases: the cases of a package.
        written: the number of the third user's set to which the fault belongs.
        name, fault, event, options: those of `Case`; the sentence of the fault begins "If the number of ones is odd".
        tilt: the change of the event.
        make: a function that returns an output of the mechanism.
    """
    cases.append(
        Case(
            name,
            cases.package,
            f"If the number of ones is odd, {fault}.",
            tilt.fault(make),
            BITS,
            relation=REPLACE,
            event=event,
            author=3,
            set=written,
            **tilt.facts,
            options=options,
        )
    )
