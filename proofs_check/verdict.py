"""Verdicts on statements, which are always derived from certificates (proofs) that the kernel has just checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from dpproof.proofs_check.kernel import Outcome
from dpproof.proofs_check.statement import DEFINITION, Judgement, Severity, Statement


class Verdict(Enum):
    """What is known about a statement. Each statement has exactly one of seven verdicts."""

    _value_: str
    colour: str
    """On a terminal."""
    fill: str
    """Of a box in a drawing."""
    exit_code: int
    """Of ``dpproof verify``, asked for this one statement."""
    meaning: str
    """For every place that explains the verdict."""

    def __new__(
        cls, word: str, colour: str = "", fill: str = "", exit_code: int = 0, meaning: str = ""
    ) -> Verdict:
        """Make a member whose value is the word."""
        made = object.__new__(cls)
        made._value_, made.colour, made.fill = word, colour, fill
        made.exit_code, made.meaning = exit_code, meaning
        return made

    PROVED = (
        "PROVED",
        "green",
        "#d8f0de",
        0,
        "The statement is one formal goal. The kernel derives it from checked steps; nothing in between is "
        "prose.",
    )
    STEPS = (
        "STEPS PROVED",
        "green",
        "#e4f4e0",
        0,
        "The kernel checks every step that carries content. People read that the steps make up the "
        "statement. The number of such readings stands beside the verdict.",
    )
    REFUTED = (
        "REFUTED",
        "red",
        "#f9d7d4",
        1,
        "The statement fails at a point that the kernel checks. The severity says how much changes: "
        "substantive, repairable or slip. A corrected statement has a verdict of its own.",
    )
    SUBDOMAIN = (
        "PROVED ON A SUBDOMAIN",
        "yellow",
        "#fdeccd",
        0,
        "Proved, or its steps are, where the stated domain says. The number of readings stands beside the "
        "verdict, and so does the number of assumptions if there are any.",
    )
    GIVEN = (
        "PROVED GIVEN",
        "green",
        "#eef3d0",
        0,
        "Proved, or its steps are, under the listed assumptions. The number of readings stands beside the "
        "verdict.",
    )
    ASSUMED = (
        "ASSUMED",
        "cyan",
        "#dbe8f2",
        0,
        "A quoted theorem or a definition. It is not proved here; the reason is given.",
    )
    OPEN = (
        "OPEN",
        "magenta",
        "#e6e0f0",
        3,
        "Neither proved nor refuted. The page lists what was tried.",
    )

    @property
    def decided(self) -> bool:
        """Whether certificates (proofs) settle the statement, at least in part or under named assumptions."""
        return self not in (Verdict.ASSUMED, Verdict.OPEN)

    @property
    def stands(self) -> bool:
        """Whether other statements may rest on this one, within the limits that the verdict names."""
        return self.decided and self is not Verdict.REFUTED


class Method(Enum):
    """The method by which a verdict on a statement was reached. The first member is the strongest."""

    SYMBOLIC = "SYMBOLIC-EXACT"
    KERNEL = "KERNEL-CERTIFIED"


@dataclass(frozen=True)
class Result:
    """The verdict on a statement of a paper, with everything on which the verdict rests.

    ``certificates`` are the files and lines of the accepted proofs, ``depends_on`` the ids of statements that the
    proofs use, ``assumptions`` the facts that are not proved. ``point`` is the counterexample to a refuted statement.
    """

    id: str
    kind: str
    title: str
    verdict: Verdict
    method: Method | None
    certificates: tuple[str, ...]
    depends_on: tuple[str, ...]
    assumptions: tuple[str, ...]
    domain: str | None
    point: Mapping[str, str] | None
    corrected_by: str | None
    not_covered: str
    parts: tuple[str, ...]
    reading: tuple[str, ...] = ()
    readings: Mapping[str, str] = field(default_factory=dict)
    """The texts that people must check by reading, each with the id of the first statement that needs the text.

    The texts of this statement come first.
    """
    laws: tuple[str, ...] = ()
    """The facts of `dpproof.proofs_check.laws` that this statement, or one on which it rests, uses, by name."""
    judgement: Judgement | None = None
    conjuncts: tuple[Result, ...] = ()
    """The results of the statement's parts, each with its own verdict."""
    goals: tuple[str, ...] = ()
    """The names of the claims that are the whole statement. Without any, people read how the steps make it up."""
    changed: tuple[str, ...] = ()
    """Differences between the statement and its record in the manifest. If there are any, the statement is open."""

    @property
    def severity(self) -> Severity | None:
        """The severity of the refutation; None if the statement is not refuted."""
        return self.judgement.severity if self.judgement else None

    @property
    def own_readings(self) -> tuple[str, ...]:
        """The texts that people must check by reading for this statement itself.

        Texts for the statements on which it rests are left out.
        """
        return tuple(text for text, identity in self.readings.items() if identity == self.id)


