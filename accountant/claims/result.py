"""PrivacyResult: what an accountant answers about one mechanism, and the type of an accountant."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import wraps
from typing import Any

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.calibration import calibrate_noise
from dpproof.accountant.claims.decimals import as_typed, at_nearest_doubles, beyond_decimals, sides
from dpproof.accountant.claims.parameters import Parameters
from dpproof.accountant.claims.sensitivity import Sensitivity
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.arithmetic import Assumption, assume, current, recorded, scoped
from dpproof.accountant.numbers.bounds import Bound, exactly
from dpproof.accountant.numbers.checks import below_one
from dpproof.accountant.numbers.enclosures import Number, Written

RUNS = ("compositions", "steps", "sampling_rate")
"""The parameters that say how often a mechanism is run, and on how many of its records."""


IN_REAL_ARITHMETIC = "in real arithmetic; the released doubles are not covered"
"""What is said of a guarantee whose release no exact sampler of this library draws."""


@dataclass(frozen=True)
class PublishedGuarantee:
    """The paper's own answer: its printed epsilon, and what the paper's accounting gives without loss."""

    statement: str
    """Id of the statement that prints it."""
    epsilon: Callable[[Any], Bound]
    """delta -> the printed formula's value, enclosed; infinite at delta 0."""
    exact: Profile
    """The paper's costs composed as the mechanisms they are, converted without loss."""
    exact_statement: str
    """Id of the statement that ``exact`` rests on."""


def at_positive_delta(
    epsilon: Callable[[Fraction], Bound], at_zero: float = math.inf
) -> Callable[[Any], Bound]:
    """What a printed formula answers at any delta: ``epsilon`` where it has a meaning, ``at_zero`` at 0.

    >>> at_positive_delta(lambda delta: Bound(1.0, 2.0))(0).upper
    inf

    Raises:
        ValueError: (when asked) for a delta outside [0, 1).
    """

    def answer(delta: Any) -> Bound:
        failure = below_one(delta, "delta")
        return exactly(at_zero) if failure == 0 else epsilon(failure)

    return answer


@dataclass(frozen=True)
class Attained:
    """A lower bound on the privacy loss, from a pair of neighbours that attains it.

    It speaks of everything released. Who sees less (in the joint model, the other users' actions) may
    learn less.
    """

    guarantee: Profile
    pair: str


@dataclass(frozen=True)
class PrivacyResult:
    """A proved guarantee of one mechanism under one neighbouring relation."""

    guarantee: Profile
    adjacency: Adjacency
    trust: TrustModel
    """The model of the guarantee of everything in ``released``."""
    released: str
    """What the guarantee, and a pair that attains it, speak of."""
    statement: str
    """Id of the statement the guarantee rests on."""
    joint_statement: str | None = None
    """Id of the statement by which the actions computed from it are jointly private, if they are."""
    published: PublishedGuarantee | None = None
    attained: Attained | None = None
    notes: tuple[str, ...] = ()
    sensitivity: Sensitivity | None = None
    """How far neighbours move an answer, and why; None where no noise is scaled to a sensitivity."""
    exact_sampler: str | None = None
    """What of this library draws all that is accounted for exactly, to the last bit, by its dotted name.

    None where there is no such sampler, and for everything unmarked: the guarantee is then one of the
    mathematical mechanism.
    """
    assumptions: frozenset[Assumption] = field(default_factory=current, compare=False, repr=False)
    """What making the guarantee took on trust of the machine's arithmetic; see `accountant.numbers.arithmetic`."""

    @property
    def covers_released_bits(self) -> bool:
        """Whether the library can release the output such that the guarantee covers every released bit."""
        return self.exact_sampler is not None

    @property
    def released_bits(self) -> str:
        """``covers_released_bits`` in words, to be printed wherever epsilon is."""
        if self.exact_sampler is None:
            return IN_REAL_ARITHMETIC
        return f"covers every released bit, where {self.exact_sampler} draws from entropy"

    def epsilon(self, delta: Number) -> Bound:
        """The guarantee's epsilon; ``assumptions`` lists what it rests on.

        >>> from dpproof.accountant.catalogue import accountant_for
        >>> found = accountant_for("laplace").account(accountant_for("laplace").parameters(5.0))
        >>> sorted(one.value for one in found.epsilon("0.5").assumptions), found.epsilon(0).assumptions
        (['elementary-4ulp'], frozenset())
        """
        return self._asked(lambda: self.guarantee.epsilon(delta))

    def delta(self, epsilon: Number) -> Bound:
        """The guarantee's delta; ``assumptions`` lists what it rests on."""
        return self._asked(lambda: self.guarantee.delta(epsilon))

    def _asked(self, question: Callable[[], Bound]) -> Bound:
        with recorded():
            assume(*self.assumptions)
            found = question()
            return replace(found, assumptions=current())

    @property
    def notion(self) -> Profile:
        """The proved guarantee, in its notion of privacy."""
        return self.guarantee


