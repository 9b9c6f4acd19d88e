"""``Accountant``: the object through which the command line and claim files use one mechanism."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.calibration import Goal, Target, meet
from dpproof.accountant.claims.decimals import as_typed, at_nearest_doubles, beyond_decimals, sides
from dpproof.accountant.claims.parameters import Parameters
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.arithmetic import scoped
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Written, exact

if TYPE_CHECKING:
    pass

from dpproof.accountant.claims.result import Attained, PrivacyResult, PublishedGuarantee

_UNITS = {Adjacency.EXPERT: "expert", Adjacency.REWARDS_ONLY: "user"}
"""The unit of the data that change, for relations that name it."""
RUNS = ("compositions", "steps", "sampling_rate")
"""The names of the parameters that state how often a mechanism is run, and on which share of its records."""


@dataclass(frozen=True)
class Accountant:
    """An object that knows one mechanism: its parameters, its accounting function and its calibration."""

    name: str
    title: str
    parameters: type[Parameters]
    account: Callable[[Any, Adjacency], PrivacyResult]
    noise: str
    """The name of the parameter that calibration searches."""
    calibrate: Callable[[Any, Adjacency, Any, Any], tuple[Any, Any]] | None = field(default=None, repr=False)
    """A function that calibrates the noise; None for the general search of ``dpproof.accountant.claims.calibration``.

    Its arguments are parameters, adjacency, epsilon and delta. It returns parameters that meet the target,
    and parameters that miss it.
    """
    adjacency: Adjacency | None = None
    """The default neighbouring relation; None if the user must name one."""
    compare: Callable[[Any, Any, Any], Mapping[str, Any]] | None = field(default=None, repr=False)
    """A function that returns the figures of the mechanism's paper, shown beside the result of a calibration.

    Its arguments are the calibrated parameters, epsilon and delta. None if the paper prints nothing about
    calibration.
    """
    beside: Callable[[Any, Any, Any], Mapping[str, Any] | None] | None = field(default=None, repr=False)
    """A function that returns figures about the data in the parameters, shown beside the answer of `account`.

    Its arguments are the parameters, epsilon and delta. None if there is nothing to show.
    """
    safer: int = 1
    """1 if a larger value of the parameter ``noise`` is more private, -1 if a smaller one is."""
    example: Parameters = field(kw_only=True, repr=False)
    """Example parameters, for which the guarantee is proved under every neighbouring relation of the mechanism."""
    unit: str = "record"
    """What one record stands for in the neighbouring relation, such as a user."""
    by_records: bool = False
    """Whether the same parameters describe the same mechanism under ``add-remove`` and under ``replace`` neighbours."""
    unsampled: str | None = None
    """The reason why ``dpproof.mechanisms`` has no ``sample`` for this mechanism; None if it has one."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "account", scoped(self._named(_at_decimals(self.account))))

    def _named(self, guarantee: Callable[..., PrivacyResult]) -> Callable[..., PrivacyResult]:
        """Wrap the accounting function so that its results record the mechanism, the parameters and the unit."""

        @wraps(guarantee)
        def asked(parameters: Parameters, *relation: Any, **named: Any) -> PrivacyResult:
            if "adjacency" in named:
                named["adjacency"] = Adjacency.of(named["adjacency"])
            found = guarantee(parameters, *map(Adjacency.of, relation), **named)
            unit = _UNITS.get(found.adjacency, self.unit)
            unit = "user" if getattr(parameters, "records", 1) > 1 else unit
            return replace(found, mechanism=self.name, parameters=parameters.as_json(), unit=unit)

        return asked

    def relation(self, given: str | Adjacency | None) -> Adjacency:
        """Return the neighbouring relation of the given name, or the default relation if no name is given.

        >>> from dpproof.accountant.catalogue import accountant_for
        >>> accountant_for("gaussian").relation(None).value
        'by-sensitivity'

        Raises:
            ValueError: for an unknown name, or for None if there is no default.
        """
        if given is not None:
            return Adjacency.of(given)
        if self.adjacency is None:
            known = ", ".join(relation.value for relation in self.relations)
            raise ValueError(f"adjacency is missing, and {self.name} has no default. Give one of: {known}")
        return self.adjacency

    @property
    def relations(self) -> tuple[Adjacency, ...]:
        """The neighbouring relations under which a guarantee of the mechanism is proved.

        >>> from dpproof.accountant.catalogue import accountant_for
        >>> [relation.value for relation in accountant_for("dp-sgd").relations]
        ['add-remove', 'replace']
        """
        return tuple(relation for relation in Adjacency if self._proved(relation))

    def _proved(self, relation: Adjacency) -> bool:
        try:
            self.account(self.example, relation)
        except UnprovedAdjacencyError:
            return False
        return True

    def least_noise(
        self, parameters: Any, adjacency: Adjacency | str, epsilon: Any, delta: Any
    ) -> tuple[Any, Any]:
        """Return two sets of parameters, one certified to meet (epsilon, delta) and one certified to miss it.

        The first has the least noise for which the search can certify this. The second has slightly less
        noise.

        Raises:
            ValueError: for an invalid target, a target that no noise meets, or one that every noise meets.
            ArithmeticError: if the guarantee is not exact enough to decide.
        """
        own, relation = self.calibrate, Adjacency.of(adjacency)
        if own is None:
            target = Target(exact(epsilon, "epsilon"), exact(delta, "delta"))
            return self.least_noise_for(target, parameters, relation)
        return self._typed(parameters, False, lambda chosen: own(chosen, relation, epsilon, delta))

    def least_noise_for(self, goal: Goal, parameters: Any, adjacency: Adjacency) -> tuple[Any, Any]:
        """Return two sets of parameters as `least_noise` does, but for a goal of any kind.

        The goal may be a limit on the true positive rate of attacks, for example. The function always uses
        the search of `calibrate_noise`.
        """

        def guarantee_of(chosen: Any) -> Profile:
            return self.account(chosen, adjacency).guarantee

        def search(begun: Any) -> tuple[Any, Any]:
            return meet(begun, self.noise, guarantee_of, goal, safer=self.safer)

        return self._typed(parameters, True, search)

    def _typed(
        self, parameters: Any, begins: bool, search: Callable[[Any], tuple[Any, Any]]
    ) -> tuple[Any, Any]:
        """Search for parameters that may be typed decimals, by a search that computes with doubles.

        ``begins`` is true if the search begins at the noise that its parameters hold.
        """
        more, less, _ = sides(parameters)
        meets, misses = search(less)
        if more != less:
            near = replace(more, **{self.noise: getattr(meets, self.noise)}) if begins else more
            misses = search(near)[1]
        meets = beyond_decimals(meets, self.noise, self.safer)
        misses = beyond_decimals(misses, self.noise, -self.safer)
        return as_typed(meets, parameters, self.noise), as_typed(misses, parameters, self.noise)


