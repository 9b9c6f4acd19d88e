"""An accountant with the interface of dp-accounting's PrivacyAccountant."""

from __future__ import annotations

from typing import Any

from dp_accounting import dp_event
from dp_accounting.privacy_accountant import NeighboringRelation, PrivacyAccountant

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.interop.dp_events import parts_of, privacy_loss_of
from dpproof.accountant.interop.dp_primitives import UnsupportedEventError
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.privacy_loss.notion import PrivacyLoss

_ADJACENCIES = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: Adjacency.ADD_REMOVE,
    NeighboringRelation.REPLACE_ONE: Adjacency.REPLACE,
    NeighboringRelation.REPLACE_SPECIAL: Adjacency.BY_SENSITIVITY,
}


class CertifiedAccountant(PrivacyAccountant):  # type: ignore[misc] # dp-accounting ships no types
    """A dp-accounting ``PrivacyAccountant`` with certified results.

    ``get_epsilon`` and ``get_delta`` return upper bounds.

    >>> import dp_accounting
    >>> step = dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0))
    >>> CertifiedAccountant().compose(step, 1000).get_epsilon(1e-6)
    2.12451517
    """

    def __init__(self, neighboring_relation: Any = NeighboringRelation.ADD_OR_REMOVE_ONE) -> None:
        super().__init__(neighboring_relation)
        self._events: list[dp_event.DpEvent] = []

    @property
    def adjacency(self) -> Adjacency:
        """The neighbouring relation as this project's ``Adjacency``."""
        return _ADJACENCIES[self.neighboring_relation]

    def _maybe_compose(self, event: dp_event.DpEvent, count: int, do_compose: bool) -> Any:
        try:
            parts_of(event, self.adjacency)
        except UnsupportedEventError as refused:
            return PrivacyAccountant.CompositionErrorDetails(refused.event, str(refused))
        if do_compose:
            self._events.append(dp_event.SelfComposedDpEvent(event, count))
        return None

    def account(self) -> PrivacyLoss:
        """Return the guarantee of everything that was composed so far."""
        return privacy_loss_of(dp_event.ComposedDpEvent(self._events), self.adjacency)

    def epsilon(self, target_delta: float) -> Bound:
        """Return a lower and an upper bound on epsilon at ``target_delta``."""
        return self.account().epsilon(target_delta)

    def get_epsilon(self, target_delta: float) -> float:
        """Return the upper bound on epsilon at ``target_delta``."""
        return self.epsilon(target_delta).upper

    def get_delta(self, target_epsilon: float) -> float:
        """Return the upper bound on delta at ``target_epsilon``."""
        return self.account().delta(target_epsilon).upper
