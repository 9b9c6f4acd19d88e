"""Audits of floating-point noise that refute a claim exactly, without an error probability.

An output that one input can have, and the other cannot, refutes every pure epsilon. An audit of this kind says
*violation (exact)* or *no answer*. It never says that a claim is kept.
"""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_up
from dpproof.audits.floating.codes import FloatCode, Words
from dpproof.audits.floating.sums import is_sum, lattice

OUTPUTS = 4096
"""About the number of outputs that are tried on each input of a code with too many words to enumerate."""
LISTED = 32
"""The largest number of outputs for which all words of the other input are listed."""
LINES = 40_000
"""The largest number of lines whose probability is bounded."""


class ExactFinding(enum.Enum):
    """The two answers of an exact audit.

    >>> ExactFinding("no answer").value
    'no answer'
    """

    VIOLATION = "violation (exact)"
    NO_ANSWER = "no answer"


class Unreachable(enum.Enum):
    """Reasons why the other input has an output less often, or never.

    >>> Unreachable("no sum").value
    'no sum'
    """

    NO_SUM = "no sum"
    NO_WORD = "no word"
    COUNTED = "counted"


REASONS = {
    Unreachable.NO_SUM: "no double has this rounded sum with the second input, so no noise gives the output",
    Unreachable.NO_WORD: "all words that could give the output on the second input were run, and none gives it",
    Unreachable.COUNTED: "the code was run on all of its words, on both inputs",
}


