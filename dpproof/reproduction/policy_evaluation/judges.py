"""What the recorded runs on the chain say of each claim of Balle, Gomrokchi and Precup (2016).

A row of the tables is a mean over the same batches for all kinds of noise. Errors of ratios and slopes are of first
order, and take the means as independent. A claim about large batches is refuted only if a longer run would show the
same: where the trend over the last tenfold of trajectories leads away from what it says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from dpproof.reproduction.claims import Evidence, Judge
from dpproof.reproduction.first_lines import listed
from dpproof.reproduction.shapes import (
    LEARNT,
    LEAST,
    Mean,
    Setting,
    Shape,
    Shows,
    always,
    each,
    fact,
    less,
    never_refuted,
    ratio,
    somewhere,
)
from dpproof.reproduction.tables import Row, Table, different, where

NEAR: Final = 1.1
"""An error up to this factor times the error without privacy counts as equal to it."""
_FREE: Final = "no privacy"
_KEY: Final = ("features", "algorithm", "kind")
Curve = dict[int, Mean]
"""A mean for each number of trajectories, in increasing order."""


def _mean(row: Row, what: str) -> Mean:
    return Mean(row[what], row.get(f"{what}_error", 0.0), runs=row["runs"])


def _curve(table: Table, what: str, **values: str) -> Curve:
    rows = sorted(where(table, **values), key=lambda row: int(row["trajectories"]))
    return {row["trajectories"]: _mean(row, what) for row in rows}


def _curves(evidence: Evidence, what: str, **values: str) -> Iterator[tuple[dict[str, str], Curve]]:
    """Yield the curves of all kinds of noise, with features, algorithm and kind."""
    table = evidence.own["batches"]
    for found in different(where(table, **values), *_KEY):
        key = dict(zip(_KEY, found, strict=True))
        if key["kind"] != _FREE:
            yield key, _curve(table, what, **key)


def _named(key: Mapping[str, str]) -> str:
    return f"(DP-{key['algorithm']}, {key['features']}, {key['kind']})"


def _falls(what: str, **values: str) -> Shape:
    """Return the shape: a number falls from the smallest batch to the largest, and never rises between."""

    def shape(evidence: Evidence) -> Iterator[Setting]:
        for key, curve in _curves(evidence, what, **values):
            for low, high in pairwise(curve):
                pair = less(curve[high], curve[low], f"({what}, m = {high:g} against {low:g}) {_named(key)}")
                yield pair if pair.shows is Shows.OPPOSITE else replace(pair, shows=Shows.TRIED)
            first, last = min(curve), max(curve)
            yield less(curve[last], curve[first], f"({what}, m = {last:g} against {first:g}) {_named(key)}")

    return shape


def _near(**values: str) -> Shape:
    """Return the shape: at the largest batch the RMSE is within `NEAR` times that without privacy.

    A row shows the opposite if it is not, and if the difference grew over the last tenfold of trajectories.
    """

    def shape(evidence: Evidence) -> Iterator[Setting]:
        for key, curve in _curves(evidence, "rmse", **values):
            free = _curve(evidence.own["batches"], "rmse", **{**key, "kind": _FREE})
            last = max(curve)
            before = _tenth_of(curve, last)
            if before is None:
                yield _unmeasured(key)
                continue
            now, then = (ratio(curve[m], free[m]) for m in (last, before))
            most, early, late = Mean(NEAR), *(_apart(curve[m], free[m]) for m in (before, last))
            shows, grew = less(now, most, "").shows, early.clearly_below(late)
            apart = min(now.apart(most), early.apart(late) if shows is Shows.OPPOSITE else math.inf)
            told = f"{now.value:.4g} times no privacy at m = {last:g}, {then.value:.4g} at {before:g} {_named(key)}"
            yield Setting(Shows.NEITHER if shows is Shows.OPPOSITE and not grew else shows, told, apart)

    return shape


def _tenth_of(curve: Curve, size: int) -> int | None:
    """Return the largest batch size of a curve that is at most a tenth of another one."""
    return max((m for m in curve if 10 * m <= size), default=None)


def _unmeasured(key: Mapping[str, str]) -> Setting:
    return Setting(
        Shows.MISSING, f"batches that are ten times as large, with at least {LEAST} runs {_named(key)}"
    )


def _apart(one: Mean, other: Mean) -> Mean:
    """Return the difference of two independent means."""
    return replace(one, value=one.value - other.value, error=math.hypot(one.error, other.error))


def _slope(curve: Curve, low: int, high: int) -> Mean:
    """Return the slope of the logarithm of a mean in the logarithm of the number of trajectories."""
    quotient, span = ratio(curve[high], curve[low]), math.log(high / low)
    return Mean(math.log(quotient.value) / span, quotient.error / quotient.value / span, runs=quotient.runs)


def _steep(most: float, what: str, **values: str) -> Shape:
    """Return the shape: over the last tenfold of trajectories, a slope is at most a number, up to a tenth of it.

    A row shows the opposite if the slope is above the number, and not steeper than over the tenfold before.
    """

    def shape(evidence: Evidence) -> Iterator[Setting]:
        for key, curve in _curves(evidence, what, **values):
            last = max(curve)
            middle = _tenth_of(curve, last)
            first = _tenth_of(curve, middle) if middle else None
            if middle is None or first is None or curve[last].runs < LEAST:
                yield _unmeasured(key)
                continue
            now, then = _slope(curve, middle, last), _slope(curve, first, middle)
            near = Mean(most + 0.1 * abs(most))
            within, above = now.clearly_below(near), Mean(most).clearly_below(now)
            opposite = above and not now.clearly_below(then)
            shows = Shows.CLAIM if within else Shows.OPPOSITE if opposite else Shows.NEITHER
            apart = now.apart(near if within else Mean(most))
            yield Setting(shows, f"slope {now} up to m = {last:g}, {then} before {_named(key)}", apart)

    return shape


def _below(what: str, column: str, one: str, other: str, **values: str) -> Shape:
    """Return the shape: at every batch size, a number is less with one value of a column than with another value."""

    def shape(evidence: Evidence) -> Iterator[Setting]:
        table = [{**row, **_parts(row["kind"])} for row in evidence.own["batches"]]
        for row in where(table, **{column: one}, **values):
            if row[what] == 0:  # without noise there is no excess risk
                continue
            key = {name: row[name] for name in _WHOLE_KEY} | {column: other}
            (second,) = where(table, **key)
            told = f"{row[what] / second[what]:.4g} times that with {other}"
            at = f"{what}, {row['algorithm']}, {row['features']}, {row['kind']}, m = {row['trajectories']:g}"
            yield replace(less(_mean(row, what), _mean(second, what), ""), figures=f"{told} ({at})")

    return shape


_WHOLE_KEY: Final = ("features", "algorithm", "calibration", "delta", "bound", "trajectories")


def _parts(kind: str) -> dict[str, str]:
    """Return calibration, delta and bound on returns of a kind of noise.

    >>> _parts("printed, delta 0.1, Fmax 100")
    {'calibration': 'printed', 'delta': 'delta 0.1', 'bound': 'Fmax 100'}
    """
    calibration, delta, bound = kind.split(", ") if kind != _FREE else (_FREE, "", "")
    return {"calibration": calibration, "delta": delta, "bound": bound}


def _same_limit(evidence: Evidence) -> Iterator[Setting]:
    """Yield whether LSL's distance from LSW without privacy falls to less than a tenth of that at the smallest m."""
    table = evidence.own["batches"]
    for features in different(table, "features"):
        weighted, ridge = (
            _curve(table, "rmse", features=features, algorithm=name, kind=_FREE) for name in ("LSW", "LSL")
        )
        first, last = (_apart(ridge[m], weighted[m]) for m in (min(ridge), max(ridge)))
        yield less(last, first.times(0.1), f"(difference, against a tenth of the first one) ({features})")


