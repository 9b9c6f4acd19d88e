"""The plan of an audit: its seed, level, budget and scores. A witness stores the plan for a replay."""

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
"""The default number of samples, for both inputs together."""
FURTHER = 0.1
"""The share of the budget that is drawn after a violation, for a larger lower bound on epsilon."""
STATED = ("seed", "alpha", "delta", "claim")
"""The fields of the plan that a witness stores."""
SPENT = ("budget", "sharpen", "further")
"""The fields of the plan that a witness stores under ``replay``."""

CALLED = ("scores", "known_ratio", "power")
"""The fields of the plan that a witness stores under ``replay`` among the arguments of a call."""


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
    executor: Executor | None


@dataclass(frozen=True, kw_only=True)
class AuditPlan:
    """The settings of an audit of any kind.

    Attributes:
        seed: a nonnegative integer, the source of all randomness.
        delta: the delta of ``epsilon_lower`` and ``would_have_seen``; None for the target's own.
        alpha: the level, in (0, 1).
        budget: the largest number of samples (of trainings: coins); None for the target's default.
        scores: the statistics whose tails are the tested events. All scores have equal shares of the bets. Names are
            those of `audits.engine.scores.names`. None for the target's default.
        known_ratio: whether the distribution of the outputs is known, and the first score is monotone in its
            likelihood ratio. Then the power is simulated. Otherwise it is measured: violations of twice the claim are
            planted in fresh outputs on the first input, some ten to forty times as many as the samples.
        sharpen: whether to spend the whole budget even after a violation, for a larger ``epsilon_lower``.
        further: the largest share of the budget that is drawn after a violation, for a larger ``epsilon_lower``.
        power: whether to measure the power. Without it an audit that refutes nothing is inconclusive.
        claim: the name of the claim in the evidence; None for the target's own.
        seconds: the time budget; an audit that takes longer ends with `OutOfTimeError`.
        replay: JSON data that the witness stores instead of the data that `dpproof.replay` would need.
        searched: for a replay, the place of the pair that the recorded search found, and the samples that it spent.
            The search is not repeated, so that a changed implementation is audited on the same pair.
        executor: draws blocks of samples. If it uses processes, the audited object must be picklable. The executor
            changes no answer and is no part of the JSON data.

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
    executor: Executor | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The claim's name in the evidence."""
        return "" if self.claim is None else self.claim

    @property
    def stated(self) -> float:
        """The delta at which epsilon is stated; 0 if none is given."""
        return 0.0 if self.delta is None else self.delta

    @property
    def drawn(self) -> int:
        """The largest number of samples: the budget, or the default budget if none is given."""
        return BUDGET if self.budget is None else self.budget

    @property
    def spent(self) -> dict[str, object]:
        """The settings on the number of samples that a witness stores under ``replay``."""
        more = {"further": self.further} if self.further else {}
        return {"budget": self.drawn, "sharpen": self.sharpen, **more}

    @property
    def after(self) -> float:
        """The largest number of samples that are drawn after a violation."""
        return math.inf if self.sharpen else self.further * self.drawn

    def at_most(self, budget: int) -> AuditPlan:
        """Return the plan with its budget limited to this number."""
        return replace(self, budget=budget if self.budget is None else min(budget, self.budget))

    def filled(self, claim: str, delta: float, budget: int) -> AuditPlan:
        """Return the plan with these values for the fields that are None."""
        return replace(
            self,
            claim=claim if self.claim is None else self.claim,
            delta=delta if self.delta is None else self.delta,
            budget=budget if self.budget is None else self.budget,
        )

    def as_json(self) -> dict[str, object]:
        """Return JSON data for `read`: the seed and every field that differs from its default."""
        told = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "executor"}
        default = AuditPlan(seed=self.seed)
        return {
            name: written(value)
            for name, value in told.items()
            if name == "seed" or value != getattr(default, name)
        }

    @classmethod
    def read(cls, data: Mapping[str, object], executor: Executor | None = None) -> AuditPlan:
        """Return the plan from the data of `as_json`.

        Raises:
            ValueError: an unknown field.
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
        """Return the plan that is stored in a witness."""
        how = cast(Mapping[str, object], witness["replay"])
        stated = {name: witness[name] for name in STATED}
        called = cast(Mapping[str, object], how.get("arguments", {}))
        told = {name: called[name] for name in CALLED if name in called}
        plan = cls.read(stated | told | {name: how[name] for name in SPENT if name in how})
        return replace(plan, searched=_searched(how.get("search")))

    @contextlib.contextmanager
    def timed(self) -> Iterator[None]:
        """Limit the time of all audits in the ``with`` block to the seconds of the plan."""
        with ending_at(None if self.seconds is None else time.monotonic() + self.seconds):
            yield


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
