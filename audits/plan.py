"""The settings of an audit. A witness (the record of an audit) stores them, so that the audit can be repeated."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, fields, replace
from typing import Required, TypedDict, cast

from dpproof.audits.engine.scores.names import EDITION
from dpproof.audits.engine.scores.protocol import Score
from dpproof.audits.recording.written import read, written
from dpproof.audits.time_budget import ending_at

BUDGET = 100_000
"""The default number of samples, for both inputs together."""
FURTHER = 0.1
"""The default share of the budget that an audit draws after a violation, for a larger lower bound on epsilon."""
STATED = ("seed", "alpha", "delta", "claim")
"""The fields of `AuditPlan` that a witness (the record of an audit) stores at its top level."""
SPENT = ("budget", "sharpen", "further", "sparing")
"""The fields of `AuditPlan` that a witness (the record of an audit) stores under ``replay``."""

CALLED = ("scores", "known_ratio", "power")
"""The fields of `AuditPlan` that a witness (the record of an audit) stores with the arguments of the call."""


class Asked(TypedDict, total=False):
    """The keywords of an audit: the fields of `AuditPlan`."""

    seed: Required[int]
    delta: float | None
    alpha: float
    budget: int | None
    scores: Sequence[Score | str] | None
    known_ratio: bool
    sharpen: bool
    further: float
    power: bool
    claim: str | None
    seconds: float | None
    replay: Mapping[str, object] | None
    searched: tuple[int, int] | None
    edition: int
    sparing: int | None
    executor: Executor | None


@dataclass(frozen=True, kw_only=True)
class AuditPlan:
    """The settings of an audit of any kind.

    Attributes:
        seed: a nonnegative integer, the source of all randomness.
        delta: the delta at which the results ``epsilon_lower`` and ``would_have_seen`` are stated; None for the delta
            of the audited target.
        alpha: the largest probability of a false alarm, in (0, 1).
        budget: the largest number of samples; None for the target's default. In an audit of a training, each fair
            coin counts as one sample.
        scores: functions that map an output to a number; the tested events are "the number is large" and "the number
            is small". `audits.engine.scores.names` lists the names. All named scores have equal weight. If None is
            given, the target chooses the scores.
        known_ratio: whether the distributions of the outputs are known, and the first score is monotone in their
            likelihood ratio. Then the audit simulates its power. Otherwise it measures the power: it adds violations
            of twice the claim to fresh outputs on the first input. This takes about ten to forty times as many
            outputs as the audit has samples.
        sharpen: whether to spend the whole budget even after a violation, for a larger ``epsilon_lower``.
        further: the largest share of the budget that is drawn after a violation, for a larger ``epsilon_lower``.
        power: whether to measure the power. If not, an audit that refutes nothing is inconclusive.
        claim: the name of the claim in the evidence; None for the name that the target gives.
        seconds: the time budget. The audit measures the speed of the mechanism first, and draws as many samples as fit;
            see `dpproof.audits.engine.sampling.speed`. An audit that takes longer ends with `OutOfTimeError`.
        replay: JSON data that the record of the audit stores under ``replay``, in place of the usual data.
        searched: for a replay, the number of the pair that the recorded search found, and the number of samples that
            the search spent. The replay does not search again, so it audits a changed implementation on the same
            pair.
        edition: the edition of the default scores: 4, or that of a witness for its replay; 1 if it names none. Edition
            1 lacks the scores of interactions, of the parts of objects, and of images. Before edition 3 all scores
            bet in each measurement of the power; now the leading scores bet first. Before edition 4 there is no score
            of remainders, the power is measured in fewer classes of events, and the bets on a score have 32 bins and
            end after 2^16 samples.
        sparing: for a slow mechanism, the number of outputs of a call of its checks; 0 for the usual numbers. If it is
            None and there is a time budget, the audit measures the speed of the mechanism and chooses the number.
        executor: draws blocks of samples in parallel. If it uses processes, the audited object must be picklable. The
            executor does not change the result, and the JSON data leave it out.

    >>> plan = AuditPlan(seed=1, budget=500, scores=("tokens",))
    >>> AuditPlan.read(plan.as_json()) == plan
    True
    """

    seed: int
    delta: float | None = None
    alpha: float = 0.01
    budget: int | None = None
    scores: Sequence[Score | str] | None = None
    known_ratio: bool = False
    sharpen: bool = False
    further: float = 0.0
    power: bool = True
    claim: str | None = None
    seconds: float | None = None
    replay: Mapping[str, object] | None = None
    searched: tuple[int, int] | None = None
    edition: int = EDITION
    sparing: int | None = None
    executor: Executor | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The claim's name in the evidence."""
        return "" if self.claim is None else self.claim

    @property
    def stated(self) -> float:
        """The delta at which epsilon is stated; 0 if ``delta`` is None."""
        return 0.0 if self.delta is None else self.delta

    @property
    def drawn(self) -> int:
        """The largest number of samples: the budget, or the default budget if none is given."""
        return BUDGET if self.budget is None else self.budget

    @property
    def spent(self) -> dict[str, object]:
        """The fields in `SPENT`, which the record of an audit stores."""
        more = {name: value for name in SPENT[2:] if (value := getattr(self, name))}
        return {"budget": self.drawn, "sharpen": self.sharpen, **more}

    @property
    def measuring(self) -> dict[str, object]:
        """How the power is measured, as arguments that the record of an audit stores; empty in the usual case."""
        usual = self.power and not self.known_ratio
        return {} if usual else {"power": self.power, "known_ratio": self.known_ratio}

    @property
    def after(self) -> float:
        """The number of samples to draw after a violation; the last block may exceed it."""
        return math.inf if self.sharpen else self.further * self.drawn

    def at_most(self, budget: int) -> AuditPlan:
        """Return a copy of the plan whose budget is at most ``budget``."""
        return replace(self, budget=budget if self.budget is None else min(budget, self.budget))

    def filled(self, claim: str, delta: float, budget: int) -> AuditPlan:
        """Return a copy of the plan in which the arguments replace the fields that are None."""
        return replace(
            self,
            claim=claim if self.claim is None else self.claim,
            delta=delta if self.delta is None else self.delta,
            budget=budget if self.budget is None else self.budget,
        )

    def as_json(self) -> dict[str, object]:
        """Return the plan as JSON data for `read`: the seed and every field that differs from its default."""
        told = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "executor"}
        default = AuditPlan(seed=self.seed)
        return {
            name: written(value)
            for name, value in told.items()
            if name == "seed" or value != getattr(default, name)
        }

    @classmethod
    def read(cls, data: Mapping[str, object], executor: Executor | None = None) -> AuditPlan:
        """Return the plan that `as_json` converted to ``data``.

        Raises:
            ValueError: the data contain an unknown field.
        """
        known = [one.name for one in fields(cls) if one.name != "executor"]
        for name in data:
            if name not in known:
                raise ValueError(f"plan: key ({name!r}) must be one of: {', '.join(known)}")
        asked = cast(Asked, {name: read(value) for name, value in data.items()})
        asked["executor"] = executor
        return cls(**asked)

    @classmethod
    def of_witness(cls, witness: Mapping[str, object]) -> AuditPlan:
        """Return the plan that is stored in a witness, the JSON record of an audit."""
        how = cast(Mapping[str, object], witness["replay"])
        stated = {name: witness[name] for name in STATED}
        called = cast(Mapping[str, object], how.get("arguments", {}))
        told = {name: called[name] for name in CALLED if name in called}
        plan = cls.read(stated | told | {name: how[name] for name in SPENT if name in how})
        return replace(
            plan,
            searched=_searched(how.get("search")),
            edition=_edition(how.get("edition", 1)),
            sparing=plan.sparing or 0,
        )

    @contextlib.contextmanager
    def timed(self) -> Iterator[None]:
        """Limit the time of all audits in the ``with`` block to the seconds of the plan."""
        with ending_at(None if self.seconds is None else time.monotonic() + self.seconds):
            yield


def _edition(recorded: object) -> int:
    if type(recorded) is not int or not 1 <= recorded <= EDITION:
        raise ValueError(
            f"edition ({recorded!r}) of the default scores must be a whole number from 1 to {EDITION}"
        )
    return recorded


def _searched(recorded: object) -> tuple[int, int] | None:
    """Return the place and the number of samples of a recorded search; None if there was none."""
    if not isinstance(recorded, Mapping):
        return None
    place, samples = recorded.get("winner"), recorded.get("samples")
    if type(place) is not int or type(samples) is not int or min(place, samples) < 0:
        raise ValueError(
            f"search: winner ({place!r}) and samples ({samples!r}) must be whole numbers that are not negative"
        )
    return place, samples