_EXACT = frozenset(
    {"identity", "sos", "positive", "bernstein", "subst", "split"}
    | {"have", "cases", "induct", "enumerated", "telescope", "expect"}
    | {
        "arith",
        "absurd",
        "fix",
        "exact",
        "same",
        "equal",
        "use",
        "whole",
        "integrate",
        "dominated",
        "sum",
        "rewrite",
        "law",
        "apply",
    }
)
_BROKEN = frozenset({Verdict.OPEN, Verdict.REFUTED})
Outcomes = Sequence[tuple[str, Outcome | None]]


def derive(
    statement: Statement,
    outcomes: Outcomes,
    below: Mapping[str, Result],
    granted: Mapping[str, Sequence[str]] | None = None,
) -> Result:
    """Return the result for ``statement``, from its checked proofs and the results of the statements it needs.

    A missing or rejected proof (certificate) makes the statement OPEN, even if another certificate refutes a claim,
    because the argument may need both. The statement is also OPEN if a statement in ``rests_on`` is open or refuted.
    Otherwise a refuted part or claim makes the statement REFUTED. If the statement, or one that it needs, has
    assumptions, the verdict is at best PROVED GIVEN. A restricted domain makes it PROVED ON A SUBDOMAIN. If people must
    check by reading that the claims together make up the statement, the verdict is at best STEPS PROVED. The
    assumptions of a refutation stay listed.

    Args:
        statement: the statement.
        outcomes: for each claim, the place of its certificate and the kernel's outcome, or None if the kernel
            rejected the certificate.
        below: the results of the statements in ``parts`` and ``rests_on``, and no others.
        granted: the assumptions of the claims that the proofs of goals use, by the ids of the claims.

    Raises:
        ValueError: if ``below`` has other ids than ``parts`` and ``rests_on``.
    """
    if below.keys() != {*statement.parts, *statement.rests_on}:
        raise ValueError(
            f"statement {statement.id}: the results are those of {sorted(below)}, "
            f"but must be those of {sorted({*statement.parts, *statement.rests_on})}"
        )
    if statement.goals and not statement.reason:
        domain, readings = statement.domain, {}
        assumptions = _merged(statement.rules, _used(outcomes, granted or {}))
        core = _core_of_goals(statement, outcomes)
    else:
        domain, assumptions = _domain(statement, below), _assumptions(statement, below)
        core, readings = _core(statement, outcomes, below), _readings(statement, below)
    verdict = _capped(core, domain, assumptions, readings)
    parts = [below[name] for name in statement.parts]
    return Result(
        id=statement.id,
        kind=statement.kind,
        title=statement.title,
        verdict=verdict,
        method=_method(outcomes, parts) if verdict.decided else None,
        certificates=_merged([path for path, x in outcomes if x], *(part.certificates for part in parts)),
        depends_on=_merged(statement.rests_on, *(part.depends_on for part in parts)),
        assumptions=assumptions,
        domain=statement.domain if verdict is Verdict.REFUTED else domain,
        point=_point(outcomes, parts) if verdict is Verdict.REFUTED else None,
        corrected_by=statement.corrected_by or next((x.corrected_by for x in parts if x.corrected_by), None),
        not_covered=statement.not_covered,
        parts=statement.parts,
        reading=statement.reading,
        readings=readings,
        laws=_merged(statement.laws, *(result.laws for result in below.values())),
        judgement=_judgement(statement, parts) if verdict is Verdict.REFUTED else None,
        conjuncts=tuple(parts),
        goals=statement.goals,
    )


def opened(result: Result, changed: tuple[str, ...]) -> Result:
    """Return the result with the verdict OPEN, because the statement differs from its record in the manifest.

    ``changed`` lists the differences.
    """
    return replace(result, verdict=Verdict.OPEN, method=None, point=None, judgement=None, changed=changed)


