"""Audits by name: which function audits a mechanism of the catalogue, a case of the corpus, a callable."""

from __future__ import annotations

import hashlib
import importlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accountant.accounted import accountant_for
from accountant.adjacency import Adjacency
from accountant.claims import Claim
from accountant.trust import TrustModel
from dpproof.claim_file import claim_from, entry_of

if TYPE_CHECKING:
    from audits.corpus.rlsvi import Case
    from audits.evidence import Evidence

__all__ = [
    "NoAuditError",
    "audit_callable",
    "audit_claim",
    "audit_mechanism",
    "check_auditable",
    "check_ready",
    "corpus_cases",
    "named",
    "replay",
    "write_witness",
]

DELTA = 1e-6


class NoAuditError(ValueError):
    """Raised when nothing here makes neighbouring inputs for a mechanism under an adjacency."""


def audit_mechanism(
    name: str, parameters: Mapping[str, Any], adjacency: Adjacency, **options: Any
) -> Evidence:
    """Audit one of our mechanisms against its own tight guarantee (or ``curve``, if given).

    Raises:
        ValueError: for an unknown name, or an adjacency the audit has no pairs for.
    """
    accountant = accountant_for(name)
    chosen = accountant.parameters.read(parameters)
    accountant.guarantee(chosen, adjacency)
    return _audit_of(name, adjacency)(chosen, **{"delta": DELTA, "claim": name, **options})


def _rlsvi(parameters: Any, **options: Any) -> Evidence:
    from audits.rlsvi import audit_rlsvi

    return audit_rlsvi(parameters, **options)


_AUDITS: Mapping[tuple[str, Adjacency], Callable[..., Evidence]] = {("rlsvi", Adjacency.REWARDS_ONLY): _rlsvi}


def _audit_of(name: str, adjacency: Adjacency) -> Callable[..., Evidence]:
    if (name, adjacency) not in _AUDITS:
        raise NoAuditError(f"adjacency ({adjacency.value!r}): no audit of {name} makes such neighbours")
    return _AUDITS[name, adjacency]


def audit_claim(claim: Claim, **options: Any) -> Evidence:
    """Audit a claim of a claim file: the promise in it is what is tested."""
    from audits.curves import LIMIT

    _check_trust(claim)
    if LIMIT < claim.guarantee.epsilon(0).upper < float("inf"):
        raise NoAuditError(f"epsilon ({claim.epsilon!r}) must be at most {LIMIT:g} for samples to refute it")
    if ":" in claim.mechanism:
        return audit_callable(claim, **{**options, "executor": None})  # a user's callable may not pickle
    promised = {"curve": claim.guarantee, "delta": claim.delta, "claim": claim.name, "replay": _again(claim)}
    return audit_mechanism(claim.mechanism, claim.parameters, claim.adjacency, **promised, **options)


def _again(claim: Claim) -> dict[str, Any]:
    """What the witness of a claim's audit needs to say for a replay."""
    return {"audit": "claim", "claim": entry_of(claim)}


def replay(witness: Mapping[str, Any]) -> Evidence:
    """Run the audit that a witness describes again; it must come out the same.

    Raises:
        ValueError: if the witness does not say how, or comes out differently.
    """
    from audits.replaying import replay as again

    how = witness["replay"]
    if how.get("audit") != "claim":
        return again(witness)
    claim = claim_from(how.get("claim"), "witness")
    check_auditable(claim)
    options = {name: how[name] for name in ("budget", "sharpen")}
    settings = {"seed": witness["seed"], "alpha": witness["alpha"], **options}
    return again(witness, lambda _witness: audit_claim(claim, **settings))


