"""The closed form that the clones' theorem gives, for print beside the exact value."""

from __future__ import annotations

from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, arb_of, bound_of, exact, precision
from dpproof.accountant.published.expressions import Formula

__all__ = ["CLOSED_FORM", "closed_form_epsilon"]

CLOSED_FORM = Formula(
    "log(1 + (exp(e)-1)/(exp(e)+1)*(8*sqrt(exp(e)*log(4/delta)/n) + 8*exp(e)/n))",
)
_REACH = Formula("log(n/(16*log(2/delta)))")


def closed_form_epsilon(users: int, local_epsilon: Number, delta: Number) -> Bound:
    """Epsilon after shuffling by the closed form, for ``local_epsilon`` at most log(n/(16 log(2/delta))).

    >>> closed_form_epsilon(10_000, 1, "1e-6").upper
    0.2140

    Raises:
        ValueError: for values outside their domains, or where the theorem's hypothesis is not certified.

    Source: Feldman, McMillan and Talwar, arXiv:2012.12803v2, Theorem 3.1 (classic.clones_closed_form).
    """
    local, failure = exact(local_epsilon, "local_epsilon"), exact(delta, "delta")
    if isinstance(users, bool) or not isinstance(users, int) or users < 1:
        raise ValueError(f"users ({users!r}) must be an integer at least 1")
    if local < 0 or not 0 < failure < 1:
        raise ValueError(f"local_epsilon ({local_epsilon!r}) must be at least 0, delta ({delta!r}) in (0, 1)")
    with precision(192):
        values = {"n": arb_of(exact(users)), "delta": arb_of(failure)}
        if not arb_of(local) <= _REACH.arb(**values):
            rule = "at most log(n/(16 log(2/delta))): the theorem stops there"
            raise ValueError(f"local_epsilon ({local_epsilon!r}) must be {rule}")
        return bound_of(CLOSED_FORM.arb(e=arb_of(local), **values))