def _own(statement: Statement) -> Sequence[str]:
    """Return the readings of a statement. They are empty only if it has goals or one obligation is the whole statement.

    People join several obligations, parts, or statements that it rests on. This counts as a reading, even if
    no reading describes it.
    """
    joined = len(statement.obligations) > 1 or statement.parts or statement.rests_on
    if statement.reading or statement.goals or not joined:
        return statement.reading
    given = {
        "its obligations": statement.obligations,
        "its parts": statement.parts,
        "what it rests on": statement.rests_on,
    }
    words = " and ".join(word for word, held in given.items() if held)
    return (f"{words} together say what {statement.id} says",)


def _readings(statement: Statement, below: Mapping[str, Result]) -> dict[str, str]:
    found = dict.fromkeys(_own(statement), statement.id)
    for result in below.values():
        found |= {text: identity for text, identity in result.readings.items() if text not in found}
    return found


def _judgement(statement: Statement, parts: Sequence[Result]) -> Judgement | None:
    """Return the statement's own judgement of its refutation, or else the most severe one of its parts."""
    said = [part.judgement for part in parts if part.judgement]
    order = list(Severity)
    return statement.judgement or min(said, key=lambda x: order.index(x.severity), default=None)


def _core(statement: Statement, outcomes: Outcomes, below: Mapping[str, Result]) -> Verdict:
    """Return the verdict of the obligations, the parts and the statements it rests on, before assumptions."""
    parts = {below[name].verdict for name in statement.parts}
    checked = [outcome for _, outcome in outcomes if outcome]
    needed = 0 if statement.reason else len(statement.obligations)
    missing = len(outcomes) != needed or len(checked) != len(outcomes)
    if missing or _BROKEN & {below[name].verdict for name in statement.rests_on}:
        return Verdict.OPEN
    if Verdict.REFUTED in parts or any(outcome.verdict == "REFUTED" for outcome in checked):
        return Verdict.REFUTED
    if Verdict.OPEN in parts or any(outcome.verdict != "PROVED" for outcome in checked):
        return Verdict.OPEN
    if needed or parts - {Verdict.ASSUMED}:
        return Verdict.GIVEN if Verdict.ASSUMED in parts else Verdict.PROVED
    return Verdict.ASSUMED if statement.reason or parts else Verdict.OPEN


def _core_of_goals(statement: Statement, outcomes: Outcomes) -> Verdict:
    """Return the verdict of a statement that is the conjunction of its goals. Its other claims are lemmas."""
    checked = {
        x.name: outcome for x, (_, outcome) in zip(statement.obligations, outcomes, strict=True) if outcome
    }
    if len(checked) != len(statement.obligations):
        return Verdict.OPEN
    refuted = any(checked[name].verdict == "REFUTED" for name in statement.goals)
    return Verdict.REFUTED if refuted else Verdict.PROVED


def _used(outcomes: Outcomes, granted: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the assumptions of the claims that the proofs use."""
    used = sorted({name for _, outcome in outcomes if outcome for name in outcome.uses})
    return _merged(*(granted.get(name, ()) for name in used))


def _capped(
    core: Verdict, domain: str | None, assumptions: Sequence[str], readings: Mapping[str, str]
) -> Verdict:
    """Lower a proof by its domain, by its assumptions and by the readings that people must check."""
    if core not in (Verdict.PROVED, Verdict.GIVEN):
        return core
    if domain:
        return Verdict.SUBDOMAIN
    if assumptions or core is Verdict.GIVEN:
        return Verdict.GIVEN
    return Verdict.STEPS if readings else core


def _merged(*texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for group in texts for text in group))


def _assumptions(statement: Statement, below: Mapping[str, Result]) -> tuple[str, ...]:
    own = [statement.reason] if statement.reason and statement.reason != DEFINITION else []
    return _merged(own, statement.rules, *(result.assumptions for result in below.values()))


def _domain(statement: Statement, below: Mapping[str, Result]) -> str | None:
    inherited = [x.domain for x in below.values() if x.verdict is Verdict.SUBDOMAIN and x.domain]
    return "; ".join(_merged([statement.domain] if statement.domain else [], inherited)) or None


def _method(outcomes: Outcomes, parts: Sequence[Result]) -> Method | None:
    """Return the weakest method among the obligations and the parts."""
    exact = [outcome.leaves <= _EXACT for _, outcome in outcomes if outcome]
    exact += [part.method is Method.SYMBOLIC for part in parts if part.method]
    return (Method.SYMBOLIC if all(exact) else Method.KERNEL) if exact else None


def _point(outcomes: Outcomes, parts: Sequence[Result]) -> Mapping[str, str] | None:
    points = [outcome.point for _, outcome in outcomes if outcome] + [part.point for part in parts]
    return next((point for point in points if point is not None), None)