@dataclass(frozen=True, kw_only=True)
class FloatWitness:
    """An output that the first input has, and the second has never or too seldom.

    Attributes:
        first: the input that has the output.
        second: the other input.
        word: a random word on which the code returns the output on the first input.
        output: the output.
        why: why the second input has the output never or less often.
        counts: the numbers of words that give the output on the first and the second input. The first number is a
            lower bound unless ``why`` is "counted".

    >>> FloatWitness(first=0.0, second=1.0, word=3, output=2.0**-60, why=Unreachable.NO_SUM).as_json()["output"]
    '0x1.0000000000000p-60'
    """

    first: float
    second: float
    word: int
    output: float
    why: Unreachable
    counts: tuple[int, int] = (1, 0)

    def replays(self, code: FloatCode) -> bool:
        """Return whether the code still has the output on the first input, and on the second as often as recorded.

        >>> from dpproof.audits.floating.numpy_codes import numpy_laplace
        >>> found = audit_exactly(numpy_laplace(1.0), (0.0, 1.0), epsilon=1)
        >>> found.witness.replays(numpy_laplace(1.0))
        True
        """
        (again,) = code.release(self.first, np.array([self.word])).tolist()
        return again == self.output and _unreachable(code, self.second, self.output, self.why, self.counts[1])

    def as_json(self) -> dict[str, Any]:
        """Return the witness as JSON data; doubles are hexadecimal, so no bit is lost."""
        doubles = {name: getattr(self, name).hex() for name in ("first", "second", "output")}
        return {**doubles, "word": self.word, "why": self.why.value, "counts": list(self.counts)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FloatWitness:
        """Return the witness that `as_json` converted to ``data``."""
        doubles = {name: float.fromhex(data[name]) for name in ("first", "second", "output")}
        one, other = data["counts"]
        return cls(**doubles, word=data["word"], why=Unreachable(data["why"]), counts=(one, other))


@dataclass(frozen=True, kw_only=True)
class ExactAudit:
    """The result of an exact audit.

    Attributes:
        finding: *violation (exact)* or *no answer*.
        epsilon: the claimed epsilon.
        delta: the claimed delta.
        least_delta: a lower bound on the delta that the mechanism needs at the claimed epsilon, on this pair.
        witness: an output that refutes pure epsilon, if one was found.

    >>> found = ExactAudit(epsilon=1.0, delta=0.0, least_delta=Fraction(0), witness=None)
    >>> found.finding.value
    'no answer'
    """

    epsilon: float
    delta: float
    least_delta: Fraction
    witness: FloatWitness | None

    @property
    def finding(self) -> ExactFinding:
        """The answer: a violation if the claimed delta is below ``least_delta``, or is 0 and there is a witness."""
        refuted = Fraction(self.delta) < self.least_delta or (self.delta == 0 and self.witness is not None)
        return ExactFinding.VIOLATION if refuted else ExactFinding.NO_ANSWER

    @property
    def words(self) -> tuple[str, ...]:
        """The result in sentences."""
        least = math.floor(self.least_delta * 10**18) / 10**18
        lines = [
            f"At epsilon {self.epsilon:g} the mechanism needs a delta of at least {least:.6g} on this pair."
        ]
        if (one := self.witness) is not None:
            first, second = one.counts
            lines.append(
                f"Input {one.first!r} has the output {one.output.hex()} (word {one.word}). On input {one.second!r}"
                f" {second or 'no'} words give it, on the first {first}: {REASONS[one.why]}."
            )
        return tuple(lines)

    def __repr__(self) -> str:
        claim = f"claimed epsilon {self.epsilon:g} at delta {self.delta:g}"
        return "\n".join([f"{self.finding.value} ({claim})", *self.words])

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        return {
            "finding": self.finding.value,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "least_delta": str(self.least_delta),
            "words": list(self.words),
            "witness": None if self.witness is None else self.witness.as_json(),
        }


def audit_exactly(
    code: FloatCode, pair: tuple[float, float], *, epsilon: Number, delta: Number = 0
) -> ExactAudit:
    """Return whether outputs in floating point refute (epsilon, delta)-DP on two neighbouring inputs, exactly.

    A code with few words is run on all of them. Of any other code, outputs are tried that one of the inputs has. An
    output counts against the claim if the other input cannot have it.

    Args:
        code: the mechanism's code. It must add noise to the value in one floating-point addition.
        pair: two numbers that are neighbours.
        epsilon: the claimed epsilon, at least 0.
        delta: the claimed delta, in [0, 1).

    Raises:
        ValueError: epsilon or delta is outside its range, or the code is not an addition of noise.

    >>> from dpproof.audits.floating.numpy_codes import numpy_laplace
    >>> audit_exactly(numpy_laplace(1.0), (0.0, 1.0), epsilon=1).finding.value
    'violation (exact)'
    """
    claim = exact(epsilon, "epsilon"), exact(delta, "delta")
    if claim[0] < 0 or not 0 <= claim[1] < 1:
        raise ValueError(f"epsilon ({epsilon!r}) must be at least 0 and delta ({delta!r}) must be in [0, 1)")
    audited = (
        partial(_all_words, epsilon=claim[0]) if code.enumerable else partial(_some_words, delta=claim[1])
    )
    found = [audited(code, *one) for one in (pair, pair[::-1])]
    witness = next((one for _, one in found if one is not None), None)
    least = max(one for one, _ in found)
    return ExactAudit(epsilon=float(claim[0]), delta=float(claim[1]), least_delta=least, witness=witness)


Found = tuple[Fraction, FloatWitness | None]


def _all_words(code: FloatCode, first: float, second: float, epsilon: Fraction) -> Found:
    """Return the exact delta of a code that is run on all of its words, and its worst output."""
    words = np.arange(code.words)
    drawn = code.release(first, words)
    values, place, counts = np.unique(drawn, return_index=True, return_counts=True)
    others, other_counts = np.unique(code.release(second, words), return_counts=True)
    at = np.minimum(np.searchsorted(others, values), len(others) - 1)
    matched = np.where(others[at] == values, other_counts[at], 0)
    with precision(128):
        most = round_up(arb_of(epsilon).exp())
    factor = None if math.isinf(most) else Fraction(most)
    excess, worst = _excess(counts, matched, factor)
    if worst is None:
        return Fraction(0), None
    witness = FloatWitness(
        first=first, second=second, word=int(place[worst]), output=float(values[worst]),
        why=Unreachable.COUNTED, counts=(int(counts[worst]), int(matched[worst])),
    )  # fmt: skip
    return excess * code.probability, witness


def _excess(counts: Words, matched: Words, factor: Fraction | None) -> tuple[Fraction, int | None]:
    """Return the sum of the positive parts of counts - factor * matched, and the place of the worst output."""
    pairs, where, times = np.unique(
        np.column_stack([counts, matched]), axis=0, return_index=True, return_counts=True
    )
    total, share, worst = Fraction(0), Fraction(0), None
    for (one, other), at, often in zip(pairs.tolist(), where.tolist(), times.tolist(), strict=True):
        if other and factor is None:
            continue
        over = Fraction(one) - (factor or 0) * other
        if over > 0:
            total += over * often
            share, worst = max((share, worst), (over / one, at), key=lambda each: each[0])
    return total, worst


def _some_words(code: FloatCode, first: float, second: float, delta: Fraction) -> Found:
    """Return a lower bound on delta at any epsilon, and an output that the second input cannot have."""
    spaced, ends = _spaced(code), _ends(code)
    if (found := _no_sum(code, first, second, np.concatenate([spaced, ends]))) is not None:
        count, witness = found
        return max(count * code.probability, _mass(code, first, second, delta)), witness
    if not code.pieces:
        return Fraction(0), None
    for word, output in zip(ends.tolist(), code.release(first, ends).tolist(), strict=True):
        if _never(code, second, output):
            return code.probability, _witness(first, second, word, output, Unreachable.NO_WORD)
    return Fraction(0), None


def _no_sum(code: FloatCode, first: float, second: float, words: Words) -> tuple[int, FloatWitness] | None:
    """Return how many of the words give outputs that are no sums with the second input, and the first of them."""
    outputs = code.release(first, words)
    code.check(first, words, outputs)
    missing = np.flatnonzero(~is_sum(second, outputs))
    if not missing.size:
        return None
    word, output = int(words[missing[0]]), float(outputs[missing[0]])
    return len(set(words[missing].tolist())), _witness(first, second, word, output, Unreachable.NO_SUM)


def _witness(first: float, second: float, word: int, output: float, why: Unreachable) -> FloatWitness:
    return FloatWitness(first=first, second=second, word=word, output=output, why=why)


def _spaced(code: FloatCode) -> Words:
    """Return equally spaced words of a code, the most central first."""
    count = code.words
    places = {count * (2 * i + 1) // (2 * OUTPUTS) for i in range(OUTPUTS)}
    return code.at(sorted(places, key=lambda place: abs(2 * place - count)))


def _ends(code: FloatCode) -> Words:
    """Return at most `LISTED` words at both ends of a code, the most central first; large noise is the sparsest."""
    count = code.words
    steps = [count >> (3 + 100 * i // LISTED) for i in range(LISTED // 2)]
    places = [place for step in steps if step for place in (step, count - 1 - step)]
    return code.at(list(dict.fromkeys(places)))


def _mass(code: FloatCode, first: float, second: float, delta: Fraction) -> Fraction:
    """Return a lower bound on the probability of outputs on 0 that are no multiples of the other input's lattice."""
    total = Fraction(0)
    if code.lines is None or first != 0:
        return total
    step = lattice(second)
    for line in itertools.islice(code.lines(step), LINES):
        total += line.off(step) * line.probability
        if total > delta:
            break
    return total


def _never(code: FloatCode, value: float, output: float) -> bool:
    found = code.giving(value, output)
    return found is not None and not found.size


def _unreachable(code: FloatCode, value: float, output: float, why: Unreachable, count: int) -> bool:
    """Return whether the code has the output on the value exactly as often as a witness says."""
    match why:
        case Unreachable.NO_SUM:
            return not is_sum(value, np.array([output]))[0]
        case Unreachable.NO_WORD:
            return _never(code, value, output)
        case Unreachable.COUNTED:
            return int((code.release(value, np.arange(code.words)) == output).sum()) == count
