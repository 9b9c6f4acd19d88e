"""``PrivacyResult``: the answer of an accountant about one mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.sensitivity import Sensitivity
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.arithmetic import Assumption, assume, current, recorded
from dpproof.accountant.numbers.bounds import Bound, exactly
from dpproof.accountant.numbers.checks import below_one
from dpproof.accountant.numbers.enclosures import Number, Written
from dpproof.accountant.numbers.written import json_text

if TYPE_CHECKING:
    from dp_accounting.dp_event import DpEvent
    from matplotlib.figure import Figure

    from dpproof.accountant.checking import Certificate

SHOWN_DELTAS = ("0", "1e-9", "1e-7", "1e-6", "1e-5", "1e-3")
SHOWN_DELTA = "1e-6"
"""The delta at which a result shows its epsilon, unless the guarantee has a finite epsilon at delta 0."""
IN_REAL_ARITHMETIC = "in real arithmetic; the released doubles are not covered"
"""The text that is shown if no sampler of this library draws the output of the mechanism exactly."""


@dataclass(frozen=True)
class PublishedGuarantee:
    """Two guarantees from a paper: the epsilon that it prints, and the best that its analysis implies."""

    statement: str
    """The name of the statement that prints the epsilon."""
    epsilon: Callable[[Any], Bound]
    """A function of delta that returns bounds on the epsilon of the printed formula.

    At delta 0 epsilon is infinite, unless the paper proves pure privacy.
    """
    exact: Profile
    """The guarantee that follows from the paper's privacy losses if they are composed and converted exactly."""
    exact_statement: str
    """The name of the statement that proves ``exact``."""


def at_positive_delta(
    epsilon: Callable[[Fraction], Bound], at_zero: float = math.inf
) -> Callable[[Any], Bound]:
    """Return the formula ``epsilon`` as a function of any delta in [0, 1), including delta 0.

    For delta above 0 the returned function gives ``epsilon(delta)``. At delta 0 it gives ``at_zero``.

    >>> at_positive_delta(lambda delta: Bound(1.0, 2.0))(0).upper
    inf

    Raises:
        ValueError: from the returned function, for a delta outside [0, 1).
    """

    def answer(delta: Any) -> Bound:
        failure = below_one(delta, "delta")
        return exactly(at_zero) if failure == 0 else epsilon(failure)

    return answer


@dataclass(frozen=True)
class Attained:
    """A proved lower bound on the privacy loss, together with the pair of neighbours that attains it.

    ``guarantee`` is the privacy profile of this pair, and ``pair`` describes the pair in words. The bound
    applies to an adversary who sees everything that is released. An adversary who sees less may learn less.
    In the joint model, for example, an adversary sees only the other users' actions.
    """

    guarantee: Profile
    pair: str