def audit_callable(claim: Claim, **options: Any) -> Evidence:
    """Audit a user's ``package.module:callable`` on the pairs its ``neighbours`` callable gives.

    The mechanism is called as ``callable(data, n, rng)`` and returns ``n`` outputs, one a row; the
    neighbours callable takes nothing and returns the two inputs.
    """
    from audits.pairs import Pair
    from audits.runner import audit

    check_ready(claim)
    assert claim.neighbours is not None  # checked above
    first, second = _inputs(claim.neighbours)
    described = f"{claim.neighbours}; that they are {claim.adjacency.value} neighbours is taken on trust"
    pair = Pair(first, second, claim.adjacency.value, described, lambda _first, _second: None)
    promised: dict[str, Any] = {"delta": claim.delta, "replay": _again(claim)}
    return audit(claim.name, claim.guarantee, named(claim.mechanism), pair, **promised, **options)


def _inputs(neighbours: str) -> tuple[Any, Any]:
    """The two inputs that a user's callable gives.

    Raises:
        ValueError: if it fails, or gives anything else.
    """
    make = named(neighbours)
    try:
        first, second = make()
    except (Exception, SystemExit) as error:
        raise ValueError(f"neighbours ({neighbours!r}) must return two inputs: {error}") from error
    if _equal(first, second):
        raise ValueError(f"neighbours ({neighbours!r}) must return two inputs that differ")
    return first, second


def _equal(first: Any, second: Any) -> bool:
    """Whether the two inputs are plainly the same."""
    import numpy as np

    try:
        return bool(np.array_equal(first, second))
    except (TypeError, ValueError):
        return first is second


def check_ready(claim: Claim) -> None:
    """Refuse, before any work, a claim whose mechanism, parameters, adjacency or callables do not exist.

    Raises:
        ValueError: naming the value and the rule.
    """
    if ":" not in claim.mechanism:
        accountant = accountant_for(claim.mechanism)
        accountant.guarantee(accountant.parameters.read(claim.parameters), claim.adjacency)
        if claim.neighbours is not None:
            raise ValueError(f"neighbours ({claim.neighbours!r}) must be left out for {claim.mechanism}")
        return
    if claim.parameters:
        raise ValueError(f"parameters ({', '.join(claim.parameters)}) must be left out for a callable")
    if claim.neighbours is None:
        raise ValueError("neighbours must name a callable that gives the two inputs")
    named(claim.mechanism)
    named(claim.neighbours)


def _check_trust(claim: Claim) -> None:
    """What is released is more than a joint promise speaks of: its audit could refute a true promise."""
    if claim.trust is not TrustModel.CENTRAL:
        why = "audits see everything released, not only what the other users receive"
        raise NoAuditError(f"trust ({claim.trust.value!r}) must be 'central' for an audit: {why}")


def check_auditable(claim: Claim) -> None:
    """``check_ready``, and refuse a claim that nothing here audits.

    Raises:
        ValueError: naming the value and the rule.
    """
    check_ready(claim)
    _check_trust(claim)
    if ":" not in claim.mechanism:
        _audit_of(claim.mechanism, claim.adjacency)


def named(target: str) -> Callable[..., Any]:
    """The callable that ``package.module:callable`` names.

    Raises:
        ValueError: if it does not exist or cannot be called.
    """
    module, _, attribute = target.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (Exception, SystemExit) as error:  # whatever a user's module does when it is imported
        raise ValueError(f"callable ({target!r}) cannot be loaded: {error}") from error
    if not callable(found):
        raise ValueError(f"callable ({target!r}) must be callable")
    result: Callable[..., Any] = found
    return result


def corpus_cases() -> tuple[Case, ...]:
    """All cases of the corpus: sound mechanisms and faulty siblings, each with the verdict it must get."""
    from audits.corpus.rlsvi import CASES

    return CASES


def _file_name(claim: str) -> str:
    """A file name for a claim: its own name where that is one, otherwise with a digest to tell it apart."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", claim)[:80]
    return plain if plain == claim else f"{plain}-{hashlib.sha256(claim.encode()).hexdigest()[:8]}"


def write_witness(evidence: Evidence, folder: Path) -> Path:
    """Write the witness of a finding as JSON, whole or not at all, and say where."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{_file_name(evidence.claim)}.json"
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(evidence.witness(), indent=2, allow_nan=False), encoding="utf-8")
    partial.replace(path)
    return path
