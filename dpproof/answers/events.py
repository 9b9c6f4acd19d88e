"""The guarantee of an object of another library: an event of dp-accounting, or a training run of Opacus."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dpproof.accountant.claims.claim import Claim
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.arithmetic import recorded
from dpproof.answers.account import Account


def _event(given: object) -> Any:
    """Return a DpEvent, which is given directly or returned by a callable."""
    from dp_accounting.dp_event import DpEvent

    made = given if isinstance(given, DpEvent) or not callable(given) else given()
    if not isinstance(made, DpEvent):
        raise ValueError(f"event (type {type(made).__name__}) must be a dp-accounting DpEvent, or return one")
    return made


def _training(given: object) -> Any:
    """Return the event of an Opacus accountant or engine, or of (noise multiplier, sampling rate, steps)."""
    from dp_accounting.dp_event import ComposedDpEvent

    from dpproof.accountant.interop.dp_events import event_of_training

    made = given() if callable(given) else given
    kept = getattr(made, "accountant", made)
    history: Any = getattr(kept, "history", kept)
    try:
        steps = [(float(rate), float(noise), _whole(count)) for noise, rate, count in history]
    except (TypeError, ValueError) as error:
        rule = (
            "must be an Opacus engine or accountant, or a list of (noise multiplier, sampling rate, steps). "
            "The number of steps must be whole."
        )
        raise ValueError(f"training (type {type(made).__name__}) {rule}") from error
    if not any(count > 0 for _rate, _noise, count in steps):
        raise ValueError(
            f"training (type {type(made).__name__}) shows that nothing was run. Give a training with at least one step."
        )
    if not any(count > 0 and rate for rate, _noise, count in steps):
        rule = "shows that nothing was run on any record. The sampling rate must be above 0 in at least one step."
        raise ValueError(f"training (type {type(made).__name__}) {rule}")
    return ComposedDpEvent([event_of_training(*step) for step in steps])


def _whole(count: float) -> int:
    """Return a number of steps as an integer, without rounding."""
    if int(count) != count:
        raise ValueError(f"steps ({count!r}) must be a whole number")
    return int(count)


PREFIXES: Mapping[str, Callable[[Any], Any]] = {"event": _event, "training": _training}
"""Keys of a claim that name objects of other libraries, with functions that turn such an object into an event."""


def kind_of(claim: Claim) -> str | None:
    """Return ``event`` or ``training`` if the claim is about an object of another library, otherwise None."""
    prefix = claim.mechanism.partition(":")[0]
    return prefix if prefix in PREFIXES and claim.mechanism.count(":") > 1 else None


def event_of(claim: Claim) -> Any:
    """Return the DpEvent, an object of dp-accounting, that describes the object that the claim names.

    Raises:
        ValueError: the object cannot be loaded, raises an error, or is of a kind that dpproof does not support.
    """
    from dpproof.audits.targets.named import load

    kind, _, target = claim.mechanism.partition(":")
    try:
        return PREFIXES[kind](load(target))
    except ValueError:
        raise
    except (Exception, SystemExit) as error:  # whatever a user's callable does
        raise ValueError(f"{kind} ({target!r}) raised {type(error).__name__}: {error}") from error


def guarantee_of_event(claim: Claim) -> Profile:
    """Return the certified guarantee of the object of another library that the claim names.

    Raises:
        ValueError: the object cannot be loaded, raises an error, or is of a kind that dpproof does not support; or no
            guarantee is known under this adjacency.
    """
    from dpproof.accountant.interop.dp_events import privacy_loss_of

    return privacy_loss_of(event_of(claim), claim.adjacency)


def account_event(claim: Claim) -> tuple[Account, Profile]:
    """Return the account and the guarantee of the object of another library that the claim names.

    Some fields of the account stay empty. ``released`` is given only if a pair of neighbours is known that attains
    the guarantee.
    """
    from dpproof.accountant.interop.dp_events import attained_by, privacy_loss_of

    event = event_of(claim)
    with recorded() as used:
        guarantee = privacy_loss_of(event, claim.adjacency)
        bound = guarantee.epsilon(claim.delta)
    kind, _, target = claim.mechanism.partition(":")
    pair = attained_by(event, claim.adjacency)
    account = Account(
        name=kind,
        parameters={kind: target},
        adjacency=claim.adjacency,
        trust=TrustModel.CENTRAL,
        quantity="epsilon",
        at=claim.delta,
        bound=bound,
        arithmetic=frozenset(used),
        rests_on=_RESTS_ON + _ALSO.get(kind, ""),
        released=None if pair is None else replace(bound, of="mechanism", attained_by=pair),
    )
    return account, guarantee


_RESTS_ON = (
    "a dominating pair of each single event, and classic.dominating_composition, which is quoted, not proved"
)
_ALSO: Mapping[str, str] = {
    "training": (
        "; the training divides by a public number and samples at a public rate (Opacus 1.6.0 computes both from the "
        "number of records; see docs/how-to/training.md)"
    )
}
"""What the answer about an object of another library rests on in addition, for each kind of object."""
