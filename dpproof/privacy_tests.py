"""The fixture ``privacy`` of the pytest plugin: its options, and the checks that it runs.

See `dpproof.pytest_plugin`.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from dpproof import audits
from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import ARITHMETIC, Claim
from dpproof.accountant.claims.parameters import Choice, Flag, Integers, Reals, Values
from dpproof.accountant.claims.spelling import one_of
from dpproof.accountant.numbers.arithmetic import in_words
from dpproof.answers.account import Account
from dpproof.answers.audit import write_witness
from dpproof.answers.claims import check_claim, rests_on
from dpproof.audits.data.changes import Bounds
from dpproof.audits.data.extremes import Extremes
from dpproof.audits.data.pairs import Neighbours, check_pair
from dpproof.audits.engine.sampling.callables import Auditable, as_mechanism_with
from dpproof.audits.front import MISSING
from dpproof.audits.paired.comparing import compare_runs
from dpproof.audits.paired.finding import Answer, Compared
from dpproof.audits.plan import BUDGET, Asked
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.targets.call import audit
from dpproof.outcome import Outcome
from dpproof.wording import worth

PROMISE = ("epsilon", "delta", "rho", "mu")
MARKED: Mapping[str, tuple[Values, Any]] = {
    "budget": (Integers(1), BUDGET),
    "strict": (Flag(), False),
    "arithmetic": (Choice(*ARITHMETIC), ARITHMETIC[0]),
}
"""Options of the marker ``privacy`` besides the promise, each with its domain and its default."""
INI: Mapping[str, Values] = {
    "privacy_alpha": Reals(0, 1, lower_open=True, upper_open=True),
    "privacy_seed": Integers(0),
}
ENGINE = Path(audits.__file__).parent


@contextlib.contextmanager
def errors_as_failures(where: str | None = None) -> Iterator[None]:
    """Within this context, a ValueError fails the test with a message of one line and without a traceback.

    The message states the wrong value and the rule for it. If a user's code raised the error, the message also
    states the line in that code. ``where`` begins the message. Set DPPROOF_TRACEBACK=1 to see the traceback.
    """
    try:
        yield
    except ValueError as error:
        if os.environ.get("DPPROOF_TRACEBACK"):
            raise
        text = f"privacy: {error}{_raised_at(error.__cause__)}"
        said = text if where is None else f"{where}: {text}"
        raise pytest.fail.Exception(said, pytrace=False) from None


def _raised_at(cause: BaseException | None) -> str:
    """Return the innermost line that raised, unless it is in the engine."""
    frames = traceback.extract_tb(None if cause is None else cause.__traceback__)
    if not frames or ENGINE in Path(frames[-1].filename).parents:
        return ""
    return f" (at {frames[-1].filename}:{frames[-1].lineno})"


def check_key(label: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Check that all given keys are known. The error calls a key by ``label``, such as ``option``.

    Raises:
        ValueError: a key is unknown. The message names it, and the known keys or a similar one.
    """
    rule = tuple(known)
    for key in given:
        if key not in rule:
            raise ValueError(f"{label} ({key!r}) {one_of(key, rule)}")


def promise_of(
    name: str, args: tuple[object, ...], given: Mapping[str, Any]
) -> tuple[Claim, Mapping[str, Any]]:
    """Return the privacy promise that a test's marker states, and the options for the audit.

    ``name`` is the name of the test, ``args`` and ``given`` are the arguments of the marker.

    Raises:
        ValueError: naming the value and the rule.
    """
    if args:
        raise ValueError(f"value ({args[0]!r}) must be given by name, such as epsilon=1.0")
    check_key("key", given, (*PROMISE, "adjacency", *MARKED))
    if "adjacency" not in given:
        raise ValueError(f"adjacency is missing and has no default. Choose one of: {_relations()}")
    how = {key: given.get(key, meant) for key, (_, meant) in MARKED.items()}
    for key, value in how.items():
        if not MARKED[key][0].admits(value):
            raise ValueError(f"{key} ({value!r}) must be {MARKED[key][0]}")
    promise = {key: given[key] for key in PROMISE if key in given}
    if not promise.keys() - {"delta"}:
        raise ValueError("epsilon is missing. Give epsilon (with delta), rho or mu.")
    about = how.pop("arithmetic")
    claim = Claim(name, "the:test", {}, Adjacency.of(given["adjacency"]), promise, arithmetic=about)
    return claim, how


def _relations() -> str:
    return ", ".join(relation.value for relation in Adjacency)


def ini(config: pytest.Config, name: str) -> Any:
    """Return the value of an option in pytest's ini file.

    Raises:
        ValueError: naming the option, its text and its domain.
    """
    text = config.getini(name)
    try:
        value = INI[name].read(text)
    except ValueError:
        value = None
    if not INI[name].admits(value):
        raise ValueError(f"{name} ({text!r}) must be {INI[name]}")
    return value