@dataclass(frozen=True, repr=False)
class PrivacyResult:
    """The result of `account`: a proved guarantee of one mechanism under one neighbouring relation."""

    guarantee: Profile
    adjacency: Adjacency
    trust: TrustModel
    """The trust model in which the guarantee holds for everything in ``released``."""
    released: str
    """A description of the outputs that the guarantee covers."""
    statement: str
    """The name of the statement that proves the guarantee."""
    joint_statement: str | None = None
    """The name of the statement about joint privacy of actions that are computed from the output, or None."""
    published: PublishedGuarantee | None = field(default=None, compare=False)
    attained: Attained | None = None
    notes: tuple[str, ...] = ()
    sensitivity: Sensitivity | None = None
    """The sensitivity, and how it was found; None if no noise is scaled to a sensitivity."""
    exact_sampler: str | None = None
    """The dotted name of the sampler in this library that draws the output exactly, to the last bit.

    None if there is no such sampler. The guarantee then holds for the mathematical mechanism only.
    """
    assumptions: frozenset[Assumption] = field(default_factory=current, compare=False, repr=False)
    """Unproved assumptions about the machine's arithmetic, on which the guarantee depends.

    See `accountant.numbers.arithmetic`.
    """
    mechanism: str = field(default="", compare=False)
    """The name of the mechanism, as on the command line."""
    parameters: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The mechanism's parameters by name, as they were given."""
    parallel: bool = field(default=False, compare=False)
    """Whether the mechanism runs on each of several disjoint groups of the records."""
    unit: str = field(default="record", compare=False)
    """What one record stands for, such as ``user``. The guarantee then protects all data of one user."""

    def __repr__(self) -> str:
        return "\n".join(
            (
                self.asked_for,
                f"  epsilon at delta {self._shown}: {self.epsilon(self._shown)}",
                f"  neighbours: {self.neighbours}; trust: {self.trust.value}",
                f"  of {self.released}; {self.released_bits}",
                f"  rests on {self.statement}",
            )
        )

    def _repr_html_(self) -> str:
        """Return the result for a notebook: epsilon at some deltas and what these values cover."""
        return html_of(self)

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Return the privacy profile and the trade-off function as a figure, and save it if a path is given.

        >>> from dpproof import account
        >>> account("laplace", scale=2).plot().get_size_inches().tolist()
        [9.6, 4.2]
        """
        from dpproof.accountant.drawing import figure_of  # it loads matplotlib

        return figure_of(self).kept(path)

    @property
    def asked_for(self) -> str:
        """The mechanism with its parameters, in one line."""
        given = ", ".join(f"{name}={_brief(value)}" for name, value in self.parameters.items())
        groups = " on each of several disjoint groups" if self.parallel else ""
        return f"{self.mechanism or 'a mechanism'}({given}){groups}"

    @property
    def neighbours(self) -> str:
        """The name of the neighbouring relation and the unit, which says whose data one record holds.

        For ``by-sensitivity``, the text is only the name of the relation.
        """
        if self.adjacency is Adjacency.BY_SENSITIVITY:
            return str(self.adjacency.value)
        return f"{self.adjacency.value}, of one {self.unit}"

    @property
    def _shown(self) -> str:
        """The delta at which the result shows its epsilon; 0 for a pure guarantee."""
        return "0" if self.epsilon(0).upper < math.inf else SHOWN_DELTA

    @property
    def covers_released_bits(self) -> bool:
        """Whether this library has a sampler for which the guarantee covers every released bit."""
        return self.exact_sampler is not None

    @property
    def released_bits(self) -> str:
        """A text that is printed next to every epsilon: whether the guarantee covers every released bit."""
        if self.exact_sampler is None:
            return IN_REAL_ARITHMETIC
        return f"covers every released bit, where {self.exact_sampler} draws from entropy"

    def epsilon(self, delta: Number) -> Bound:
        """Return bounds on the guarantee's epsilon at ``delta``.

        The ``assumptions`` of the returned bound list what the computation assumes about the arithmetic.

        >>> from dpproof.accountant.catalogue import accountant_for
        >>> found = accountant_for("laplace").account(accountant_for("laplace").parameters(5.0))
        >>> sorted(one.value for one in found.epsilon("0.5").assumptions), found.epsilon(0).assumptions
        ([], frozenset())
        """
        return self._asked(lambda: self.guarantee.epsilon(delta))

    def delta(self, epsilon: Number) -> Bound:
        """Return bounds on the guarantee's delta at ``epsilon``.

        The ``assumptions`` of the returned bound list what the computation assumes about the arithmetic.
        """
        return self._asked(lambda: self.guarantee.delta(epsilon))

    def trade_off(self, alpha: Number) -> Bound:
        """Return bounds on the smallest false negative rate of a test with the false positive rate ``alpha``.

        The test decides from the output which of two neighbours was the input.

        >>> from dpproof import account
        >>> float(account("gaussian", sigma=1).trade_off("0.05"))
        0.740489
        """
        return self._asked(lambda: self.guarantee.trade_off(alpha))

    def advantage(self) -> Bound:
        """Return bounds on the largest advantage of a test that tells two neighbours apart.

        The advantage is the true positive rate minus the false positive rate.

        >>> from dpproof import account
        >>> print(account("gaussian", sigma=1).advantage())
        0.3829250 (certified, 15 digits)
        """
        return self._asked(lambda: self.guarantee.delta(0))

    def mu(self, kappa: Number = "0.001") -> Bound:
        """Return bounds on the least mu such that mu-Gaussian DP implies this guarantee, up to an error ``kappa``.

        ``kappa`` is the error that is allowed in both error rates of a test. Let f be the trade-off function
        of the guarantee, and G the trade-off function of mu-Gaussian DP. Then f(alpha) >= G(alpha + kappa) -
        kappa at every alpha. If ``kappa`` is 0, the upper bound is infinite, except for a Gaussian guarantee.

        >>> from dpproof import account
        >>> account("gaussian", sigma=2).mu(kappa=0).upper
        0.5

        Raises:
            ValueError: if ``kappa`` is not in [0, 1).
        """
        return self._asked(lambda: self.guarantee.gaussian(kappa))

    def check(self, *, epsilon: Number | None = None, delta: Number | None = None) -> Certificate:
        """Return a certificate of the delta at ``epsilon``, or of the epsilon at ``delta``.

        A second, slower route computes the same number. The certificate says whether the two agree, to how many
        digits, and which route it was. Some guarantees have no second route.

        >>> from dpproof import account
        >>> account("gaussian", sigma=2).check(delta="1e-6").words
        'confirmed to 14 digits by an integral of the two normal densities in ball arithmetic'

        Raises:
            ValueError: unless exactly one of ``epsilon`` and ``delta`` is given.
        """
        from dpproof.accountant.checking import check  # it loads numpy

        return check(self, epsilon=epsilon, delta=delta)

    def question(self) -> dict[str, Any]:
        """Return what was asked, as JSON data: the mechanism, its parameters, the neighbouring relation and the unit.

        Raises:
            ValueError: if the result was not made by `dpproof.account` or `dpproof.compose`.
        """
        if not self.mechanism:
            raise ValueError("The result must name its mechanism. Make the result with dpproof.account.")
        return {
            "mechanism": self.mechanism,
            "parameters": {name: _written(value) for name, value in self.parameters.items()},
            "adjacency": self.adjacency.value,
            "unit": self.unit,
            "parallel": self.parallel,
        }

    def to_json(self) -> str:
        """Return the result as JSON text: what was asked, and epsilon at some deltas.

        `from_json` reads the text and computes the result again.

        >>> from dpproof import PrivacyResult, account
        >>> result = account("laplace", scale="0.7", sensitivity=1, adjacency="replace")
        >>> PrivacyResult.from_json(result.to_json()) == result
        True
        """
        answers = {at: self.epsilon(at).as_json() for at in SHOWN_DELTAS}
        told = {"statement": self.statement, "released_bits": self.released_bits, "epsilon": answers}
        return json_text({"schema": 1, "question": self.question(), "trust": self.trust.value, **told})

    @classmethod
    def from_json(cls, text: str) -> PrivacyResult:
        """Read the JSON text that ``to_json`` wrote, and compute the result again.

        Raises:
            ValueError: for text that was not written by ``to_json``.
        """
        from dpproof.accountant.composing import result_from_json  # it makes results by name

        return result_from_json(text)

    def to_dp_event(self) -> DpEvent:
        """Return an event of the library dp-accounting that is implied by this result.

        >>> from dpproof import account
        >>> account("gaussian", sigma=2, sensitivity=1, adjacency="add-remove").to_dp_event()
        GaussianDpEvent(noise_multiplier=2.0)

        Raises:
            UnsupportedEventError: if no event describes the mechanism.
        """
        from dpproof.accountant.interop.dp_events_out import event_of  # it loads dp-accounting

        return event_of(self.guarantee, self.adjacency)

    def _asked(self, question: Callable[[], Bound]) -> Bound:
        with recorded():
            assume(*self.assumptions)
            found = question()
            return replace(found, assumptions=current())

    @property
    def notion(self) -> Profile:
        """The proved guarantee as a notion of privacy, such as ``GaussianDP`` or ``ApproxDP``."""
        return self.guarantee


def _brief(value: Any) -> str:
    """Return a parameter as short text. A composed result is shown by its mechanism only."""
    match value:
        case PrivacyResult():
            return value.mechanism
        case tuple() | list():
            return f"[{', '.join(map(_brief, value))}]"
    return str(value)


def html_of(result: PrivacyResult) -> str:
    """Return a result as an HTML table, for a notebook."""
    rows = [(f"epsilon at delta {at}", str(result.epsilon(at))) for at in SHOWN_DELTAS]
    rows += [
        ("best attack: true minus false positive rate, at most", str(result.advantage())),
        ("neighbours", result.neighbours),
        ("trust model", result.trust.value),
        ("speaks of", f"{result.released}; {result.released_bits}"),
        ("rests on", result.statement),
    ]
    cells = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in rows
    )
    return f"<table><caption><b>{escape(result.asked_for)}</b></caption>{cells}</table>"


def _written(value: Any) -> Any:
    """Return a parameter as JSON data: a typed decimal as its text, a fraction as text, other values unchanged."""
    match value:
        case Written():
            return value.text
        case Fraction():
            return str(value)
        case PrivacyResult():
            return value.question()
        case tuple() | list():
            return [_written(one) for one in value]
    return value
