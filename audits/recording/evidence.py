"""Evidence: the result of an audit, with everything that is needed to repeat it."""

from __future__ import annotations

import enum
import html
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from dpproof.accountant.numbers.written import finite, json_text
from dpproof.audits.recording.words import Shown, sentences

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INDEPENDENCE = "the outputs are independent, but for the kinds of dependence that an audit looks for"
"""The assumption of every audit (docs/notes/audit_pairs.md)."""

UNCONFIRMED = (
    "the bets refute the claim, but the time budget was spent before the outputs were checked for shared"
    " randomness, and without this check no violation is reported; raise the time budget"
)
"""The reason why an unconfirmed finding is no violation, and what to do about it."""


class Finding(enum.Enum):
    """The answers of an audit, with the words of the command line as values.

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
        """Whether the claim is refuted for the released numbers, with or without their floating-point bits.

        >>> [verdict.value for verdict in Finding if verdict.violated]
        ['violation', 'violation (floating point only)']
        """
        return self in (Finding.VIOLATION, Finding.FLOATING_POINT)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The result of one audit, with everything that is needed to report and to repeat the audit.

    Attributes:
        claim: the name of the claim.
        verdict: the answer of the audit: violation, consistent, inconclusive, or a violation in floating-point bits
            only.
        claimed_epsilon: the epsilon that the claim allows at ``delta``.
        epsilon_lower: a lower bound on epsilon; the mechanism is not (x, delta)-DP for any smaller x.
        delta: the delta at which ``epsilon_lower`` and ``would_have_seen`` are stated.
        confidence: 1 - alpha. With at least this probability, the verdict is no false violation *and*
            ``epsilon_lower`` is correct. The bets against the claim use the share
            `audits.engine.betting.trial.VERDICT` of alpha, and ``epsilon_lower`` uses the rest.
        samples: the number of samples on both inputs together.
        would_have_seen: an epsilon at ``delta`` that this audit detects with power 0.9; ``inf`` if none is known,
            ``None`` after a violation. If the likelihood ratio is known, the number is simulated
            (`engine.power.simulated`). Otherwise it is twice the claim, if ``power`` shows this. After a violation in
            floating-point bits only, it applies to the scores that see more than these bits.
        e_value: the largest wealth, over time, of all bets against the claim, for an initial wealth of 1.
        alpha: the largest probability of a false alarm.
        seed: the seed of all randomness.
        pair: a description of the two inputs.
        pairs: for every pair that was run, its description, its relation, and whether the relation was ``"checked"``
            or is ``"taken on trust"``, with the reason.
        event: the event (a set of outputs) whose bet won most, as JSON data, or the learned posterior if its bet won
            more; ``None`` if no bet was placed.
        counts: on how many samples the bet on ``event`` was won, lost and not placed.
        score: the name of the score (the number computed from an output) that defines the event.
        replay: all other data that a replay needs.
        without_bits: for a violation in floating-point bits only, the verdict without the bits. It is at most
            inconclusive if the bits of numbers that are rounded to half of their digits refute the claim, too.
        arithmetic: ``"real"`` if the claim does not cover floating-point bits.
        power: for each kind of event, the measured power against violations in such events.
        not_covered: descriptions of the events for which the power was not measured.
        weakness: the reason why a verdict is "inconclusive", and what to do about it; otherwise an empty text.
        unconfirmed: True if the bets refuted the claim, but the time budget was spent before the checks that the
            outputs are independent. The verdict is then "inconclusive", and ``event`` is kept.
        shown: an illustration of a violation by fresh outputs on the two inputs.
        shortened: if some checks that the outputs are independent were not made, such as for lack of time, the
            assumption that remains; otherwise an empty text.
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
        """The assumptions of the result that dpproof has not checked, one sentence each."""
        trusted = (one for one in self.pairs if one["status"] != "checked")
        pairs = [f"{one['description']}: {one['relation']} neighbours ({one['why']})" for one in trusted]
        return [*pairs, INDEPENDENCE, *([self.shortened] if self.shortened else [])]

    @property
    def fails(self) -> bool:
        """Whether the claim is refuted. If ``arithmetic`` is "real", floating-point bits alone do not count."""
        return self.verdict is Finding.VIOLATION or (self.verdict.violated and self.arithmetic != "real")

    power: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    not_covered: tuple[str, ...] = ()
    weakness: str = ""
    unconfirmed: bool = False
    shortened: str = ""
    shown: Shown | None = field(default=None, compare=False)

    @property
    def _covered(self) -> str:
        """The kinds of events that a *consistent* answer covers, with the planted violations seen; otherwise empty."""
        if Finding.CONSISTENT not in (self.verdict, self.without_bits):
            return ""
        counts = {name: (one["seen"], one["runs"]) for name, one in self.power.items()}
        return ", ".join(
            f"{name} ({'simulated' if seen is None else f'{seen} of {runs} planted'})"
            for name, (seen, runs) in counts.items()
        )

    @property
    def words(self) -> tuple[str, ...]:
        """The result in sentences: the pair, and for a violation also the bound, the event and a likely cause."""
        return sentences(self)

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        """Return the answer in at most ten lines."""
        lower = self.epsilon_lower
        least = lower if lower == math.inf else math.floor(lower * 1e6) / 1e6
        claimed = f"claimed epsilon {self.claimed_epsilon:g} at delta {self.delta:g}"
        lines = [
            f"{self.claim}: {self.verdict.value} ({claimed}, {self.samples} samples)",
            *self.words,
            *([] if self.words and self.verdict.violated else [f"epsilon is at least {least:g}"]),
            *([f"{self.weakness}"] if self.weakness else []),
            *([f"covered on this pair, at twice the claim: {self._covered}"] if self._covered else []),
            *([f"not covered: {'; '.join(self.not_covered)}"] if self.not_covered else []),
        ]
        return lines[:10]

    def _repr_html_(self) -> str:
        first, *rest = map(html.escape, self._lines())
        return f"<p><b>{first}</b></p><ul>{''.join(f'<li>{line}</li>' for line in rest)}</ul>"

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Return a matplotlib figure of the violation: one histogram for each input, with the event marked.

        The figure is saved if ``path`` is given.

        Raises:
            ValueError: there is no violation to show, or no number in the outputs.
        """
        if self.shown is None:
            raise ValueError(
                f"plot: The finding ({self.verdict.value}) has no event to show. Only violations have one."
            )
        from dpproof.audits.recording.picture import picture  # it loads matplotlib

        return picture(self.shown, f"{self.claim}: {self.verdict.value}").kept(path)

    def to_json(self) -> str:
        """Return the evidence as JSON text, as the command line prints it; `from_json` reads this text."""
        return json_text(self.as_json())

    @classmethod
    def from_json(cls, text: str) -> Evidence:
        """Return the evidence that `to_json` wrote as ``text``.

        Raises:
            ValueError: the text does not come from `to_json`.
        """
        try:
            return cls._read(json.loads(text))
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
            raise ValueError(f"text ({text!r:.40}) must come from to_json: {error!r}") from error

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
        """Return a copy that reports no violation, because the time ended before the violation was confirmed."""
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
        """Return the evidence as JSON data, with ``"witness"`` for `dpproof.replay`; infinity is ``"inf"``."""
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
        """Return the witness of the audit: JSON data with everything that a replay needs or compares."""
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