HOW = ("failures", "nan", "seeded")
"""Options of `Privacy.audit` that define the outputs, as in the ``audit`` table of a claim file."""
OPTIONS = (*HOW, *(name for name in Asked.__annotations__ if name != "claim"))
"""Options of `Privacy.audit`: those in ``HOW``, and those of `dpproof.audit` except the name of the claim."""


def privacy_of(request: pytest.FixtureRequest, users: int) -> Privacy:
    """Return the object that the fixture ``privacy`` gives to one test.

    ``users`` is the number of tests that share the session's probability of a false alarm. A missing marker, a
    marker without a promise, or an invalid ini option fails the test with one line.
    """
    with errors_as_failures(request.node.nodeid):
        marker = request.node.get_closest_marker("privacy")
        if marker is None:
            raise ValueError("The fixture `privacy` needs the marker `@pytest.mark.privacy(...)`.")
        alpha, seed = (ini(request.config, name) for name in INI)
        claim, how = promise_of(request.node.nodeid, marker.args, marker.kwargs)
    return Privacy(
        claim,
        alpha / max(users, 1),
        seed,
        **how,
        witnesses=_witnesses(request.config),
        properties=request.node.user_properties,
    )


def _witnesses(config: pytest.Config) -> Path | None:
    named = config.getini("privacy_witnesses")
    if named:
        return Path(config.rootpath, named)
    cache = getattr(config, "cache", None)  # pytest's own plugin, which may be switched off
    return None if cache is None else Path(cache.mkdir("privacy-witnesses"))


