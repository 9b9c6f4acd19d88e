"""The answer of a replay: what was seen, where, and the composed loss of the pair."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, replace

from dpproof.accountant.guarantees.profile import Profile


class Answer(enum.Enum):
    """The three answers of a comparison.

    >>> Answer("difference") is Answer.DIFFERENCE
    True
    """

    DIFFERENCE = "difference"
    NO_DIFFERENCE = "no difference found"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Seen:
    """One observation: its kind, a sentence, the file and line, and whether it is a difference or only a doubt."""

    kind: str
    text: str
    place: str
    sure: bool = True

    def doubtful(self) -> Seen:
        """Return the same observation as a doubt."""
        return replace(self, sure=False)


@dataclass(frozen=True)
class Compared:
    """The result of `compare_runs`.

    Attributes:
        seen: the observations, differences first.
        loss: the composed loss of this pair of runs; None if a draw has no known loss.
        epsilon, delta: the claim.
        draws: how often each primitive was called.
    """

    seen: tuple[Seen, ...]
    loss: Profile | None
    epsilon: float
    delta: float
    draws: Mapping[str, int]

    @property
    def answer(self) -> Answer:
        """The answer: a difference, no difference, or undecided."""
        if any(one.sure for one in self.seen):
            return Answer.DIFFERENCE
        return Answer.UNDECIDED if self.seen or self.loss is None else Answer.NO_DIFFERENCE

    def __repr__(self) -> str:
        calls = ", ".join(f"{number} of {name}" for name, number in self.draws.items()) or "no draws"
        lines = [
            f"paired runs: {self.answer.value} (claimed epsilon {self.epsilon:g} at delta {self.delta:g}; {calls})"
        ]
        lines += [f"{one.place}: {one.text}" for one in self.seen[:6]]
        if self.loss is not None and self.answer is Answer.NO_DIFFERENCE:
            most = self.loss.epsilon(self.delta).upper
            lines.append(f"The measured changes on this pair need epsilon {most:.6g}, up to rounding.")
        if self.answer is not Answer.DIFFERENCE:
            lines.append(
                "This is not a proof: it covers this pair of data sets, and one sequence of released numbers."
            )
        return "\n".join(lines)
