"""What noise on counts guarantees: the losses of all counters that one user moves, composed.

A user moves some entries of the three families by known amounts, each of them in ``nodes`` noisy values: that
many shifted Laplace pairs, or one Gaussian mechanism of known norm (docs/notes/ucb_counters_exact.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import flint

from accountant.accounted import PublishedGuarantee
from accountant.bounds import Bound, exactly
from accountant.enclosures import Number, arb_of, bound_of, exact, precision
from accountant.noise.bounded_loss import Enclosed
from accountant.notions import Guarantee, PureDP
from accountant.parameters import check_probability
from accountant.published import published
from accountant.rl.capped_loss import CappedLoss
from accountant.rl.private_ucb_changes import Change, Changes, Moves
from accountant.rl.private_ucb_parameters import CountsParameters

__all__ = ["Moved", "gaussian", "laplace", "printed_value", "published_guarantee", "pure_epsilon"]

_BITS = 192
_LEAST_SCALE, _LARGEST_SCALE = 2e-3, 1e12  # of ``accountant.pairs.laplace``


@dataclass(frozen=True)
class Moved:
    """One user's changes of the families in use, and how many noisy values each change is seen in."""

    parameters: CountsParameters
    changes: Changes
    nodes: int

    def families(self) -> Iterable[tuple[Change, Fraction]]:
        """The change and the noise factor of each family."""
        return [(self.changes[name], self.parameters.factor(name)) for name in self.parameters.families]

    def total(self) -> Fraction:
        """The sum of all changes, each in units of its family's noise factor."""
        return self.nodes * sum((change.total / factor for change, factor in self.families()), Fraction(0))

    def squares(self) -> Fraction:
        """The sum of squared changes of one node, each in units of its family's noise factor."""
        return sum((change.squares / factor**2 for change, factor in self.families()), Fraction(0))


def pure_epsilon(moved: Moved) -> Fraction | Bound:
    """The largest loss under Laplace noise: the sum of all changes over the scale; exact where the scale is.

    >>> from accountant.rl.private_ucb_changes import added
    >>> from accountant.rl.private_ucb_parameters import LocalCountsParameters
    >>> parameters = LocalCountsParameters(6, 2, 20, 9, scale=60.0)
    >>> pure_epsilon(Moved(parameters, added(parameters.sizes), 1))
    Fraction(1, 1)
    """
    scale = moved.parameters.scale
    if scale is not None:
        return moved.total() / exact(scale)
    with precision(_BITS):
        return bound_of(arb_of(moved.total()) / moved.parameters.noise_scale())


def laplace(moved: Moved) -> tuple[Guarantee, Guarantee | None]:
    """The guarantee of Laplace noise, and what the worst pair attains; None where that is not composed."""
    most = pure_epsilon(moved)
    dominated, attained = (_composed(moved, side) for side in (_dominating, _attained))
    if dominated is None or attained is None:
        return PureDP(most), None  # the pair attains this at delta 0 only
    found = CappedLoss(most, dominated)
    return found, (found if attained == dominated else CappedLoss(most, attained))


def _dominating(change: Change) -> Moves:
    return change.dominating


def _attained(change: Change) -> Moves:
    return change.attained


def _composed(moved: Moved, side: Callable[[Change], Moves]) -> Guarantee | None:
    """Shifted Laplace pairs of all changes; None where a scale is out of the pairs' range."""
    with precision(_BITS):
        unit = moved.parameters.noise_scale()
        scales = [
            (bound_of(unit * arb_of(factor / size)), count * moved.nodes)
            for change, factor in moved.families()
            for size, count in side(change)
        ]
    if not all(ends.lower > _LEAST_SCALE and ends.upper < _LARGEST_SCALE for ends, _ in scales):
        return None
    less = _loss((ends.lower, count) for ends, count in scales)
    if all(ends.lower == ends.upper for ends, _ in scales):
        return less
    return Enclosed(_loss((ends.upper, count) for ends, count in scales), less)


def _loss(scales: Iterable[tuple[float, int]]) -> Guarantee:
    from accountant.pairs.laplace import Laplace
    from accountant.privacy_loss.notion import PrivacyLoss

    counts: dict[float, int] = {}
    for scale, count in scales:
        counts[scale] = counts.get(scale, 0) + count
    return PrivacyLoss([[(Laplace(scale), count) for scale, count in counts.items()]])


def gaussian(moved: Moved, norm: flint.arb) -> flint.arb:
    """The mu of Gaussian noise, ``norm`` the squared norm of a unit change; call it inside ``precision``."""
    return (norm * arb_of(moved.squares())).sqrt() / moved.parameters.noise_scale()


def printed_value(parameters: CountsParameters) -> Bound:
    """The epsilon that the paper names for this noise: given, or its formula solved for the scale.

    >>> from accountant.rl.private_ucb_parameters import LocalCountsParameters
    >>> printed_value(LocalCountsParameters(6, 2, 20, 9, scale=30.0)).upper
    2.0
    """
    if parameters.printed_epsilon is not None:
        return exactly(float(parameters.printed_epsilon))
    with precision(_BITS):
        formula = published(parameters.printed["epsilon"]).formula
        return bound_of(formula.arb(**parameters.paper_sizes(), b=parameters.noise_scale()))


def published_guarantee(parameters: CountsParameters, statement: str) -> PublishedGuarantee | None:
    """The paper's own answer: pure privacy with the epsilon it names; None for what it does not print."""
    if not parameters.as_printed:
        return None
    value = printed_value(parameters)

    def epsilon(delta: Number) -> Bound:
        check_probability(float(exact(delta, "delta")))
        return value

    return PublishedGuarantee(statement, epsilon, PureDP(value), statement)
