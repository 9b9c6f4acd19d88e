"""``Claim``: a privacy claim about one mechanism, as data that cannot be changed.

Later versions of dpproof may add optional fields. They never change the meaning of a field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Domain
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.notions import ZCDP, ApproxDP, GaussianDP
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.checks import below_one
from dpproof.accountant.numbers.enclosures import Written

ARITHMETIC = ("floating-point", "real")
"""The kinds of arithmetic to which a privacy claim may refer."""


def _epsilon_delta(values: Mapping[str, float]) -> Profile:
    below_one(values.get("delta", 0.0), "delta")
    return ApproxDP(values["epsilon"], values.get("delta", 0.0))


_PROMISES: dict[frozenset[str], Callable[[Mapping[str, float]], Profile]] = {
    frozenset({"epsilon"}): _epsilon_delta,
    frozenset({"epsilon", "delta"}): _epsilon_delta,
    frozenset({"rho"}): lambda values: ZCDP(values["rho"]),
    frozenset({"mu"}): lambda values: GaussianDP(values["mu"]),
}


@dataclass(frozen=True)
class Claim:
    """One privacy claim about one mechanism, for example that it is (1, 1e-6)-differentially private.

    Attributes:
        name: the name of the claim: free text, unique in its file.
        mechanism: the name of a mechanism of dpproof, or ``package.module:callable``, or ``command:`` and the
            command.
        parameters: the mechanism's parameters, by name.
        adjacency: the neighbouring relation of the claim.
        promise: the claimed values of ``epsilon`` and ``delta``, of ``rho`` (zCDP), or of ``mu`` (Gaussian
            DP).
        trust: what the claim covers. ``central``: everything the mechanism releases (the stronger claim).
            ``joint``: only the outputs that everybody except the protected user receives.
        neighbours: ``package.module:callable`` of a function that returns neighbouring inputs. This function
            is used if the mechanism is a callable.
        data: ``package.module:name`` of data, or of a callable that returns data. An audit makes neighbours
            from these data.
        source: the place where the claim is written down.
        command: the program and its arguments, if the mechanism is a command.
        audit: settings of the audit, by name: ``budget``, and for a callable or a command also others. They are
            listed as ``AUDIT`` in `dpproof.claim_file.entry`.
        arithmetic: ``floating-point`` if the promise holds for the released values to the last bit. ``real`` if
            it holds for real numbers. A violation that only floating-point rounding causes then does not count.

    >>> Claim("ward", "rlsvi", {}, Adjacency.REWARDS_ONLY, {"epsilon": 2.0, "delta": 1e-6}).delta
    1e-06

    Raises:
        ValueError: for an empty name, or a promise that is not one of the above. The message names the field.
    """

    name: str
    mechanism: str
    parameters: Mapping[str, Any]
    adjacency: Adjacency
    promise: Mapping[str, float]
    neighbours: str | None = None
    source: str | None = None
    trust: TrustModel = TrustModel.CENTRAL
    command: tuple[str, ...] | None = None
    audit: Mapping[str, Any] = field(default_factory=dict)
    arithmetic: str = "floating-point"
    data: str | None = None
    guarantee: Profile = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "adjacency", Adjacency.of(self.adjacency))
        for label in ("name", "mechanism"):
            value = getattr(self, label)
            if not isinstance(value, str) or not value.strip():
                raise ValueError(f"{label} ({value!r}) must be non-empty text")
        if self.arithmetic not in ARITHMETIC:
            raise ValueError(f"arithmetic ({self.arithmetic!r}) must be one of: {', '.join(ARITHMETIC)}")
        for label, value in self.promise.items():
            if not Domain().admits(value):
                raise ValueError(f"{label} ({value!r}) must be a finite number")
        make = _PROMISES.get(frozenset(self.promise))
        if make is None:
            given = ", ".join(sorted(self.promise)) or "nothing"
            raise ValueError(
                f"A claim must give either epsilon and delta, or rho, or mu. This claim gives: {given}."
            )
        object.__setattr__(self, "guarantee", make(self.promise))

    @property
    def outside(self) -> bool:
        """Whether the mechanism is the user's own callable or command, and not a mechanism of dpproof."""
        return ":" in self.mechanism

    @property
    def delta(self) -> float:
        """The delta at which the claim's epsilon is checked: the claimed delta, or 1e-6 if rho or mu is claimed."""
        given = self.promise.get("delta", 0.0 if "epsilon" in self.promise else 1e-6)
        return given if isinstance(given, Written) else float(given)

    @property
    def epsilon(self) -> float:
        """The claimed epsilon. If rho or mu is claimed, the smallest epsilon that follows at ``delta``."""
        return self.guarantee.epsilon(self.delta).upper