def _at_decimals(guarantee: Callable[..., PrivacyResult]) -> Callable[..., PrivacyResult]:
    """Wrap an accountant's function so that it encloses typed decimals by the doubles on both sides."""

    @wraps(guarantee)
    def asked(parameters: Any, *relation: Any, **named: Any) -> PrivacyResult:
        more, less, notes = sides(parameters)
        found: PrivacyResult | None = None
        with contextlib.suppress(ValueError):  # at an end of what is answered, or beyond
            found = guarantee(less, *relation, **named)
        if found is None:  # an error names the number typed
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
    """Return the paper's own answer as an interval that contains the answers for both sides."""
    if more is None or less is None:
        return None

    def epsilon(delta: Any) -> Bound:
        found = more.epsilon(delta), less.epsilon(delta)
        return Bound(min(each.lower for each in found), max(each.upper for each in found))

    return replace(less, epsilon=epsilon, exact=more.exact.enclosing(less.exact))


def check_run(parameters: Parameters) -> None:
    """Raise ValueError if the parameters say that the mechanism never runs, because nothing can be claimed then.

    Raises:
        ValueError: if the number of runs or the sampling rate is 0. The message names the parameter.
    """
    for name in RUNS:
        if getattr(parameters, name, 1) == 0:
            raise ValueError(f"{name} (0) must be above 0. Otherwise nothing is run on the data.")