def _zero(evidence: Evidence) -> float:
    """Return the RMSE of values of 0 everywhere, which is that of an estimate that learns nothing."""
    found: float = where(evidence.own["small"], method="values of 0")[0]["rmse"]
    return found


def _learnt(mean: Mean, zero: float) -> Mean:
    """Return a mean RMSE with the mark whether the estimate learns: not above `LEARNT` of that of values of 0."""
    return replace(mean, learns=mean.value <= LEARNT * zero)


def _crossing(first: str, second: str, chosen: Callable[[Sequence[int]], Iterable[int]]) -> Shape:
    """Return the shape: the first algorithm has a smaller RMSE than the second at the chosen batch sizes."""

    def shape(evidence: Evidence) -> Iterator[Setting]:
        zero = _zero(evidence)
        for key, own in _curves(evidence, "rmse", algorithm=first):
            other = _curve(evidence.own["batches"], "rmse", **{**key, "algorithm": second})
            for m in chosen(list(own)):
                where_m = f"(DP-{first}, DP-{second}) at m = {m:g} ({key['features']}, {key['kind']})"
                yield less(_learnt(own[m], zero), _learnt(other[m], zero), where_m)

    return shape


def _useful(algorithm: str) -> Shape:
    """Return the shape: somewhere an algorithm's RMSE is below that of values of 0 everywhere."""

    def shape(evidence: Evidence) -> Iterator[Setting]:
        zero = Mean(_zero(evidence))
        curves = _curves(evidence, "rmse", algorithm=algorithm)
        rows = [(mean, f"at m = {m:g} {_named(key)}") for key, curve in curves for m, mean in curve.items()]
        best, where_best = min(rows, key=lambda row: row[0].value)
        yield less(best, zero, f"with values of 0, {where_best}")

    return shape


