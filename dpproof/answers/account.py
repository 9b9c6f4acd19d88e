"""Answers of ``dpproof account``: the certified and the published guarantee of a mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dpproof.accountant.asking import result_of
from dpproof.accountant.claims.accountant import Accountant, check_run
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.decimals import doubles
from dpproof.accountant.claims.parameters import Parameters
from dpproof.accountant.claims.result import IN_REAL_ARITHMETIC, PrivacyResult
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.arithmetic import Assumption, recorded
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, Written, exact
from dpproof.answers.verify import results
from dpproof.proofs_check.verdict import Result

if TYPE_CHECKING:
    from dpproof.accountant.checking import Certificate

Ask = Callable[[Profile], Bound]
Quantity = Literal["epsilon", "delta"]


@dataclass(frozen=True)
class Published:
    """What a paper publishes for a mechanism: an epsilon, and other privacy losses (such as rho).

    ``exact`` is epsilon or delta, computed exactly from those privacy losses. ``rests`` is the verdict on the
    statement that prints the epsilon. ``exact_rests`` is the verdict on the statement that proves ``exact``.
    """

    printed: Bound | None
    """The epsilon that the paper prints; None if a delta is asked for."""
    rests: Result
    exact: Bound
    exact_rests: Result


@dataclass(frozen=True)
class Account:
    """The certified epsilon of a mechanism at one delta, or its delta at one epsilon, and what this rests on."""

    name: str
    """Name of the mechanism. For an object of another library, its kind."""
    parameters: Mapping[str, object]
    adjacency: Adjacency
    trust: TrustModel
    quantity: Quantity
    """The quantity that is computed: epsilon or delta."""
    at: float
    """The given delta, or the given epsilon."""
    bound: Bound
    arithmetic: frozenset[Assumption]
    """Assumptions on the machine's arithmetic that the numbers need."""
    result: PrivacyResult | None = None
    """The accountant's result; None for an object of another library."""
    rests: Result | None = None
    """The verdict on the statement that the answer rests on; None for an object of another library."""
    rests_on: str = ""
    """For an object of another library, a text that states what the answer rests on, instead of ``rests``."""
    released: Bound | None = None
    """Bounds on the mechanism's true epsilon or delta: the lower from two named neighbours, the upper certified."""
    published: Published | None = None
    printed: Mapping[str, object] | None = None
    """What the paper prints for the same target, on data that it specifies."""
    checked: Certificate | None = None
    """What a second route says about the answer; None if nobody asked."""

    @property
    def asked(self) -> Quantity:
        """The quantity that was given in the question: delta or epsilon."""
        return "epsilon" if self.quantity == "delta" else "delta"

    @property
    def released_bits(self) -> str:
        """Text that states whether the guarantee covers every released bit, or holds in real arithmetic only."""
        return IN_REAL_ARITHMETIC if self.result is None else self.result.released_bits


def checked_number(value: Number, name: str) -> float:
    """Return the given value as a floating-point number for JSON, after checking its domain.

    Raises:
        ValueError: the text is not a number; the number is too large or too close to 0 for double precision; epsilon
            is negative; or delta is outside [0, 1).
    """
    rational = exact(value, name)
    try:
        shown = float(rational)
    except OverflowError:
        shown = math.inf
    if math.isinf(shown) or (shown == 0) != (rational == 0):
        rule = "must be 0 or between 4.95e-324 and 1.79e308, the range of double precision."
        raise ValueError(f"{name} ({value!r}) {rule}")
    if name == "delta" and not 0 <= rational < 1:
        raise ValueError(f"delta ({value!r}) must be in [0, 1)")
    if rational < 0:
        raise ValueError(f"{name} ({value!r}) must be at least 0")
    return Written(value) if isinstance(value, str) and "/" not in value else shown


def account(
    accountant: Accountant,
    parameters: Parameters,
    adjacency: Adjacency,
    *,
    delta: Number | None = None,
    epsilon: Number | None = None,
    parallel: bool = False,
    check: bool = False,
) -> Account:
    """Return the certified epsilon at ``delta``, or delta at ``epsilon``, with the published values.

    With ``parallel`` the mechanism runs once on each of several disjoint groups of records, as for `dpproof.account`.
    With ``check`` a second route computes the same number.

    Raises:
        ValueError: unless exactly one of ``delta`` and ``epsilon`` is given.
    """
    quantity: Quantity = "delta" if delta is None else "epsilon"
    asked, at = ("epsilon", epsilon) if delta is None else ("delta", delta)
    if at is None or (delta is not None and epsilon is not None):
        raise ValueError("Give exactly one of --delta and --epsilon.")
    shown = checked_number(at, asked)
    check_run(parameters)
    with recorded() as used:
        found = result_of(accountant, parameters, adjacency, parallel)
        ask = asked_once(lambda guarantee: getattr(guarantee, quantity)(at))
        verdicts = quoted(found)
        bound = ask(found.guarantee)
        released = _released(found, ask)
        beside = published(found, quantity, at, ask, verdicts)
        ends = (bound.upper, at) if quantity == "epsilon" else (at, bound.upper)
        printed = None if accountant.beside is None else accountant.beside(doubles(parameters), *ends)
    return Account(
        name=accountant.name,
        parameters=parameters.as_json(),
        adjacency=adjacency,
        trust=found.trust,
        quantity=quantity,
        at=shown,
        bound=bound_on(found, bound),
        arithmetic=frozenset(used),
        result=found,
        rests=verdicts[found.statement],
        released=released,
        published=beside,
        printed=printed,
        checked=found.check(delta=delta, epsilon=epsilon) if check else None,
    )


def asked_once(ask: Ask) -> Ask:
    """Return a function that gives the same results as ``ask`` and stores them.

    Numerical guarantees are slow, so equal guarantees are evaluated only once.
    """
    known: list[tuple[Profile, Bound]] = []

    def asked(guarantee: Profile) -> Bound:
        for other, bound in known:
            if other == guarantee:
                return bound
        known.append((guarantee, ask(guarantee)))
        return known[-1][1]

    return asked


def bound_on(found: PrivacyResult, bound: Bound) -> Bound:
    """Return the bound, marked as a bound on the mechanism if two known neighbours attain the guarantee.

    Otherwise the bound is one on the guarantee, and it is returned unchanged.
    """
    if found.attained is None or found.attained.guarantee != found.guarantee:
        return bound
    return Bound(bound.lower, bound.upper, "mechanism", found.attained.pair)


def _released(found: PrivacyResult, ask: Ask) -> Bound | None:
    if found.attained is None:
        return None
    low, high = ask(found.attained.guarantee), ask(found.guarantee)
    return Bound(low.lower, high.upper, "mechanism", found.attained.pair)


def quoted(found: PrivacyResult) -> Mapping[str, Result]:
    """Return the verdicts, by id, on the statements that prove a guarantee and the published results."""
    beside = found.published
    return results(
        found.statement, *((beside.statement, beside.exact_statement) if beside is not None else ())
    )


def published(
    found: PrivacyResult, quantity: Quantity, at: Number, ask: Ask, verdicts: Mapping[str, Result]
) -> Published | None:
    """Return the published epsilon or delta of a mechanism, or None if nothing is published.

    ``at`` is the given delta or epsilon, and ``ask`` computes the quantity from a guarantee.
    """
    if found.published is None:
        return None
    return Published(
        found.published.epsilon(at) if quantity == "epsilon" else None,
        verdicts[found.published.statement],
        ask(found.published.exact),
        verdicts[found.published.exact_statement],
    )
