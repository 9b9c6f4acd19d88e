"""The plan of an audit: its seed, level, budget and scores; a witness holds one, and a replay follows it."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, fields, replace
from typing import Required, TypedDict, cast

from dpproof.audits.engine.scores.protocol import Score
from dpproof.audits.recording.written import read, written
from dpproof.audits.time_budget import ending_at

BUDGET = 100_000
"""Default number of samples, of both inputs together."""
FURTHER = 0.1
"""The share of the budget that is drawn after a violation, for a larger bound on epsilon."""
STATED = ("seed", "alpha", "delta", "claim")
"""What a witness says of its plan."""
SPENT = ("budget", "sharpen", "further")
"""What it says under ``replay``."""

CALLED = ("scores", "known_ratio", "power")
"""What it says there of a call."""


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
    executor: Executor | None


@dataclass(frozen=True, kw_only=True)
class AuditPlan:
    """How an audit is run, whatever is audited.

    Attributes:
        seed: a nonnegative integer; everything random derives from it.
        delta: where ``epsilon_lower`` and ``would_have_seen`` are stated; None for what the target states.
        alpha: the level, in (0, 1).
        budget: the most samples (of trainings: coins); None for what suits the target.
        scores: tails of these are the events; the bets are shared out equally. Names of
            `audits.engine.scores.names` stand for scores that suit the outputs. None for what suits the target.
        known_ratio: the law of the outputs is known, and the first score rises or falls with its likelihood
            ratio. Then the power is simulated. Otherwise it is measured: violations of twice the claim are
            planted in fresh outputs on the first input, some ten to forty times as many as the samples.
        sharpen: spend the whole budget also after a violation, for a larger ``epsilon_lower``.
        further: the share of the budget that is drawn at most after a violation, for a larger ``epsilon_lower``.
        power: measure the power. Without it an audit that refutes nothing is inconclusive.
        claim: the name in the evidence; None for the target's own.
        seconds: the time that there is; an audit that takes longer ends with `OutOfTimeError`.
        replay: JSON data that the witness carries instead of what `dpproof.replay` would need.
        executor: draws blocks of samples; with processes, what is audited must pickle. It changes no answer
            and is no part of the JSON data.

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
    executor: Executor | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The claim's name in the evidence."""
        return "" if self.claim is None else self.claim

    @property
    def stated(self) -> float:
        """Where epsilon is stated; 0 where nothing says so."""
        return 0.0 if self.delta is None else self.delta

    @property
    def drawn(self) -> int:
        """The most samples of an audit without a budget of its own."""
        return BUDGET if self.budget is None else self.budget

    @property
    def spent(self) -> dict[str, object]:
        """What a witness says under ``replay`` of how many samples were drawn."""
        more = {"further": self.further} if self.further else {}
        return {"budget": self.drawn, "sharpen": self.sharpen, **more}

    @property
    def after(self) -> float:
        """The most samples that are drawn after a violation."""
        return math.inf if self.sharpen else self.further * self.drawn

    def at_most(self, budget: int) -> AuditPlan:
        """The plan with no more than this budget."""
        return replace(self, budget=budget if self.budget is None else min(budget, self.budget))

    def filled(self, claim: str, delta: float, budget: int) -> AuditPlan:
        """The plan with these where it says nothing."""
        return replace(
            self,
            claim=claim if self.claim is None else self.claim,
            delta=delta if self.delta is None else self.delta,
            budget=budget if self.budget is None else self.budget,
        )

    def as_json(self) -> dict[str, object]:
        """Plain data that `read` takes: whatever differs from its default, and the seed."""
        told = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "executor"}
        default = AuditPlan(seed=self.seed)
        return {
            name: written(value)
            for name, value in told.items()
            if name == "seed" or value != getattr(default, name)
        }

    @classmethod
    def read(cls, data: Mapping[str, object], executor: Executor | None = None) -> AuditPlan:
        """The plan of `as_json`'s data.

        Raises:
            ValueError: an unknown field.
        """
        known = [one.name for one in fields(cls) if one.name != "executor"]
        for name in data:
            if name not in known:
                raise ValueError(f"plan: {name} must be one of: {', '.join(known)}")
        asked = cast(Asked, {name: read(value) for name, value in data.items()})
        asked["executor"] = executor
        return cls(**asked)

    @classmethod
    def of_witness(cls, witness: Mapping[str, object]) -> AuditPlan:
        """The plan that a witness says it was found by."""
        how = cast(Mapping[str, object], witness["replay"])
        stated = {name: witness[name] for name in STATED}
        called = cast(Mapping[str, object], how.get("arguments", {}))
        told = {name: called[name] for name in CALLED if name in called}
        return cls.read(stated | told | {name: how[name] for name in SPENT if name in how})

    @contextlib.contextmanager
    def timed(self) -> Iterator[None]:
        """Let audits in here take no longer than the seconds of the plan."""
        with ending_at(None if self.seconds is None else time.monotonic() + self.seconds):
            yield