def _swept(evidence: Evidence) -> Iterator[tuple[str, int, dict[float, Mean]]]:
    """Yield the kind of noise, the batch size, and the RMSE of DP-LSL for each ridge parameter."""
    table = evidence.own["ridge"]
    zero = _zero(evidence)
    for kind, size in different(table, "kind", "trajectories"):
        rows = where(table, kind=kind, trajectories=size)
        yield kind, size, {row["ridge"]: _learnt(_mean(row, "rmse"), zero) for row in rows}


def _inner_best(evidence: Evidence) -> Iterator[Setting]:
    """Yield whether the best ridge parameter lies inside the range, and without privacy at its lower end."""
    for kind, size, curve in _swept(evidence):
        low, high = min(curve), max(curve)
        if kind == _FREE:
            yield less(curve[low], curve[high], f"(lambda {low:.3g}, {high:.3g}) at m = {size:g} ({kind})")
            continue
        best = min(curve, key=lambda ridge: curve[ridge].value)
        for end in (low, high):
            yield less(curve[best], curve[end], f"(lambda {best:.3g}, {end:.3g}) at m = {size:g} ({kind})")


def _root(evidence: Evidence) -> Iterator[Setting]:
    """Yield whether lambda = c sqrt(m) is as good as the best lambda at both sizes for some c, and no other power is.

    The other powers are the powers 0 and 1 of m, also with any c.
    """
    swept = {(kind, size): curve for kind, size, curve in _swept(evidence) if kind != _FREE}
    sizes = sorted({size for _, size in swept})
    for kind in dict.fromkeys(kind for kind, _ in swept):
        curves = [swept[kind, size] for size in sizes]
        losses = {power: _loss(curves, (sizes[1] / sizes[0]) ** power) for power in (0.5, 0.0, 1.0)}
        shows = Shows.OPPOSITE if losses[0.5] > 1 else Shows.CLAIM
        if shows is Shows.CLAIM and 1 in (losses[0.0], losses[1.0]):
            shows = Shows.NEITHER
        if not any(_least(curve).learns for curve in curves):
            shows = Shows.IDLE
        if _least(curves[0]).runs < LEAST:
            shows = Shows.MISSING
        told = listed([f"{loss:.3g} for power {power:g}" for power, loss in losses.items()])
        yield Setting(shows, f"times the least RMSE with the best c: {told} ({kind})")


def _least(curve: Mapping[float, Mean]) -> Mean:
    return min(curve.values(), key=lambda mean: mean.value)


