"""Sensitivity: how far one record moves an answer, given by the user or derived from a named query.

A sensitivity belongs to a neighbouring relation. A histogram changes in one cell if a record is added, and in
two cells if a record is replaced. So it is never guessed if users and a relation are named. Either the user
gives ``sensitivity``, or ``query`` names what is asked and the sensitivity follows from the relation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Parameters, parameter
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_up

L1, L2, LARGEST = "L1", "L2", "largest coordinate"
"""The norms in which a sensitivity may be measured."""
FORMS = "count, histogram or 'sum in [a, b]'"
_LEAST = Fraction(1, 10**300)
_SUM = re.compile(r"\s*sum\s+in\s*\[([^,\[\]]+),([^,\[\]]+)\]\s*")


@dataclass(frozen=True)
class Query:
    """A query of a data set in which each record belongs to one user, and each user has one record.

    A count is the number of records with a property. A histogram has one count for each cell, and each record
    is in exactly one cell. A sum adds one number of [lower, upper] for each record.

    >>> Query.of("sum in [-1, 2.5]").moved(Adjacency.REPLACE), Query.of("histogram").moved(Adjacency.REPLACE)
    ((Fraction(7, 2),), (Fraction(1, 1), Fraction(1, 1)))
    """

    kind: str
    lower: Fraction = Fraction(0)
    upper: Fraction = Fraction(1)

    @classmethod
    def of(cls, text: str) -> Query:
        """Return the query that ``text`` states. A decimal means that exact rational number.

        Raises:
            ValueError: for any other text, or a sum whose lower end is not below its upper end, or whose ends
                are far beyond double precision.
        """
        if text in ("count", "histogram"):
            return cls(text)
        found = _SUM.fullmatch(text)
        if found is None:
            raise ValueError(f"query ({text!r}) must be {Queries()}")
        lower, upper = (exact(end.strip(), "query") for end in found.groups())
        if not lower < upper:
            raise ValueError(f"query ({text!r}) must have its lower bound below its upper bound.")
        if max(abs(lower), abs(upper)) > 1 / _LEAST or upper - lower < _LEAST:
            raise ValueError(
                f"query ({text!r}) must have bounds in [-1e300, 1e300] that are at least 1e-300 apart"
            )
        return cls("sum", lower, upper)

    def moved(self, adjacency: Adjacency | str) -> tuple[Fraction, ...]:
        """Return the change of each coordinate that changes, for the neighbours that are farthest apart.

        Raises:
            ValueError: for a relation other than add-remove and replace.
        """
        relation = Adjacency.of(adjacency)
        if relation is Adjacency.ADD_REMOVE:
            return (max(abs(self.lower), abs(self.upper)),)
        if relation is not Adjacency.REPLACE:
            raise ValueError(
                f"query ({str(self)!r}) determines a sensitivity under add-remove and replace only, not under "
                f"{relation.value}. Give sensitivity instead of query, or another adjacency."
            )
        return (self.upper - self.lower,) * (2 if self.kind == "histogram" else 1)

    def monotone(self, adjacency: Adjacency | str) -> bool:
        """Whether all such queries of one data set change in the same direction between any two neighbours."""
        return Adjacency.of(adjacency) is Adjacency.ADD_REMOVE and (self.lower >= 0 or self.upper <= 0)

    def __str__(self) -> str:
        return self.kind if self.kind != "sum" else f"sum in [{_short(self.lower)}, {_short(self.upper)}]"


@dataclass(frozen=True)
class Queries:
    """The domain of a parameter that names a query.

    >>> Queries().admits("count"), Queries().admits("sum in [1, 0]"), str(Queries())
    (True, False, "count, histogram or 'sum in [a, b]' with numbers a < b")
    """

    kind: type = str

    def admits(self, value: object) -> bool:
        """Whether ``value`` is text that states a query."""
        try:
            return isinstance(value, str) and bool(Query.of(value))
        except (ValueError, ZeroDivisionError):
            return False

    def read(self, text: str) -> str:
        """Return the text itself."""
        return text

    def some(self) -> str:
        """Return a count query."""
        return "count"

    def schema(self) -> dict[str, Any]:
        """Return the texts as JSON Schema, without the rule that a is below b."""
        return {"type": "string", "pattern": r"^(count|histogram|\s*sum\s+in\s*\[[^,\[\]]+,[^,\[\]]+\]\s*)$"}

    def __str__(self) -> str:
        return f"{FORMS} with numbers a < b"


def queried() -> Any:
    """Return the field of the query from which the sensitivity follows."""
    return parameter(Queries(), "1", "what is asked, instead of sensitivity; one record a user", None)


@dataclass(frozen=True)
class Measured(Parameters):
    """Parameters with a ``sensitivity`` and possibly a ``query``, of which at most one is given.

    Raises:
        ValueError: if both are given, or the query is none.
    """

    def __post_init__(self) -> None:
        query, given = getattr(self, "query", None), getattr(self, "sensitivity")  # noqa: B009 (of subclasses)
        if isinstance(query, str):
            Query.of(query)  # whose error says more than that the text is none of the queries
        super().__post_init__()
        if query is not None and given is not None:
            raise ValueError(
                f"sensitivity ({given!r}) must be left out, because it follows from query ({query!r})."
            )

    def as_json(self) -> dict[str, Any]:
        """Return the given values by name; sensitivity is 1 if neither it nor a query was given."""
        values = super().as_json()
        if values.keys() & {"sensitivity", "query"}:
            return values
        (domain,) = (f.metadata["domain"] for f in self.fields() if f.name == "sensitivity")
        return {**values, "sensitivity": domain.kind(1)}


@dataclass(frozen=True)
class Sensitivity:
    """How far neighbours move an answer: ``coordinates`` of it change by ``moved`` each, the others do not change.

    >>> found = Sensitivity(Fraction(1), 2, L2)
    >>> found.exact, found.value, found.value**2 > 2
    ('sqrt(2)', 1.4142135623730951, True)
    """

    moved: Fraction
    coordinates: int = 1
    norm: str = L1
    rule: str = "given"
    """How the sensitivity was found, as a sentence printed beside the answer."""

    @property
    def squared(self) -> Fraction:
        """The square of the L2 sensitivity."""
        return self.coordinates * self.moved**2

    @property
    def exact(self) -> str:
        """The sensitivity in its norm: a rational number, or ``sqrt`` of one."""
        if self.norm == L2 and self.coordinates > 1:
            return f"sqrt({self.squared})"
        return str(self.moved * (self.coordinates if self.norm == L1 else 1))

    @property
    def value(self) -> float:
        """A double that is at least the sensitivity: the smallest such double, or the next one."""
        with precision(192):
            if self.norm == L2 and self.coordinates > 1:
                return round_up(arb_of(self.squared).sqrt())
            return round_up(arb_of(self.moved * (self.coordinates if self.norm == L1 else 1)))

    def as_json(self) -> dict[str, Any]:
        """Return the sensitivity as JSON data, as an answer shows it."""
        return {"norm": self.norm, "value": self.value, "exact": self.exact, "rule": self.rule}

    def __str__(self) -> str:
        """Return the largest difference between answers, for the description of a pair."""
        each = f" in each of {self.coordinates} coordinates" if self.coordinates > 1 else ""
        return f"{float(self.moved):g}{each}"


def sensitivity_of(parameters: Any, adjacency: Adjacency, norm: str) -> Sensitivity:
    """Return the sensitivity under a relation. Without users, the default is 1.

    >>> from dpproof.accountant.noise.gaussian import GaussianParameters
    >>> sensitivity_of(GaussianParameters(5.0, query="histogram"), Adjacency.REPLACE, L2).squared
    Fraction(2, 1)

    Raises:
        ValueError: if users are named and neither sensitivity nor query is given, or if the query fixes no
            sensitivity under that relation.
    """
    query, given = getattr(parameters, "query", None), parameters.sensitivity
    if query is not None:
        return _derived(Query.of(query), adjacency, norm)
    if given is not None:
        users = adjacency is not Adjacency.BY_SENSITIVITY
        rule = f"the sensitivity is taken to be that under {adjacency.value} neighbours" if users else "given"
        return Sensitivity(exact(given, "sensitivity"), 1, norm, rule)
    if adjacency is Adjacency.BY_SENSITIVITY:
        return Sensitivity(Fraction(1), 1, norm, "no relation is named: sensitivity 1 is the unit")
    raise ValueError(_missing(parameters, adjacency))


def _missing(parameters: Any, adjacency: Adjacency) -> str:
    about = next(field.metadata["help"] for field in parameters.fields() if field.name == "sensitivity")
    asks = hasattr(parameters, "query") and adjacency in (Adjacency.ADD_REMOVE, Adjacency.REPLACE)
    other = f", or query ({FORMS}) if each user has one record" if asks else ""
    return (
        f"sensitivity is missing. Under {adjacency.value} neighbours it depends on what is computed, so dpproof "
        f"does not guess it. Give sensitivity ({about}){other}."
    )


def _derived(query: Query, adjacency: Adjacency, norm: str) -> Sensitivity:
    moved = query.moved(adjacency)
    found = Sensitivity(moved[0], len(moved), norm)
    cells = "1 coordinate moves" if len(moved) == 1 else f"{len(moved)} coordinates move"
    how = f"{cells} by at most {_short(moved[0])}"
    measure = "" if norm == LARGEST else f"; {norm} sensitivity {found.exact}"
    return Sensitivity(
        moved[0],
        len(moved),
        norm,
        f"{query} under {adjacency.value} neighbours: {how}{measure} (one record a user)",
    )


def whole_sensitivity(parameters: Any, adjacency: Adjacency, norm: str = L1) -> tuple[Sensitivity, int]:
    """Return the sensitivity for noise on whole numbers, and the integer by which a coordinate changes.

    Raises:
        ValueError: as `sensitivity_of`, or for a query whose answers are not whole numbers, or move further
            than the parameters admit.
    """
    found = sensitivity_of(parameters, adjacency, norm)
    query = None if parameters.query is None else Query.of(parameters.query)
    if query is not None and not query.lower.denominator == query.upper.denominator == 1:
        raise ValueError(
            f"query ({parameters.query!r}) must have integer bounds, because the noise is integer."
        )
    (domain,) = (field.metadata["domain"] for field in parameters.fields() if field.name == "sensitivity")
    if not domain.admits(int(found.moved)):
        raise ValueError(
            f"query ({parameters.query!r}) changes a coordinate by {found.moved}. The change must be {domain}."
        )
    if query is not None and query.kind == "sum":
        found = replace(found, rule=found.rule.replace("(one record a user)", "(one whole number a user)"))
    return found, int(found.moved)


def contribution(parameters: Any, adjacency: Adjacency) -> Sensitivity:
    """The largest absolute value that a user adds to a leaf of a stream; for ``by-sensitivity`` the leaf's change.

    Raises:
        ValueError: if users are named and none is given.
    """
    found = sensitivity_of(parameters, adjacency, LARGEST)
    return Sensitivity(found.moved, 1, LARGEST, "what one user adds to a leaf, as given")


def contributed(parameters: Any, adjacency: Adjacency) -> Fraction:
    """Return ``contribution`` as a number."""
    return contribution(parameters, adjacency).moved


def check_monotone(parameters: Any, adjacency: Adjacency) -> None:
    """Raise ValueError if the parameters call their queries monotone but the named kind of query is not.

    Raises:
        ValueError: naming the query and the relation.
    """
    if not parameters.monotone or parameters.query is None:
        return
    if not Query.of(parameters.query).monotone(adjacency):
        raise ValueError(
            f"monotone (True) must be left out. Queries of the form {parameters.query!r} can rise and can fall "
            f"between {adjacency.value} neighbours."
        )


def _short(value: Fraction) -> str:
    """Return a rational as a decimal if that is exact and short, otherwise as a fraction."""
    shown = f"{float(value):.12g}"
    return shown if Fraction(shown) == value else str(value)