@dataclass(frozen=True)
class Accountant:
    """The accountant of one mechanism, as the command line and claim files use it."""

    name: str
    title: str
    parameters: type[Parameters]
    account: Callable[[Any, Adjacency], PrivacyResult]
    noise: str
    """Name of the parameter that calibration searches."""
    calibrate: Callable[[Any, Adjacency, Any, Any], tuple[Any, Any]] | None = field(default=None, repr=False)
    """(parameters, adjacency, epsilon, delta) -> (parameters that meet it, parameters that do not); None for
    the general search, ``dpproof.accountant.claims.calibration``."""
    adjacency: Adjacency | None = None
    """The relation that is meant where none is given; None where one must be."""
    compare: Callable[[Any, Any, Any], Mapping[str, Any]] | None = field(default=None, repr=False)
    """(calibrated parameters, epsilon, delta) -> what the paper prints for the same target, beside what was
    found; None where calibration has nothing printed to show."""
    beside: Callable[[Any, Any, Any], Mapping[str, Any] | None] | None = field(default=None, repr=False)
    """(parameters, epsilon, delta) -> what `account` shows beside its answer, on data they name;
    None where there is nothing to show."""
    safer: int = 1
    """1 where more of ``noise`` is more private, -1 where less is."""
    example: Parameters = field(kw_only=True, repr=False)
    """Parameters under which every relation that the mechanism has is proved; for tests and pages."""
    unsampled: str | None = None
    """Why the leaf in ``dpproof.mechanisms`` has no ``sample``; None where it has one."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "account", scoped(_at_decimals(self.account)))

    def relation(self, given: str | None) -> Adjacency:
        """The neighbouring relation of that name; without a name, the default relation.

        >>> from dpproof.accountant.catalogue import accountant_for
        >>> accountant_for("gaussian").relation(None).value
        'by-sensitivity'

        Raises:
            ValueError: for an unknown name, or none where there is no default.
        """
        if given is not None:
            return Adjacency.of(given)
        if self.adjacency is None:
            known = ", ".join(relation.value for relation in Adjacency)
            raise ValueError(f"adjacency is missing; {self.name} has users, and there is no default: {known}")
        return self.adjacency

    def least_noise(self, parameters: Any, adjacency: Adjacency, epsilon: Any, delta: Any) -> tuple[Any, Any]:
        """Parameters with the least noise certified to meet (epsilon, delta), and nearby ones that miss it.

        Raises:
            ValueError: for a bad target, or one that no noise, or every noise, meets.
            ArithmeticError: where the guarantee is not exact enough to decide.
        """
        more, less, _ = sides(parameters)
        meets, misses = self._least(less, adjacency, epsilon, delta)
        if more != less:
            near = more if self.calibrate else replace(more, **{self.noise: getattr(meets, self.noise)})
            misses = self._least(near, adjacency, epsilon, delta)[1]
        meets = beyond_decimals(meets, self.noise, self.safer)
        misses = beyond_decimals(misses, self.noise, -self.safer)
        return as_typed(meets, parameters, self.noise), as_typed(misses, parameters, self.noise)

    def _least(self, parameters: Any, adjacency: Adjacency, epsilon: Any, delta: Any) -> tuple[Any, Any]:
        """``least_noise`` for parameters that are doubles."""
        if self.calibrate is not None:
            return self.calibrate(parameters, adjacency, epsilon, delta)

        def guarantee_of(chosen: Any) -> Profile:
            return self.account(chosen, adjacency).guarantee

        return calibrate_noise(parameters, self.noise, guarantee_of, epsilon, delta, safer=self.safer)


def _at_decimals(guarantee: Callable[..., PrivacyResult]) -> Callable[..., PrivacyResult]:
    """Wrap an accountant's function: typed decimals are enclosed by the doubles around them."""

    @wraps(guarantee)
    def asked(parameters: Any, *relation: Any, **named: Any) -> PrivacyResult:
        more, less, notes = sides(parameters)
        try:
            found = guarantee(less, *relation, **named)
        except ValueError:  # at an end of what is answered, or beyond: an error names the number typed
            less, notes = at_nearest_doubles(parameters)
            more, found = less, guarantee(less, *relation, **named)
        if less is parameters:
            return found
        typed = replace(found, notes=(*found.notes, *notes), sensitivity=_sensitivity(found, parameters))
        return typed if more == less else _between(guarantee(more, *relation, **named), typed)

    return asked


def _sensitivity(found: PrivacyResult, parameters: Any) -> Any:
    """Return the sensitivity with the value that was typed."""
    given = getattr(parameters, "sensitivity", None)
    if found.sensitivity is None or not isinstance(given, Written):
        return found.sensitivity
    return replace(found.sensitivity, moved=given.rational)


def _between(more: PrivacyResult, less: PrivacyResult) -> PrivacyResult:
    return replace(
        less,
        guarantee=more.guarantee.enclosing(less.guarantee),
        attained=_attained(more.attained, less.attained),
        published=_published(more.published, less.published),
        assumptions=more.assumptions | less.assumptions,
    )


def _attained(more: Attained | None, less: Attained | None) -> Attained | None:
    if more is None or less is None:
        return None
    return replace(less, guarantee=more.guarantee.enclosing(less.guarantee))


def _published(more: PublishedGuarantee | None, less: PublishedGuarantee | None) -> PublishedGuarantee | None:
    """The paper's own answer, printed beside dpproof's: an interval that contains both ends."""
    if more is None or less is None:
        return None

    def epsilon(delta: Any) -> Bound:
        found = more.epsilon(delta), less.epsilon(delta)
        return Bound(min(each.lower for each in found), max(each.upper for each in found))

    return replace(less, epsilon=epsilon, exact=more.exact.enclosing(less.exact))


def check_run(parameters: Parameters) -> None:
    """Raise ValueError for parameters under which nothing is run, because there would be nothing to claim.

    Raises:
        ValueError: naming the parameter.
    """
    for name in RUNS:
        if getattr(parameters, name, 1) == 0:
            raise ValueError(f"{name} (0): nothing was run on any record; {name} must be above 0")