@dataclass
class Privacy:
    """An object that checks implementations against the privacy promise of one test.

    Attributes:
        claim: the promise.
        alpha: the probability of a false alarm in all audits of the test together.
        seed: all randomness derives from this number and the test's name.
        budget: the largest number of samples of one audit.
        strict: whether the test also fails if the audit could not have detected twice the promise.
        witnesses: folder for files that describe violations; None to write none.
        properties: a list to which each check adds a line, for JUnit files.
    """

    claim: Claim
    alpha: float
    seed: int
    budget: int = BUDGET
    strict: bool = False
    witnesses: Path | None = None
    properties: list[tuple[str, object]] = field(default_factory=list)
    checks: int = field(default=0, init=False)

    def audit(
        self,
        mechanism: Auditable,
        first: object = MISSING,
        second: object = MISSING,
        *,
        data: object = MISSING,
        bounds: Bounds | None = None,
        **options: Any,
    ) -> Evidence:
        """Audit a mechanism and return the finding. A violation fails the test.

        The audit runs on neighbours that dpproof makes from data, or on two given inputs. If the audit is not
        possible, the test fails with a message of one line.

        Args:
            mechanism: as for `dpproof.audit`: ``f(data, n, rng)``, ``f(data, rng)``, or a `Mechanism`.
            first: one of three things. It is a data set, from which dpproof makes the neighbours. Or it is the first
                of two inputs, and ``second`` is the other one. Or it is an object `dpproof.Neighbours`, which holds
                two inputs. If dpproof knows the type of two given inputs (`dpproof.audits.data.relations`), it
                checks that they are neighbours.
            second: the other input.
            data: the data set, as a keyword instead of ``first``.
            bounds: bounds of the numbers in the data, as for `dpproof.audit`.
            options: the options of `dpproof.audit`, such as ``scores`` or ``executor``. If the mechanism is a
                function, they may also be the options ``failures``, ``nan`` and ``seeded`` of `dpproof.Mechanism`.
        """
        self.checks += 1
        with errors_as_failures():
            if data is second is MISSING and not isinstance(first, Neighbours):
                data, first = first, MISSING
            if data is MISSING and bounds is not None:
                raise ValueError(f"bounds ({bounds!r:.60}) must be left out unless data= is given")
            inputs = self._paired(first, second) if data is MISSING else self._extremes(data, first, bounds)
            found = self._audited(mechanism, inputs, options)
        self._judge(found)
        return found

    def compare(self, mechanism: Callable[..., Any], first: object, second: object) -> Compared:
        """Run a mechanism on two neighbours with the same noise and return what differs besides the noise.

        A difference fails the test, and so does an undecided comparison of a strict marker. See
        `dpproof.compare_runs`. The promise must be an epsilon, with or without delta.
        """
        self.checks += 1
        with errors_as_failures():
            if "epsilon" not in self.claim.promise:
                raise ValueError(f"promise ({self._promised()}) must be an epsilon, which compare needs")
            self._paired(first, second)
            found = compare_runs(
                mechanism,
                first,
                second,
                epsilon=float(self.claim.promise["epsilon"]),
                delta=float(self.claim.delta),
            )
        self._note(f"{found.answer.value}, {sum(found.draws.values())} draws")
        if found.answer is Answer.DIFFERENCE or (self.strict and found.answer is Answer.UNDECIDED):
            pytest.fail(f"privacy: {found}", pytrace=False)
        return found

    def _audited(
        self, mechanism: Auditable, inputs: Neighbours | Extremes, options: Mapping[str, Any]
    ) -> Evidence:
        check_key("option", options, OPTIONS)
        how = {name: options[name] for name in HOW if name in options}
        more = {name: value for name, value in options.items() if name not in HOW}
        share = self.alpha * 0.5**self.checks
        if not Reals(0, share, lower_open=True).admits(more.get("alpha", share)):
            rule = f"must be above 0 and at most {share!r}, the part of the test's alpha for this audit"
            raise ValueError(f"alpha ({more['alpha']!r}) {rule}")
        found = audit(
            self.claim.name,
            self.claim.guarantee,
            as_mechanism_with(mechanism, how),
            inputs,
            **{
                "seed": self._seed(),
                "delta": self.claim.delta,
                "alpha": share,
                "budget": self.budget,
                **more,
            },
        )
        return replace(found, arithmetic=self.claim.arithmetic)

    def certify(self, name: str, **parameters: object) -> None:
        """Check that the certified guarantee of a mechanism of this project implies the promise.

        Otherwise the test fails. An unknown mechanism or parameter, or a neighbouring relation without a proof,
        also fails the test, with a message of one line.
        """
        self.checks += 1
        claim = replace(self.claim, mechanism=name, parameters=parameters)
        with errors_as_failures():
            accountant_for(name).parameters.read(parameters)
            ledger = check_claim(claim, audited=False)
        told = () if ledger.account is None else _rests(ledger.account)
        self._note("; ".join([f"{ledger.verdict.value} ({name})", *told]))
        if ledger.verdict is not Outcome.KEPT:
            upper = math.inf if ledger.account is None else ledger.account.bound.upper
            lines = [f"promise not certified: {name}", f"  promised   {self._promised()}"]
            lines += [f"  certified  epsilon at most {upper} at delta {claim.delta}"]
            pytest.fail(
                "\n".join([*lines, *(f"  {text}" for text in (*told, *ledger.remarks))]), pytrace=False
            )

    def _extremes(self, data: object, first: object, bounds: Bounds | None) -> Extremes:
        if first is not MISSING:
            raise ValueError(
                f"first ({first!r:.60}) must be left out, because dpproof makes the inputs from data"
            )
        return Extremes(data, self.claim.adjacency, bounds)

    def _paired(self, first: object, second: object) -> Neighbours:
        pair = self._given(first, second)
        check_pair(pair, self.claim.adjacency)
        return pair

    def _given(self, first: object, second: object) -> Neighbours:
        if isinstance(first, Neighbours):
            if second is not MISSING:
                raise ValueError(
                    f"second ({second!r:.60}) must be left out, because first already holds both inputs"
                )
            return first
        if first is MISSING:
            raise ValueError(
                "data is missing. Give your data, two inputs, or an object of the class Neighbours."
            )
        return Neighbours(first, second, self.claim.adjacency, f"{first!r:.60} and {second!r:.60}")

    def _seed(self) -> int:
        text = f"{self.seed} {self.claim.name} {self.checks}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

    def _judge(self, found: Evidence) -> None:
        said = f"{found.verdict.value}, epsilon at least {found.epsilon_lower:.4g}, {found.samples} samples"
        self._note("; ".join(filter(None, [said, worth(found)])))
        weak = Finding.INCONCLUSIVE in (found.verdict, found.without_bits)
        if found.fails or (self.strict and weak):
            pytest.fail(self._text(found), pytrace=False)

    def _note(self, text: str) -> None:
        self.properties.append(("privacy", text))

    def _promised(self) -> str:
        promise = ", ".join(f"{name} = {value}" for name, value in self.claim.promise.items())
        return f"{promise} ({self.claim.adjacency.value})"

    def _text(self, found: Evidence) -> str:
        """Return the reason why the test fails, with the witness."""
        words = found.words[1:] if found.verdict.violated else found.words
        lines = [
            f"privacy: {found.verdict.value}{''.join(f': {one}' for one in found.words[:1] if found.verdict.violated)}",
            f"  promised   {self._promised()}",
            f"  found      epsilon at least {found.epsilon_lower:.6g} at delta {found.delta}, "
            f"confidence {found.confidence:.6g}",
            *(f"  in words   {sentence}" for sentence in words),
            *([] if found.pair in " ".join(words) else [f"  pair       {found.pair}"]),
            *(f"  on trust   {sentence}" for sentence in found.taken_on_trust),
            f"  counts     {found.samples} samples, seed {found.seed}",
        ]
        if found.weakness:
            lines.append(f"  power      {found.weakness}")
        if self.witnesses is not None and found.verdict.violated:
            lines.append(f"  witness    {write_witness(found, self.witnesses)}")
        return "\n".join(lines)


def _rests(account: Account) -> tuple[str, ...]:
    """Return remarks on a certified epsilon: its basis, its cover of released bits, and its assumptions."""
    return rests_on(account), f"released bits: {account.released_bits}", in_words(account.arithmetic)
