"""`dpproof.audit`: test whether a function violates its privacy claim on neighbours of given data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, Final, cast

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import ARITHMETIC
from dpproof.accountant.guarantees.notions import ApproxDP, PureDP
from dpproof.accountant.numbers.enclosures import Number, exact
from dpproof.accountant.numbers.inversion import at_least
from dpproof.audits.data.changes import Bounds
from dpproof.audits.data.extremes import Extremes
from dpproof.audits.data.pairs import Neighbours, check_pair
from dpproof.audits.data.schema import Allowed
from dpproof.audits.engine.conclusion import check_request, unfinished
from dpproof.audits.engine.sampling.alone import timed
from dpproof.audits.engine.sampling.callables import Auditable, as_mechanism_with
from dpproof.audits.engine.sampling.progress import counting, on_screen
from dpproof.audits.engine.scores.protocol import Score
from dpproof.audits.engine.varied import Claimed, Pairs, Varied, claimed_for
from dpproof.audits.plan import FURTHER, AuditPlan
from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.target import Audited
from dpproof.audits.targets.call import Call, Inputs
from dpproof.audits.targets.named import TIMED
from dpproof.audits.time_budget import OutOfTimeError


class _Missing:
    def __repr__(self) -> str:
        return "(missing)"


MISSING: Final[Any] = _Missing()
"""The default of ``data``. None cannot be the default, because it is a valid data set."""
Pair = tuple[Any, Any] | Inputs


def audit(
    what: Auditable | Audited,
    /,
    data: object = MISSING,
    *,
    adjacency: Adjacency | str | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    guarantee: Claimed | None = None,
    pair: Pair | None = None,
    bounds: Bounds | None = None,
    vary: Mapping[str, Allowed] | None = None,
    seed: int = 0,
    alpha: Number = 0.01,
    budget: int | None = None,
    sharpen: bool | None = None,
    scores: Sequence[Score | str] | None = None,
    claim: str | None = None,
    seeded: bool | None = None,
    failures: str | None = None,
    nan: str | None = None,
    arithmetic: str = ARITHMETIC[0],
    power: bool = True,
    known_ratio: bool = False,
    seconds: float | None = None,
    executor: Executor | None = None,
    timing: bool = False,
) -> Evidence:
    """Audit a function: run it on neighbouring inputs and look for a violation of its privacy claim.

    With ``data``, dpproof makes pairs of neighbouring inputs with extreme records, validates each pair, and searches
    for the pair on which the outputs differ most. With ``pair``, it uses your own two inputs. It then draws samples
    until the claim is refuted or the budget is spent. A false alarm has probability at most ``alpha``. An audit never
    proves a claim.

    Args:
        what: a function: ``f(data, n, rng)`` returns ``n`` independent outputs, one per row; ``f(data, rng)`` returns
            one. Or a target: an object that has its own claim and inputs, such as `dpproof.mechanism_target` returns.
        data: a list, an array, a data frame, a dictionary from a key to a record, `Episodes` or `Users`. Or, without
            data of your own, a `Schema` with the allowed values, or a function that draws data (`Drawn`).
        adjacency: the neighbouring relation: ``"replace"``, ``"add-remove"``, ``"expert"`` or ``"rewards-only"``.
        epsilon: the claimed epsilon at ``delta``; a number, or a decimal in text such as "0.1".
        delta: the claimed delta, 0 unless given. With ``guarantee``, the delta at which epsilon is reported.
        guarantee: the claimed guarantee as an object, such as ``GaussianDP(1.0)``, instead of ``epsilon``.
            With ``vary`` also a function that takes the parameters as keywords and returns the guarantee.
        pair: two neighbouring inputs, a `Neighbours`, `WorstOf` or `EachOf` several pairs, `Steps` of a training,
            or `Canaries`.
        bounds: ``(low, high)`` for all numbers in the data, or a dictionary from each column's name to
            ``(low, high)``. The audit then also tries records with values between the bounds that are not in the
            data. Unless given, it tries only records of the data.
        vary: for each parameter that the function takes as a keyword, a list of values, or a range `Between`, of
            which the two ends and the middle are tried. Every combination is audited, with an equal share of
            ``alpha`` and of ``budget``.
        seed: the source of all randomness.
        alpha: the largest probability that the audit raises a false alarm or reports a false bound.
        budget: the largest number of samples.
        sharpen: how many more samples to draw after a violation, for a larger lower bound on epsilon. ``True``: the
            rest of the budget. ``False``: none. Unless given: up to a tenth of the budget.
        scores: the functions that map an output to the number that is tested, by name or as objects; see `AuditPlan`.
        claim: the name of the claim; the function's name unless given.
        seeded: whether all randomness of the function comes from ``rng``; True unless given.
        failures: what an exception of the function does: ``"error"`` ends the audit, ``"token"`` counts it as an
            output.
        nan: what an output that contains NaN does: ``"error"`` or ``"token"``, as for ``failures``.
        arithmetic: with ``"real"`` a violation that shows only in floating-point bits does not count as a failure.
        power, known_ratio: as in `AuditPlan`.
        executor: draws samples in several processes or on a cluster; it does not change the result. If the function is
            slow and there is a time budget, it makes several calls at the same time.
        seconds: the time budget. The audit measures the speed of the function first, and draws as many samples as fit.
            If nothing is refuted in this time, the answer is *inconclusive*.
        timing: counts the running time of each call as a part of its output, for a claim against somebody who can
            measure this time. The function is called once for each output. Unless given, the time is not audited.

    Raises:
        InvalidNeighboursError: the two inputs of the pair are not neighbours.
        MechanismError: the function fails, returns NaN or the wrong shape, keeps a state between calls, or its
            outputs are not independent samples.
        ValueError: an argument is missing, or outside its range.

    >>> import numpy as np
    >>> def noisy_mean(values, n, rng):
    ...     return np.mean(values) + rng.laplace(0, 0.5 / len(values), n)
    >>> audit(noisy_mean, [0.0, 0.3, 1.0], adjacency="replace", epsilon=1).verdict.value
    'violation'
    """
    if arithmetic not in ARITHMETIC:
        raise ValueError(f"arithmetic ({arithmetic!r}) must be one of: {', '.join(ARITHMETIC)}")
    options = {"seeded": seeded, "failures": failures, "nan": nan}
    told = {name: value for name, value in options.items() if value is not None}
    epsilon, delta = _double("epsilon", epsilon), _double("delta", delta)
    alpha = float(exact(alpha, "alpha"))
    _check_seconds(seconds)
    _check_switches(power=power, known_ratio=known_ratio, timing=timing)
    plan = AuditPlan(seed=seed, delta=delta, alpha=alpha, budget=budget, sharpen=bool(sharpen), claim=claim)
    plan = replace(
        plan, scores=scores, power=power, known_ratio=known_ratio, seconds=seconds, executor=executor
    )
    check_request(alpha, plan.drawn, plan.stated, scores, seed)
    claimed = {"epsilon": epsilon, "guarantee": guarantee, "adjacency": adjacency}
    if hasattr(what, "audit"):
        given = {"data": None if data is MISSING else data, "pair": pair, "bounds": bounds, "vary": vary}
        _refuse(
            {**claimed, **given, **told, "timing": timing or None}, "for a target, which already defines it"
        )
        with plan.timed(), on_screen():
            return cast(Audited, what).audit(plan)
    curve = _claimed(epsilon, delta, guarantee, varied=vary is not None)
    inputs = _inputs(data, pair, adjacency, bounds)
    plan = replace(
        plan, claim=_name(what) if claim is None else claim, further=FURTHER if sharpen is None else 0.0
    )
    called = _called(curve, what, inputs, vary, told, timing)
    return replace(_found(called, plan), arithmetic=arithmetic)


def _called(
    curve: Claimed,
    what: Auditable,
    inputs: Inputs,
    vary: Mapping[str, Allowed] | None,
    told: Mapping[str, Any],
    timing: bool,
) -> Call:
    """Return the call with the function as a mechanism, or with its parameters that vary."""
    if timing and not isinstance(inputs, Pairs):
        raise ValueError(
            f"timing must be left out for {type(inputs).__name__}. It needs data, or pairs of neighbours."
        )
    if vary is None:
        made = as_mechanism_with(what, told)
        return Call(curve, timed(made) if timing else made, inputs)
    if timing:
        raise ValueError(TIMED)
    return Call(curve, what, Varied(cast(Pairs, inputs), vary, told))


def _found(called: Call, plan: AuditPlan) -> Evidence:
    """Run an audit. If the time budget of the plan ends, the answer is inconclusive."""
    with counting() as drawn:
        try:
            with plan.timed(), on_screen():
                return called.audit(plan)
        except OutOfTimeError as ended:
            if plan.seconds is None:  # the time that ended is the caller's
                raise
            values = next(called.inputs.settings()) if isinstance(called.inputs, Varied) else {}
            return unfinished(claimed_for(called.curve, values), plan, sum(drawn), ended)


def _check_seconds(seconds: float | None) -> None:
    usual = isinstance(seconds, Real) and not isinstance(seconds, bool) and seconds > 0
    if seconds is not None and not usual:
        raise ValueError(f"seconds ({seconds!r:.60}) must be a number above 0, or None for no time budget")


def _check_switches(**given: object) -> None:
    for name, value in given.items():
        if not isinstance(value, bool):
            raise ValueError(f"{name} ({value!r:.60}) must be True or False")


def _refuse(given: Mapping[str, object], where: str) -> None:
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} ({value!r:.60}) must be left out {where}.")


def _double(name: str, value: Number | None) -> float | None:
    """Return a number of the claim as a double that is not below it, so that the audited claim is implied."""
    return value if value is None or isinstance(value, int) else at_least(exact(value, name))


def _claimed(
    epsilon: float | None, delta: float | None, guarantee: Claimed | None, *, varied: bool
) -> Claimed:
    """Return the claimed guarantee."""
    if guarantee is not None:
        if not varied and not hasattr(guarantee, "delta"):
            raise ValueError(
                f"guarantee ({guarantee!r:.60}) must be a guarantee. A function of parameters needs vary."
            )
        _refuse({"epsilon": epsilon}, "if guarantee is given, because the guarantee contains it")
        return guarantee
    if epsilon is None:
        raise ValueError("epsilon is missing. Give the claimed epsilon and delta, or a guarantee.")
    return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)


def _inputs(
    data: object, pair: Pair | None, adjacency: Adjacency | str | None, bounds: Bounds | None
) -> Inputs:
    """Return the neighbouring inputs: extreme neighbours of the data, or the given pair."""
    if (data is MISSING) == (pair is None):
        raise ValueError(
            "Give either data or pair=(x, y), and not both. dpproof makes neighbouring inputs from data."
        )
    if pair is not None:
        _refuse({"bounds": bounds}, "if pair is given, because bounds applies only to data")
        if not isinstance(pair, tuple):
            _check_relation(pair, adjacency)
            return pair
    if adjacency is None:
        known = ", ".join(one.value for one in Adjacency if one is not Adjacency.BY_SENSITIVITY)
        raise ValueError(f"adjacency is missing and has no default. Choose one of: {known}")
    relation = Adjacency.of(adjacency)
    if pair is None:
        return Extremes(data, relation, bounds)
    if len(pair) != 2:
        raise ValueError(f"pair (a tuple of length {len(pair)}) must contain two inputs, (x, y)")
    made = Neighbours(*pair, relation, "the two inputs given")
    check_pair(made, relation)
    return made


def _check_relation(pair: Inputs, adjacency: Adjacency | str | None) -> None:
    """Raise an error if the stated relation is not the relation of the pair."""
    if adjacency is not None and isinstance(pair, Neighbours):
        check_pair(pair, Adjacency.of(adjacency))


def _name(function: object) -> str:
    """Return the name of a function; for a `functools.partial`, the name of the inner function."""
    inner = function.func if isinstance(function, partial) else function
    return str(getattr(inner, "__name__", type(inner).__name__))
