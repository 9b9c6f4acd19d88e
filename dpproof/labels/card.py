"""`Label`: a card about one guarantee, as data. `dpproof.labels.making` makes it, `dpproof.labels.forms` writes it."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dpproof.labels.numbers import Numbers, between, most
from dpproof.version import __version__


class Standing(enum.Enum):
    """What stands behind the numbers of a label. Only the first two words speak of certified numbers."""

    _value_: str
    meaning: str
    colour: str
    exit_code: int

    def __new__(cls, word: str, meaning: str, colour: str, exit_code: int) -> Standing:
        """Make a member whose value is the word."""
        made = object.__new__(cls)
        made._value_, made.meaning, made.colour, made.exit_code = word, meaning, colour, exit_code
        return made

    PROVED = "certified", "The statement behind the numbers is PROVED, without conditions.", "#1b6e37", 0
    CONDITIONAL = (
        "certified on conditions",
        "The numbers hold if every condition on this card holds. The conditions are not proved here.",
        "#855300",
        0,
    )
    NOT_KEPT = (
        "promise not certified",
        "The certified guarantee does not imply the promise. The numbers are those of the guarantee.",
        "#b3261e",
        3,
    )
    UNPROVED = (
        "not certified",
        "The statement behind the numbers is not proved. No number on this card is certified.",
        "#b3261e",
        3,
    )
    CLAIMED = (
        "claimed, not certified",
        "dpproof knows only the promise. The numbers follow from the promise, if it is true.",
        "#b3261e",
        3,
    )
    BROKEN = (
        "promise refuted",
        "A pair of neighbours refutes the promise. The numbers are those of the certified guarantee.",
        "#b3261e",
        1,
    )
    SIMULATED = (
        "simulated, not certified",
        "The number comes from a simulation. It holds with the stated confidence and is never certified.",
        "#b3261e",
        3,
    )
    NO_GUARANTEE = (
        "no guarantee",
        "The noise came from a seed. The file is a simulation, and no guarantee holds.",
        "#b3261e",
        1,
    )
    REFUSED = ("refused", "The file contradicts itself. Nothing follows from it.", "#b3261e", 1)


_NEARLY_ALL = 0.9
"""An observer with this advantage, who begins with even chances, names the right dataset in 95 % of all cases."""
_LITTLE = " These numbers rule out almost nothing: an observer may tell the two datasets apart in nearly every case."


@dataclass(frozen=True)
class Row:
    """One line of a card: a name, its value, and a sentence that says what the value means."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Label:
    """A card about one guarantee.

    Attributes:
        title: the mechanism with its parameters, or the name of the claim or file.
        source: the file that the card was made from, with its SHA-256 digest.
        standing: what stands behind the numbers.
        verdict: the verdict on the statement behind the numbers, in words; empty if there is none.
        promise: what the file promises, and whether it is kept; empty without a promise.
        facts: rows about the unit, the relation, the trust model, and what is released.
        numbers: the numbers, or None if nothing follows.
        estimate: for a simulated answer, its text.
        conditions: what must hold, and is not proved here.
        assumed: the assumptions of the proofs and of the machine's arithmetic.
        hazards: rows about the topics of NIST SP 800-226.
        checks: commands that check the card again.
    """

    title: str
    source: str
    standing: Standing
    verdict: str = ""
    promise: str = ""
    facts: Sequence[Row] = ()
    numbers: Numbers | None = None
    estimate: str = ""
    conditions: Sequence[str] = ()
    assumed: Sequence[str] = ()
    hazards: Sequence[Row] = ()
    checks: Sequence[str] = ()

    @property
    def meaning(self) -> str:
        """What the word at the top means, and a warning if the numbers rule out almost nothing."""
        little = self.numbers is not None and self.numbers.advantage.upper > _NEARLY_ALL
        return f"{self.standing.meaning}{_LITTLE * little}"

    @property
    def made_by(self) -> str:
        """The version of dpproof and the file that the card was made from."""
        return f"Made by dpproof {__version__} from {self.source}."

    def figures(self) -> Iterator[Row]:
        """Yield the rows of numbers. Each number is rounded to the safe side."""
        if self.estimate:
            yield Row("estimate", self.estimate)
        if self.numbers is not None:
            yield from _epsilons(self.numbers)
            yield from _gaussian(self.numbers)
            yield from _attacks(self.numbers)

    def as_data(self) -> dict[str, object]:
        """Return the card as data for YAML."""
        numbers = {} if self.numbers is None else self.numbers.as_data()
        return {
            "label": self.title,
            "source": self.source,
            "dpproof": __version__,
            "standing": self.standing.value,
            "meaning": self.meaning,
            "verdict": self.verdict,
            "promise": self.promise,
            "facts": {row.name: row.value for row in self.facts},
            "numbers": {**({"estimate": self.estimate} if self.estimate else {}), **numbers},
            "conditions": list(self.conditions),
            "assumed": list(self.assumed),
            "hazards": {row.name: {"standing": row.value, "what": row.note} for row in self.hazards},
            "checks": list(self.checks),
        }


def _epsilons(found: Numbers) -> Iterator[Row]:
    for delta, bound in found.epsilons.items():
        pair = found.attained.get(delta)
        told = "The first number shows how exactly the guarantee is known. The mechanism may be more private."
        if pair is not None:
            told = f"A known pair of neighbours reaches at least {between(pair).split(' to ')[0]}."
        said = told if 0 < bound.upper < math.inf else ""
        yield Row(f"epsilon at delta {delta}", between(bound), said)
    if found.worst is not None:
        yield Row(
            "epsilon at delta 0",
            f"at most {most(found.worst.upper, 6)}",
            "This bound holds for every output, without exception.",
        )


def _gaussian(found: Numbers) -> Iterator[Row]:
    kappa = found.asked.kappa
    value = between(found.mu)
    yield Row(
        f"mu at kappa {kappa}",
        value,
        f"The Gaussian summary: delta(e) is at most that of mu-Gaussian DP plus {kappa}, at every e >= 0 and in both"
        " directions.",
    )
    if found.regret is not None:
        yield Row(
            "regret of this mu",
            f"at most {most(found.regret.upper)}",
            "Error rates that follow from mu alone are at most this much smaller than those of the guarantee."
            " It measures the fit, not privacy.",
        )


def _attacks(found: Numbers) -> Iterator[Row]:
    told = "The largest true minus false positive rate of an attack on membership."
    yield Row("advantage of an attack", f"at most {most(found.advantage.upper)}", told)
    for rate, bound in found.powers.items():
        yield Row(
            f"TPR at FPR {rate}",
            f"at most {most(bound.upper)}",
            "The largest true positive rate of an attack with this false positive rate.",
        )
    beta = found.asked.beta
    yield Row(
        f"belief, beta {beta}",
        f"at most {most(found.belief)}",
        "Before the output, an observer gives two neighbouring datasets even chances. After it, the belief in the"
        f" true one is above this number with probability at most {beta}. The privacy loss there is"
        f" {most(found.loss)}.",
    )
