"""Audits of what has a name: a callable of an importable module, or a command; their witnesses replay.

A replay imports, and runs, what the witness names: replay only witnesses whose code you would run anyway.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import Claim
from dpproof.audits.data.pairs import Neighbours, check_pair
from dpproof.audits.engine.runner import BUDGET, audit
from dpproof.audits.engine.sampling.callables import Mechanism, as_mechanism, mechanism
from dpproof.audits.engine.sampling.commands import TIMEOUT, command
from dpproof.audits.engine.unaudited import LoadError
from dpproof.audits.engine.worst_pair import audit_worst
from dpproof.audits.recording.evidence import Evidence

__all__ = ["audit_case_again", "audit_named", "audit_named_again", "load", "pairs_of"]

OPTIONS = ("failures", "nan", "seeded", "timeout")
"""What a mechanism may be told, besides its name."""
AUDITED = ("scores", "arithmetic")
"""What its audit may be told."""


def load(target: str) -> Any:
    """What ``package.module:name`` names.

    Raises:
        LoadError: it cannot be imported, or is not there.
        ValueError: it is not written so.

    >>> load("math:tau")
    6.28...
    """
    module, colon, name = target.partition(":")
    if not (module and colon and name):
        raise ValueError(f"name ({target!r}) must be written package.module:name")
    try:
        return getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:  # whatever a user's module does when it is imported
        raise LoadError(f"name ({target!r}) cannot be loaded: {error}") from error


def audit_named(
    claim: str,
    promise: Mapping[str, float],
    adjacency: Adjacency,
    target: str | Sequence[str],
    neighbours: str,
    *,
    seed: int,
    alpha: float = 0.01,
    budget: int = BUDGET,
    sharpen: bool = False,
    executor: Executor | None = None,
    **options: Any,
) -> Evidence:
    """Audit a promise about a callable or a command; the witness says all that a replay needs.

    Args:
        claim: a name.
        promise: ``{"epsilon"}``, ``{"epsilon", "delta"}``, ``{"rho"}`` or ``{"mu"}`` with their values.
        adjacency: the relation that the promise speaks of.
        target: ``package.module:callable``, vectorised or scalar, or a command as a list of texts.
        neighbours: ``package.module:name`` of a callable that takes nothing and gives two inputs, a `Neighbours`,
            or several pairs, of which the worst is searched for; see `pairs_of`.
        seed, alpha, budget, sharpen, executor: as for `audit`.
        options: ``failures``, ``nan``, ``seeded``, and for a command ``timeout``; ``scores``, names of
            `audits.engine.scores.names`; ``arithmetic``, of the claim: see `dpproof.accountant.claims.claim.Claim`.

    Raises:
        MechanismError, InvalidNeighboursError, ValueError: as for `audit` and `pairs_of`; an unknown option.
    """
    written = target if isinstance(target, str) else " ".join(target)
    stated = Claim(claim, written, {}, adjacency, promise, neighbours)
    told = {name: value for name, value in options.items() if name not in AUDITED}
    made, pairs = _made(target, told), pairs_of(neighbours, adjacency)
    how = {
        "audit": "named",
        "target": target if isinstance(target, str) else list(target),
        "promise": dict(promise),
        "adjacency": adjacency.value,
        "neighbours": neighbours,
        "options": options,
    }
    chosen: Callable[..., Evidence] = audit if len(pairs) == 1 else audit_worst
    found = chosen(
        claim,
        stated.guarantee,
        made,
        pairs[0] if len(pairs) == 1 else pairs,
        options.get("scores"),
        seed=seed,
        delta=stated.delta,
        alpha=alpha,
        budget=budget,
        sharpen=sharpen,
        executor=executor,
        replay=how,
    )
    return replace(found, arithmetic=options.get("arithmetic", found.arithmetic))


def _made(target: str | Sequence[str], options: Mapping[str, Any]) -> Mechanism:
    unknown = sorted(options.keys() - set(OPTIONS))
    if unknown:
        raise ValueError(f"option ({unknown[0]!r}) must be one of: {', '.join((*OPTIONS, *AUDITED))}")
    if not isinstance(target, str):
        return command(target, **{"timeout": TIMEOUT, **options})
    if "timeout" in options:
        raise ValueError("timeout must be left out for a callable")
    found = load(target)
    return mechanism(getattr(found, "sample", found), **options) if options else as_mechanism(found)


def pairs_of(neighbours: str, adjacency: Adjacency) -> tuple[Neighbours, ...]:
    """The pairs that a callable gives: two inputs, a `Neighbours`, or a list of pairs.

    That they are neighbours is checked as far as it can be; the evidence says what is taken on trust.

    Raises:
        InvalidNeighboursError: they are not neighbours, or neighbours under another relation, or plainly the same.
        ValueError: the callable fails, or gives something else.
    """
    try:
        found = load(neighbours)()
        inputs = (found,) if isinstance(found, Neighbours) else tuple(found)
    except (Exception, SystemExit) as error:
        raise ValueError(f"neighbours ({neighbours!r}) must return two inputs, or pairs: {error}") from error
    given = [isinstance(one, Neighbours) for one in inputs]
    if len(inputs) == 2 and not any(given):
        inputs = (Neighbours(*inputs, adjacency, neighbours),)
    elif not inputs or not all(given):
        raise ValueError(
            f"neighbours ({neighbours!r}) must return two inputs, or pairs; it gave {len(inputs)}"
        )
    for pair in inputs:
        check_pair(pair, adjacency)
    return inputs


def audit_named_again(witness: Mapping[str, Any]) -> Evidence:
    """Run the audit that a witness of `audit_named` describes; see `dpproof.replay`."""
    how = witness["replay"]
    return audit_named(
        witness["claim"],
        how["promise"],
        Adjacency.of(how["adjacency"]),
        how["target"],
        how["neighbours"],
        **_settings(witness),
        sharpen=how["sharpen"],
        **how["options"],
    )


def audit_case_again(witness: Mapping[str, Any]) -> Evidence:
    """Audit the case of the corpus that a witness names; see `dpproof.replay`."""
    from dpproof.audits.corpus.all_cases import case_named

    return case_named(witness["replay"]["case"]).audit(**_settings(witness))


def _settings(witness: Mapping[str, Any]) -> dict[str, Any]:
    return {"seed": witness["seed"], "alpha": witness["alpha"], "budget": witness["replay"]["budget"]}
