"""Sensitivity: how much one record changes an answer, given by the user or derived from a named query.

A sensitivity belongs to a neighbouring relation. A histogram changes in one cell if a record is added, and in
two cells if a record is replaced. So if a relation between data sets is named, dpproof never guesses the
sensitivity. Either the user gives ``sensitivity``, or the user names the ``query``. In the second case the
sensitivity follows from the query and the relation.
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
    """A count, a histogram or a sum over a data set in which each user has exactly one record.

    A count is the number of records with a property. A histogram divides the records into cells and counts
    the records of each cell. Each record is in exactly one cell. A sum adds one number of [lower, upper] for
    each record.

    >>> Query.of("sum in [-1, 2.5]").moved(Adjacency.REPLACE), Query.of("histogram").moved(Adjacency.REPLACE)
    ((Fraction(7, 2),), (Fraction(1, 1), Fraction(1, 1)))
    """

    kind: str
    lower: Fraction = Fraction(0)
    upper: Fraction = Fraction(1)

    @classmethod
    def of(cls, text: str) -> Query:
        """Return the query that ``text`` names. Decimals in the text mean exact rational numbers.

        Raises:
            ValueError: for any other text. For a sum, also if the lower bound is not below the upper bound, if
                a bound is outside [-1e300, 1e300], or if the two bounds are less than 1e-300 apart.
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
        """Return the largest changes of the answer between neighbours: one number for each coordinate that changes.

        Raises:
            ValueError: for a relation other than add-remove and replace.
        """
        relation = Adjacency.of(adjacency)
        if relation is Adjacency.ADD_REMOVE:
            return (max(abs(self.lower), abs(self.upper)),)
        if relation is not Adjacency.REPLACE:
            raise ValueError(
                f"query ({str(self)!r}) cannot be used under {relation.value}. dpproof computes its sensitivity under "
                "add-remove and replace only. Give sensitivity instead of query."
            )
        return (self.upper - self.lower,) * (2 if self.kind == "histogram" else 1)

    def monotone(self, adjacency: Adjacency | str) -> bool:
        """Return whether all queries of this form change in the same direction between any two neighbours."""
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
        """Return whether ``value`` is text that names a query."""
        try:
            return isinstance(value, str) and bool(Query.of(value))
        except (ValueError, ZeroDivisionError):
            return False

    def read(self, text: str) -> str:
        """Return ``text`` unchanged."""
        return text

    def some(self) -> str:
        """Return the count query, as an example."""
        return "count"

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the texts. The schema does not check that a is below b."""
        return {"type": "string", "pattern": r"^(count|histogram|\s*sum\s+in\s*\[[^,\[\]]+,[^,\[\]]+\]\s*)$"}

    def __str__(self) -> str:
        return f"{FORMS} with numbers a < b"


def queried() -> Any:
    """Return a dataclass field for the parameter ``query``, from which the sensitivity follows."""
    return parameter(Queries(), "1", "what is asked, instead of sensitivity; one record a user", None)


@dataclass(frozen=True)
class Measured(Parameters):
    """Parameters with a ``sensitivity`` and possibly a ``query``. At most one of the two may be given.

    Raises:
        ValueError: if both are given, or for a text that names no query.
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
        """Return the given values by name. If neither ``sensitivity`` nor ``query`` was given, sensitivity is 1."""
        values = super().as_json()
        if values.keys() & {"sensitivity", "query"}:
            return values
        (domain,) = (f.metadata["domain"] for f in self.fields() if f.name == "sensitivity")
        return {**values, "sensitivity": domain.kind(1)}


@dataclass(frozen=True)
class Sensitivity:
    """How much an answer changes between neighbours.

    An answer is a number or a vector of numbers (coordinates). Between neighbours, at most ``coordinates`` of
    these numbers change, each by at most ``moved``. ``norm`` is the norm in which the sensitivity is measured.

    >>> found = Sensitivity(Fraction(1), 2, L2)
    >>> found.exact, found.value, found.value**2 > 2
    ('sqrt(2)', 1.4142135623730951, True)
    """

    moved: Fraction
    coordinates: int = 1
    norm: str = L1
    rule: str = "given"
    """A sentence that says how the sensitivity was found. It is printed with the answer."""

    @property
    def squared(self) -> Fraction:
        """The square of the L2 sensitivity."""
        return self.coordinates * self.moved**2

    @property
    def exact(self) -> str:
        """The exact sensitivity as text: a rational number, or ``sqrt`` of one."""
        if self.norm == L2 and self.coordinates > 1:
            return f"sqrt({self.squared})"
        return str(self.moved * (self.coordinates if self.norm == L1 else 1))

    @property
    def value(self) -> float:
        """The sensitivity as a double, rounded up."""
        with precision(192):
            if self.norm == L2 and self.coordinates > 1:
                return round_up(arb_of(self.squared).sqrt())
            return round_up(arb_of(self.moved * (self.coordinates if self.norm == L1 else 1)))

    def as_json(self) -> dict[str, Any]:
        """Return the sensitivity as JSON data, as in the JSON output of the command line."""
        return {"norm": self.norm, "value": self.value, "exact": self.exact, "rule": self.rule}

    def __str__(self) -> str:
        """Return the largest difference between answers, for the description of a pair."""
        each = f" in each of {self.coordinates} coordinates" if self.coordinates > 1 else ""
        return f"{float(self.moved):g}{each}"


def sensitivity_of(parameters: Any, adjacency: Adjacency, norm: str) -> Sensitivity:
    """Return the sensitivity under a neighbouring relation. Under ``by-sensitivity`` the default is 1.

    >>> from dpproof.accountant.noise.gaussian import GaussianParameters
    >>> sensitivity_of(GaussianParameters(5.0, query="histogram"), Adjacency.REPLACE, L2).squared
    Fraction(2, 1)

    Raises:
        ValueError: under another relation if neither sensitivity nor query is given, or if the query
            determines no sensitivity under the relation.
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
    """Return the sensitivity for a mechanism with integer noise.

    Also return the largest change of one coordinate of the answer, as an integer.

    Raises:
        ValueError: as for `sensitivity_of`. Also for a query with bounds that are not integers, and for a query
            whose answer changes by more than the domain of the parameter ``sensitivity`` allows.
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
            f"query ({parameters.query!r}) has a sensitivity of {found.moved}. The sensitivity must be {domain}."
        )
    if query is not None and query.kind == "sum":
        found = replace(found, rule=found.rule.replace("(one record a user)", "(one whole number a user)"))
    return found, int(found.moved)


def contribution(parameters: Any, adjacency: Adjacency) -> Sensitivity:
    """Return the largest absolute value that a user adds to one entry of a stream.

    Under ``by-sensitivity``, the result is the largest change of one entry.

    Raises:
        ValueError: under another relation if no sensitivity is given.
    """
    found = sensitivity_of(parameters, adjacency, LARGEST)
    return Sensitivity(found.moved, 1, LARGEST, "what one user adds to a leaf, as given")


def contributed(parameters: Any, adjacency: Adjacency) -> Fraction:
    """Return the largest absolute value that a user adds to one entry of a stream; see ``contribution``."""
    return contribution(parameters, adjacency).moved


def check_monotone(parameters: Any, adjacency: Adjacency) -> None:
    """Raise ValueError if ``parameters.monotone`` is true, but the named query can both rise and fall.

    Raises:
        ValueError: in this case. The message names the query and the relation.
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
