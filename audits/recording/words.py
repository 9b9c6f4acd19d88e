"""The result of an audit in words: a lower bound on epsilon, an event that shows it, and the pair of inputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpproof.audits.recording.evidence import Evidence

SEEN: Mapping[str, str] = {
    "identity": "the output",
    "linear": "a weighted sum of the numbers in the output",
    "best coordinate": "one number of the output",
    "parity": "the parity of two bits of the output",
    "atoms of lowest_bit": "the lowest set bits of the numbers in the output",
    "atoms of low_bytes": "the lowest bits of the whole numbers in the output",
    "atoms of row_tokens": "which whole output it is",
    "atoms": "which values that recur are in the output",
    "remainders": "remainders or decimal digits of numbers in the output",
    "logistic": "a logistic regression on the output",
    "trees": "randomised trees on the output",
    "sparse projection of bag": "which words, entries and values are in the output",
    "boosted trees of bag": "which words, entries and values are in the output together",
    "sparse projection": "a weighted sum of a few numbers in the output",
    "boosted trees": "ranges of a few numbers in the output",
    "products": "products of two numbers in the output",
    "norm": "the distance of the output from the centre",
    "spread": "the spread of the output in a few directions",
    "kernel": "the similarity of the output to earlier ones",
}
"""A description of each score (a number computed from an output), by the beginning of the score's name."""


@dataclass(frozen=True)
class Shown:
    """An illustration of a violation by fresh outputs on both inputs.

    Attributes:
        outputs: the number of outputs on each input.
        event: a simple event that distinguishes the inputs, in words; empty if there is none.
        first, second: how often the event occurs on each input.
        kind: the name of the likely cause; empty if no known cause fits.
        looks_like: a sentence on the likely cause, with how often this explanation is right; empty if no cause fits.
        what: a description of the number in the histograms; empty if there are no histograms.
        edges, counts: the edges and the counts of the two histograms.
        at: the threshold of the event, if the histograms show it.
    """

    outputs: int
    event: str = ""
    first: int = 0
    second: int = 0
    kind: str = ""
    looks_like: str = ""
    what: str = ""
    edges: tuple[float, ...] = ()
    counts: tuple[tuple[int, ...], ...] = ()
    at: float | None = None

    @property
    def sentences(self) -> Iterator[str]:
        """The sentences on the event and on the likely cause."""
        if self.event:
            came = f"It came {self.first} times on the first input and {self.second} times on the second"
            yield f"A simple event: {self.event}. {came}, in {self.outputs} fresh outputs each."
        if self.looks_like:
            yield self.looks_like

    def as_json(self) -> dict[str, Any]:
        """Return the illustration as JSON data for `read`."""
        return asdict(self)

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Shown:
        """Return the illustration that `as_json` converted to ``data``."""
        lists = {"edges": tuple(data["edges"]), "counts": tuple(tuple(one) for one in data["counts"])}
        return cls(**{**data, **lists})


def sentences(found: Evidence) -> tuple[str, ...]:
    """Return the result of an audit in sentences, the answer first.

    If there is a violation, the sentences describe it. Otherwise they only name the pairs of inputs that were run.
    """
    return tuple(_told(found))


def _told(found: Evidence) -> Iterator[str]:
    if found.verdict.violated:
        yield _bound(found)
        yield from _setting(found.replay)
        yield from _event(found)
    if found.shown is not None:
        yield from found.shown.sentences
    made = _made(found.replay)
    if made:
        yield f"{made}: {found.pair}."


def _bound(found: Evidence) -> str:
    """Return the sentence on the lower bound on epsilon."""
    at = f" at delta {found.delta:g}" if found.delta else ""
    sure = f"with confidence {100 * found.confidence:.6g} %"
    if found.epsilon_lower == math.inf:
        return (
            f"The claim of epsilon {found.claimed_epsilon:g} is false: no finite epsilon holds{at}, {sure}."
        )
    if found.epsilon_lower > found.claimed_epsilon:
        least = math.floor(found.epsilon_lower * 1000) / 1000
        return f"The claim of epsilon {found.claimed_epsilon:g} is false: epsilon is at least {least:g}{at}, {sure}."
    return f"The claim of epsilon {found.claimed_epsilon:g}{at} is false, {sure}."


def _setting(how: Mapping[str, Any]) -> Iterator[str]:
    """Generate the sentence on the parameters of a violation, if several settings of them were audited."""
    given = how.get("parameters")
    if isinstance(given, Mapping) and how.get("settings", 1) > 1:
        values = ", ".join(f"{name} = {value!r}" for name, value in given.items())
        yield f"The violation occurs with {values}, which is one of {how['settings']} settings of the parameters."


def _event(found: Evidence) -> Iterator[str]:
    """Generate the sentence on the best bets: how often they won, and which part of the output they used."""
    event, counts = found.event, found.counts
    if event is None or counts is None or not {"won", "lost"} <= counts.keys():
        return
    what = next(
        (words for name, words in SEEN.items() if str(found.score).startswith(name)),
        f"the score {found.score}",
    )
    bet = f"The bets that earned most won {counts['won']} times and lost {counts['lost']} times"
    ends = {"at_least": "at least", "at_most": "at most"}
    sides = [f"{words} {_number(event[name])}" for name, words in ends.items() if name in event]
    if what == SEEN["identity"] and sides:
        speaks = [("first", "second")[label] for label in event["speaks_for"]]
        told = " and ".join(
            f"{side}, for the {input} input" for side, input in zip(sides, speaks, strict=True)
        )
        yield f"{bet}. They were placed where the output is {told}."
    else:
        yield f"{bet}. They looked at {what}."


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _made(how: Mapping[str, Any]) -> str:
    """Return the beginning of the sentence on the pairs of a search; an empty text if there was no search."""
    search = how.get("search")
    if not isinstance(search, Mapping):
        return ""
    return f"Of {search['pairs']} pairs of neighbours, the one that revealed most in a search was audited"
