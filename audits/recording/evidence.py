"""Evidence: the result of an audit, with everything needed to find it again."""

from __future__ import annotations

import enum
import html
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dpproof.accountant.numbers.written import finite, json_text
from dpproof.audits.recording.words import Shown, sentences

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INDEPENDENCE = "the outputs are independent, but for the kinds of dependence that an audit looks for"
"""What every audit takes on trust (docs/notes/audit_pairs.md)."""

UNCONFIRMED = (
    "the bets refute the claim, but the time budget was spent before the outputs were checked for shared"
    " randomness, without which nothing is called a violation; raise the time budget"
)
"""Why a finding is no violation yet, and what to do."""


class Finding(enum.Enum):
    """The answers of an audit, under the spelling of the command line.

    >>> Finding("violation") is Finding.VIOLATION
    True
    """

    _value_: str
    colour: str
    """On a terminal."""
    meaning: str

    def __new__(cls, word: str, colour: str = "", meaning: str = "") -> Finding:
        """Make a member whose value is the word."""
        made = object.__new__(cls)
        made._value_, made.colour, made.meaning = word, colour, meaning
        return made

    VIOLATION = (
        "violation",
        "red",
        "The promise is false, at the stated confidence; the witness replays.",
    )
    FLOATING_POINT = (
        "violation (floating point only)",
        "red",
        "The promise is false of the floating-point numbers that are released: their low bits tell the "
        "neighbours apart. Nothing was found without the bits, so it may hold in real arithmetic; a claim "
        'that promises no more says arithmetic = "real".',
    )
    CONSISTENT = (
        "consistent",
        "cyan",
        "Not refuted on the pair that was run, by an audit that sees violations of twice the promised "
        "epsilon there with power 0.9, in each of the classes of events that it names.",
    )
    INCONCLUSIVE = (
        "inconclusive",
        "yellow",
        "Not refuted, and such violations in one of these classes are not seen, or nothing was measured. "
        "The answer says which class; give a larger budget, or scores that see it.",
    )

    @property
    def violated(self) -> bool:
        """Whether the claim is refuted for what is released, through floating-point bits or without them.

        >>> [verdict.value for verdict in Finding if verdict.violated]
        ['violation', 'violation (floating point only)']
        """
        return self in (Finding.VIOLATION, Finding.FLOATING_POINT)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The outcome of one audit.

    Attributes:
        claim: the claim's name.
        verdict: the answer.
        claimed_epsilon: the epsilon that the claim allows at ``delta``.
        epsilon_lower: the mechanism is not (x, delta)-DP for any x below this.
        delta: where ``epsilon_lower`` and ``would_have_seen`` are stated.
        confidence: 1 - alpha; with at least this probability a violation is one *and* ``epsilon_lower``
            is true (they may fail with probability `audits.engine.betting.trial.VERDICT` alpha and the rest of alpha).
        samples: samples spent on both inputs together.
        would_have_seen: an epsilon at ``delta`` that this audit detects with power 0.9: on the reference
            pair (`engine.power.simulated`) where the likelihood ratio is known, otherwise twice the claim if ``power``
            says so; ``inf`` if none, ``None`` after a violation. Of a violation through floating-point bits
            only: what would have been seen without them.
        e_value: the largest average wealth of the bets against the claim.
        alpha: the level.
        seed: the seed everything was drawn from.
        pair: what the two inputs are.
        pairs: of every pair that was run its description, its relation, and whether that was ``"checked"`` or
            is ``"taken on trust"``, with the reason.
        event: the single event that earned most, or the learned posterior if that earned more, as JSON data;
            ``None`` if no bet was placed.
        counts: how often that event was won, lost and passed.
        score: the name of the score the event thresholds.
        replay: what else a replay needs.
        without_bits: of a violation through floating-point bits only, the answer without them.
        arithmetic: of the claim: ``"real"`` if it promises nothing of floating-point bits.
        power: from each class of events to what was measured of the power against violations in it.
        not_covered: what violations were not planted in.
        weakness: why a verdict is "inconclusive" and what to do, in words; otherwise an empty text.
        unconfirmed: the bets refuted the claim, but the time budget was spent before the checks of
            independence that a violation needs. The verdict is then "inconclusive", and the event is kept.
        shown: what fresh outputs on either input show of a violation.
        shortened: what is taken on trust because these checks were shortened; otherwise an empty text.
    """

    claim: str
    verdict: Finding
    claimed_epsilon: float
    epsilon_lower: float
    delta: float
    confidence: float
    samples: int
    would_have_seen: float | None
    e_value: float
    alpha: float
    seed: int
    pair: str
    event: Mapping[str, Any] | None
    counts: Mapping[str, int] | None
    score: str | None
    replay: Mapping[str, Any] = field(default_factory=dict)
    without_bits: Finding | None = None
    pairs: Sequence[Mapping[str, str]] = ()
    arithmetic: str = "floating-point"

    @property
    def taken_on_trust(self) -> list[str]:
        """What the answer rests on that nothing here checked, one sentence each."""
        trusted = (one for one in self.pairs if one["status"] != "checked")
        pairs = [f"{one['description']}: {one['relation']} neighbours ({one['why']})" for one in trusted]
        return [*pairs, INDEPENDENCE, *([self.shortened] if self.shortened else [])]

    @property
    def fails(self) -> bool:
        """Whether the claim is refuted; bits refute none about real arithmetic."""
        return self.verdict is Finding.VIOLATION or (self.verdict.violated and self.arithmetic != "real")

    power: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    not_covered: tuple[str, ...] = ()
    weakness: str = ""
    unconfirmed: bool = False
    shortened: str = ""
    shown: Shown | None = field(default=None, compare=False)

    @property
    def words(self) -> tuple[str, ...]:
        """The finding in sentences: of a violation epsilon, the event, what it looks like, and the pair."""
        return sentences(self)

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        """The answer in at most ten lines."""
        lower = self.epsilon_lower
        least = lower if lower == math.inf else math.floor(lower * 1e6) / 1e6
        claimed = f"claimed epsilon {self.claimed_epsilon:g} at delta {self.delta:g}"
        lines = [
            f"{self.claim}: {self.verdict.value} ({claimed}, {self.samples} samples)",
            *self.words,
            *([] if self.words and self.verdict.violated else [f"epsilon is at least {least:g}"]),
            *([f"{self.weakness}"] if self.weakness else []),
            *([f"not covered: {'; '.join(self.not_covered)}"] if self.not_covered else []),
        ]
        return lines[:10]

    def _repr_html_(self) -> str:
        first, *rest = map(html.escape, self._lines())
        return f"<p><b>{first}</b></p><ul>{''.join(f'<li>{line}</li>' for line in rest)}</ul>"

    def plot(self) -> Figure:
        """Return the two histograms with the event as a figure of matplotlib.

        Raises:
            ValueError: there is no violation to show, or no number in the outputs.
        """
        if self.shown is None:
            raise ValueError(
                f"plot: the finding ({self.verdict.value}) has no event to show; only violations have"
            )
        from dpproof.audits.recording.picture import picture  # it loads matplotlib

        return picture(self.shown, f"{self.claim}: {self.verdict.value}")

    def to_json(self) -> str:
        """The answer as JSON text, as the command line has it; `from_json` reads it back."""
        return json_text(self.as_json())

    @classmethod
    def from_json(cls, text: str) -> Evidence:
        """The evidence of `to_json`'s text.

        Raises:
            ValueError: the text is none of an audit.
        """
        try:
            return cls._read(json.loads(text))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"text ({text!r:.40}) must be one that to_json wrote: {error!r}") from error

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> Evidence:
        held, bits = data["witness"], data.get("without_bits")
        trusted, seen = data["taken_on_trust"], data["would_have_seen"]
        same: dict[str, Any] = {
            name: data[name] for name in ("claim", "delta", "confidence", "samples", "power")
        }
        same |= {name: held[name] for name in ("alpha", "seed", "pair", "event", "counts", "score", "replay")}
        same |= {name: float(data[name]) for name in ("claimed_epsilon", "epsilon_lower")}
        return cls(
            **same,
            verdict=Finding(data["verdict"]),
            would_have_seen=None if seen is None else float(seen),
            e_value=float(held["e_value"]),
            pairs=tuple(data["pairs"]),
            without_bits=None if bits is None else Finding(bits),
            arithmetic=data.get("arithmetic", "floating-point"),
            not_covered=tuple(data["not_covered"]),
            weakness=data["weakness"],
            unconfirmed=data.get("unconfirmed", False),
            shortened="".join(trusted[trusted.index(INDEPENDENCE) + 1 :]),
            shown=None if "shown" not in data else Shown.read(data["shown"]),
        )

    def left_unconfirmed(self) -> Evidence:
        """The same finding as no more than a suspicion: no bound above the claim, and no violation."""
        return replace(
            self,
            verdict=Finding.INCONCLUSIVE,
            epsilon_lower=min(self.epsilon_lower, self.claimed_epsilon),
            would_have_seen=math.inf,
            without_bits=None,
            power={},
            not_covered=(),
            weakness=UNCONFIRMED,
            unconfirmed=True,
        )

    def as_json(self) -> dict[str, Any]:
        """The contract's keys, and under ``"witness"`` what `dpproof.replay` needs; infinity is ``"inf"``."""
        more: dict[str, Any] = {"unconfirmed": True} if self.unconfirmed else {}
        more |= {} if self.without_bits is None else {"without_bits": self.without_bits.value}
        return {
            "claim": self.claim,
            "verdict": self.verdict.value,
            "claimed_epsilon": finite(self.claimed_epsilon),
            "epsilon_lower": finite(self.epsilon_lower),
            "delta": self.delta,
            "confidence": self.confidence,
            "samples": self.samples,
            "would_have_seen": None if self.would_have_seen is None else finite(self.would_have_seen),
            "pairs": [dict(pair) for pair in self.pairs],
            "taken_on_trust": self.taken_on_trust,
            "power": {name: dict(found) for name, found in self.power.items()},
            "not_covered": list(self.not_covered),
            "weakness": self.weakness,
            "words": list(self.words),
            "witness": self.witness(),
            **more,
            **({} if self.shown is None else {"shown": self.shown.as_json()}),
            **({"arithmetic": self.arithmetic} if self.arithmetic == "real" else {}),
        }

    def witness(self) -> dict[str, Any]:
        """The pair, event, counts and seed of the finding, as JSON data."""
        return {
            "claim": self.claim,
            "verdict": self.verdict.value,
            "pair": self.pair,
            "seed": self.seed,
            "alpha": self.alpha,
            "delta": self.delta,
            "samples": self.samples,
            "score": self.score,
            "event": None if self.event is None else dict(self.event),
            "counts": None if self.counts is None else dict(self.counts),
            "e_value": finite(self.e_value),
            "replay": dict(self.replay),
            **({"unconfirmed": True} if self.unconfirmed else {}),
        }
