"""What Chan, Shi and Song print for the error of a release, beside the exact one."""

from __future__ import annotations

from dataclasses import dataclass

from dpproof.accountant.counting.error import release_error_bound
from dpproof.accountant.counting.noise import LaplaceNoise
from dpproof.accountant.numbers.bounds import Bound, Truth
from dpproof.accountant.numbers.enclosures import Number, arb_of, bound_of, exact, precision
from dpproof.accountant.published.counting import PUBLISHED

__all__ = ["PublishedError", "published_error"]

_BITS = 128
_FORMULAS = {entry.id: entry.formula for entry in PUBLISHED}


@dataclass(frozen=True)
class PublishedError:
    """A printed bound on the error of one release, its hypothesis, and the exact quantile."""

    printed: Bound
    applies: Truth
    """Whether the hypothesis holds: at least log(2/beta) terms."""
    exact: Bound
    """The smallest x with P(|error| > x) <= beta."""

    @property
    def holds(self) -> Truth:
        """Whether the printed bound is true for these numbers, hypothesis or not."""
        return self.printed.at_least(self.exact)


def published_error(terms: int, scale: Number, beta: Number) -> PublishedError:
    """The error of a sum of ``terms`` Laplace variables of that scale, printed and exact.

    >>> found = published_error(14, 15, "0.01")
    >>> found.applies.value, found.printed.upper, found.exact.upper
    ('proved', 365.400599, 210.715069)

    Raises:
        ValueError: for fewer than one term, a scale not above 0, or a beta outside (0, 1).

    Source: Chan, Shi and Song, Lemma 2.8 (statement classic.laplace_sum_tail).
    """
    failure, noise = exact(beta, "beta"), LaplaceNoise(scale)
    if not 0 < failure < 1:
        raise ValueError(f"beta ({beta!r}) must be in (0, 1)")
    if isinstance(terms, bool) or not isinstance(terms, int) or terms < 1:
        raise ValueError(f"terms ({terms!r}) must be an integer at least 1")
    with precision(_BITS):
        target = arb_of(failure)
        values = {"b": arb_of(exact(scale)), "m": terms + 0 * target, "beta": target}
        printed = bound_of(_FORMULAS["classic.laplace_sum_tail"].arb(**values))
        needed = bound_of(_FORMULAS["classic.laplace_sum_tail.terms"].arb(beta=target))
    time = (1 << terms) - 1  # a time whose release adds up that many nodes
    return PublishedError(printed, needed.at_most(terms), release_error_bound(time, noise, failure))