def _loss(curves: Sequence[Mapping[float, Mean]], factor: float) -> float:
    """Return by which factor the best schedule is worse than the best at each size; 1 if it is within the errors.

    A schedule has some ridge parameter at the first size, and `factor` times it at the second. There the better one of
    the two nearest recorded parameters counts for it.
    """
    first, second = curves
    losses = []
    for ridge, mean in first.items():
        near = sorted(second, key=lambda other: abs(math.log(other / (ridge * factor))))[:2]
        pairs = ((mean, _least(first)), (_least({other: second[other] for other in near}), _least(second)))
        losses.append(max(own.value / best.value if best.clearly_below(own) else 1.0 for own, best in pairs))
    return min(losses)


def _smoothing(evidence: Evidence) -> Iterator[Setting]:
    """Yield whether the smoothing parameter beta is larger for aggregated than for tabular features."""
    table = [row for row in evidence.own["alternatives"] if row["noise"].startswith("Gaussian")]
    for row in where(table, features="aggregated"):
        (plain,) = where(table, features="tabular", delta=row["delta"], noise=row["noise"])
        told = f"beta {row['beta']:.3g} aggregated, {plain['beta']:.3g} tabular ({row['noise']}, delta {row['delta']})"
        yield fact(holds=row["beta"] > plain["beta"], figures=told)


def _cheaper(evidence: Evidence) -> Iterator[Setting]:
    """Yield whether privacy multiplies the RMSE by less on aggregated than on tabular features, at the largest m."""
    table = evidence.own["batches"]
    for key, curve in _curves(evidence, "rmse", features="aggregated"):
        last = max(curve)
        costs = [_cost(table, {**key, "features": features}, last) for features in ("aggregated", "tabular")]
        yield less(
            costs[0], costs[1], f"times no privacy (aggregated, tabular) at m = {last:g} {_named(key)}"
        )


def _cost(table: Table, key: Mapping[str, str], size: int) -> Mean:
    own, free = (_curve(table, "rmse", **{**key, "kind": kind})[size] for kind in (key["kind"], _FREE))
    return ratio(own, free)


_ROOT: Final[Judge] = always(_root)
JUDGES: Final[Mapping[str, Judge]] = {
    "abstract.promising": always(_useful("LSW"), _useful("LSL")),
    "introduction.no_loss_when_large": always(_near()),
    "section5.utility_increases": always(_falls("noise"), _falls("rmse"), _falls("risk")),
    "corollary12.risk_one_over_m_squared": always(never_refuted(_steep(-2, "risk", algorithm="LSW"))),
    "corollary13.lsl_risk": always(never_refuted(_steep(-0.5, "risk", algorithm="LSL"))),
    "section5.lambda_tradeoff": always(_inner_best),
    "figure1.plot1_same_solution": always(_below("rmse", "algorithm", "LSW", "LSL", kind=_FREE), _same_limit),
    "figure1.plot3_converges": always(_near(features="aggregated")),
    "figure1.lsl_small_lsw_large": each(
        somewhere(_crossing("LSL", "LSW", lambda sizes: sizes[:-1])),
        always(_crossing("LSW", "LSL", lambda sizes: sizes[-1:])),
    ),
    "section6.sqrt_m_schedule": _ROOT,
    "section6.sqrt_m_best_accuracy": _ROOT,
    "figure1.plot4_aggregation_helps": always(_below("risk", "features", "aggregated", "tabular")),
    "figure1.dimension_raises_beta": always(_smoothing),
    "section6.favoured_with_aggregation": always(_cheaper),
    "section6.privacy_parameters_explained": always(_below("rmse", "delta", "delta 0.1", "delta 1e-6")),
    "section6.noise_falls_rapidly": always(_falls("noise"), _near()),
    "conclusion.cost_diminishes": always(_falls("risk")),
    "section3.smaller_bound_useful": always(_below("rmse", "bound", "Fmax 1", "Fmax 100")),
    "section4.noise_adapts_to_visits": always(_falls("noise", algorithm="LSW")),
}
"""The judge of each claim that is not out of reach."""
