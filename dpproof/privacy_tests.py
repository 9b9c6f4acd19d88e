"""What the fixture ``privacy`` of the pytest plugin does; see `dpproof.pytest_plugin`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from accountant.accounted import accountant_for
from accountant.adjacency import Adjacency
from accountant.claims import Claim
from accountant.parameters import Integers, Reals, Values
from audits.evidence import Evidence, Verdict
from audits.pairs import Pair
from audits.runner import BUDGET, audit

__all__ = ["Privacy", "privacy_of"]

PROMISE = ("epsilon", "delta", "rho", "mu")
OTHERS = ("adjacency", "budget", "strict")
INI: Mapping[str, Values] = {
    "privacy_alpha": Reals(0, 1, lower_open=True, upper_open=True),
    "privacy_seed": Integers(0),
}


def privacy_of(request: pytest.FixtureRequest, users: int) -> Privacy:
    """The fixture of one test: its promise, and its share of the session's error budget.

    Raises:
        pytest.UsageError: no marker, or one that promises nothing; an ini option outside its domain.
    """
    marker = request.node.get_closest_marker("privacy")
    if marker is None:
        raise pytest.UsageError(
            f"{request.node.nodeid}: the fixture `privacy` needs the marker `privacy(...)`"
        )
    alpha, seed = (_ini(request.config, name) for name in INI)
    try:
        claim = _claim(request.node.nodeid, marker.args, marker.kwargs)
    except ValueError as error:
        raise pytest.UsageError(f"{request.node.nodeid}: marker privacy: {error}") from error
    return Privacy(
        claim,
        alpha / max(users, 1),
        seed,
        budget=marker.kwargs.get("budget", BUDGET),
        strict=marker.kwargs.get("strict", False),
        witnesses=_witnesses(request.config),
        properties=request.node.user_properties,
    )


def _ini(config: pytest.Config, name: str) -> Any:
    text = config.getini(name)
    try:
        value = INI[name].read(text)
    except ValueError:
        value = None
    if not INI[name].admits(value):
        raise pytest.UsageError(f"{name} ({text!r}) must be {INI[name]}")
    return value


def _claim(name: str, args: tuple[Any, ...], given: Mapping[str, Any]) -> Claim:
    """The promise of a marker."""
    if args:
        raise ValueError(f"value ({args[0]!r}) must be given by name")
    for key in given:
        if key not in (*PROMISE, *OTHERS):
            raise ValueError(f"key ({key!r}) must be one of: {', '.join((*PROMISE, *OTHERS))}")
    if "adjacency" not in given:
        raise ValueError("adjacency is missing; there is no default")
    promise = {key: given[key] for key in PROMISE if key in given}
    return Claim(name, "the:test", {}, Adjacency.of(given["adjacency"]), promise)


def _witnesses(config: pytest.Config) -> Path | None:
    named = config.getini("privacy_witnesses")
    if named:
        return Path(config.rootpath, named)
    cache = getattr(config, "cache", None)  # pytest's own plugin, which may be switched off
    return None if cache is None else Path(cache.mkdir("privacy-witnesses"))


@dataclass
class Privacy:
    """Holds implementations to the promise of one test.

    Attributes:
        claim: the promise.
        alpha: the error probability of all audits of the test together.
        seed: everything random derives from it and the test's name.
        budget: the most samples of one audit.
        strict: whether an audit that could not have seen twice the promise fails the test, too.
        witnesses: where witnesses of violations go; None for nowhere.
        properties: gets a line for each check, for JUnit files.
    """

    claim: Claim
    alpha: float
    seed: int
    budget: int = BUDGET
    strict: bool = False
    witnesses: Path | None = None
    properties: list[tuple[str, object]] = field(default_factory=list)
    checks: int = field(default=0, init=False)

    def audit(self, mechanism: Any, first: Any, second: Any = None, **options: Any) -> Evidence:
        """Run a mechanism on two neighbouring inputs; a violation of the promise fails the test.

        Args:
            mechanism: as for `audits.audit`: ``f(data, n, rng)``, ``f(data, rng)``, or a `Mechanism`.
            first: one input, or an `audits.Pair`, whose inputs are checked to be neighbours.
            second: the other input; that the two are neighbours is taken on trust.
            options: of `audits.audit`, such as ``scores`` or ``executor``.
        """
        self.checks += 1
        pair = first if isinstance(first, Pair) else self._trusted(first, second)
        found = audit(
            self.claim.name,
            self.claim.guarantee,
            mechanism,
            pair,
            **{
                "seed": self._seed(),
                "delta": self.claim.delta,
                "alpha": self.alpha * 0.5**self.checks,
                "budget": self.budget,
                **options,
            },
        )
        self._judge(found)
        return found

    def certify(self, name: str, **parameters: Any) -> None:
        """Account for one of this project's mechanisms; the test fails unless the promise is proved."""
        from dpproof.report.claims import check_claim

        self.checks += 1
        claim = Claim(
            self.claim.name,
            name,
            parameters,
            self.claim.adjacency,
            self.claim.promise,
            trust=self.claim.trust,
        )
        accountant_for(name).parameters.read(parameters)
        ledger = check_claim(claim, audited=False)
        self._note(f"{ledger.verdict} ({name})")
        if ledger.verdict != "kept":
            bound = {} if ledger.account is None else ledger.account["epsilon"]
            lines = [f"promise not certified: {name}", f"  promised   {self._promised()}"]
            lines += [f"  certified  epsilon at most {bound.get('upper', 'inf')} at delta {claim.delta}"]
            pytest.fail("\n".join([*lines, *(f"  {text}" for text in ledger.remarks)]), pytrace=False)

    def _trusted(self, first: Any, second: Any) -> Pair:
        described = f"{first!r:.60} and {second!r:.60}, taken on trust to be neighbours"
        return Pair(first, second, self.claim.adjacency, described, lambda _first, _second: None)

    def _seed(self) -> int:
        text = f"{self.seed} {self.claim.name} {self.checks}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

    def _judge(self, found: Evidence) -> None:
        self._note(
            f"{found.verdict.value}, epsilon at least {found.epsilon_lower:.4g}, {found.samples} samples"
        )
        failed = {Verdict.VIOLATION, *([Verdict.INCONCLUSIVE] if self.strict else [])}
        if found.verdict in failed:
            pytest.fail(self._text(found), pytrace=False)

    def _note(self, text: str) -> None:
        self.properties.append(("privacy", text))

    def _promised(self) -> str:
        promise = ", ".join(f"{name} = {value}" for name, value in self.claim.promise.items())
        return f"{promise} ({self.claim.adjacency.value})"

    def _text(self, found: Evidence) -> str:
        """Why the test fails, with the witness."""
        event = "" if found.event is None else f"{found.score}: {json.dumps(dict(found.event))}"
        lines = [
            f"privacy: {found.verdict.value}",
            f"  promised   {self._promised()}",
            f"  found      epsilon at least {found.epsilon_lower:.6g} at delta {found.delta}, "
            f"confidence {found.confidence:.6g}",
            f"  pair       {found.pair}",
            f"  event      {event}",
            f"  counts     {dict(found.counts or {})} of {found.samples} samples, seed {found.seed}",
        ]
        if self.witnesses is not None and found.verdict is Verdict.VIOLATION:
            from dpproof.auditing import write_witness

            lines.append(f"  witness    {write_witness(found, self.witnesses)}")
        return "\n".join(lines)
