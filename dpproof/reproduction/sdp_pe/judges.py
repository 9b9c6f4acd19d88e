"""What the recorded runs say of each claim of Bai et al. (2026) on regret, switches and noise.

SDP-PE and its rivals are compared at equal certified epsilon, so SDP-PE has the least noise that is certified. The
scores are those of the benchmark. The printed noise, the literal constants, the switches and the bandit of Figure 7 are
in the tables of the paper's own experiment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from dpproof.reproduction.claims import Evidence, Judge
from dpproof.reproduction.score_shapes import below, learns
from dpproof.reproduction.sdp_pe.arms import HORIZON, Kind
from dpproof.reproduction.shapes import (
    LEARNT,
    Mean,
    Setting,
    Shape,
    Shows,
    always,
    each,
    fact,
    less,
    never_refuted,
    opposite,
    somewhere,
)
from dpproof.reproduction.suite.summary import LEARNS
from dpproof.reproduction.tables import Row, where

_OWN, _JDP, _LDP, _FREE, _UCB = "SDP-PE", "UCB-VI, JDP", "UCB-VI, LDP", "PE, no noise", "DP-UCBVI, no noise"
KINDS: Final = {_OWN: Kind.CALIBRATED, _JDP: Kind.JDP, _LDP: Kind.LDP, _FREE: Kind.PE, _UCB: Kind.UCB}
"""The arms of the paper's own experiment, by the names of those of the benchmark."""
Epsilons = tuple[float, ...]
_SWIM: Final = ("river-swim-4",)
_PAPER: Final[Epsilons] = (0.1, 1.0)
"""The epsilons of the paper's Figure 6."""
_RANGE: Final[Epsilons] = (0.1, 1.0, 10.0)
_FAR: Final = 2.0
"""A regret of at least this number of times another one is not close to it."""
_PRINTED_SWITCHES: Final = 88
"""The number of switches that the paper prints."""
_PRINTED_UPDATES: Final = 20_000
"""The number of switches of UCB-VI that the paper prints."""


def _spared(strict: Setting, lax: Setting) -> Setting:
    """Return what the first setting shows, but the opposite only if the second shows it, too."""
    spared = strict.shows is Shows.OPPOSITE and lax.shows is not Shows.OPPOSITE
    if spared:
        return replace(strict, shows=Shows.NEITHER)
    return replace(strict, apart=min(strict.apart, lax.apart)) if strict.shows is Shows.OPPOSITE else strict


def _lenient(strict: Shape, lax: Shape) -> Shape:
    """Return the first shape, whose settings show the opposite only where those of the second do."""
    return lambda evidence: map(_spared, strict(evidence), lax(evidence))


def _within(
    one: str, other: str, most: float, far: float, problems: Sequence[str] = (), epsilons: Epsilons = _RANGE
) -> Shape:
    """Return the shape: an arm of the benchmark has less than `most` times the regret of another arm.

    More than `far` times is the opposite.
    """
    strict, lax = (
        below(one, other, factor=factor, problems=problems, epsilons=epsilons) for factor in (most, far)
    )
    return _lenient(strict, lax)


def _own_within(problem: str, one: str, other: str, most: float, far: float, epsilons: Epsilons) -> Shape:
    """Return the same shape for the paper's own experiment, on a problem of it."""

    def shape(evidence: Evidence) -> Iterator[Setting]:
        for epsilon in epsilons:
            first, second = (_mean(evidence, problem, KINDS[name], epsilon) for name in (one, other))
            than = "" if most == 1 else f"{most:g} times "
            told = f"({one}, {than}{other}) on {problem} at epsilon {epsilon:g}, in the experiment below"
            strict, lax = (less(first, second and second.times(factor), told) for factor in (most, far))
            yield _spared(strict, lax)

    return shape


def _swim(
    one: str, other: str, most: float = 1.0, far: float = 1.0, epsilons: Epsilons = _PAPER
) -> list[Shape]:
    """Return the shapes for RiverSwim with four states, in the benchmark and in the paper's own experiment."""
    return [
        _within(one, other, most, far, _SWIM, epsilons),
        _own_within("RiverSwim", one, other, most, far, epsilons),
    ]


def _swim_learns(name: str, share: float) -> list[Shape]:
    """Return the shapes: on RiverSwim an arm's regret is below a share of that without learning.

    Regret as without learning is the opposite.
    """

    def own(evidence: Evidence) -> Iterator[Setting]:
        for epsilon in _PAPER:
            found = _mean(evidence, "RiverSwim", KINDS[name], epsilon)
            told = f"of never eliminating ({name}) at epsilon {epsilon:g}, in the experiment below"
            yield _spared(less(found, Mean(share), told), less(found, Mean(LEARNT), told))

    strict, lax = (learns(name, share=part, problems=_SWIM, epsilons=_PAPER) for part in (share, LEARNT))
    return [_lenient(strict, lax), own]


def _rows(evidence: Evidence, problem: str, *kinds: Kind) -> list[Row]:
    """Return the rows of the paper's own experiment on a problem, of some kinds of arms; of all if none is named."""
    rows = where(evidence.own["regret"], problem=problem)
    return [row for row in rows if not kinds or Kind(row["algorithm"]) in kinds]


def _named(row: Row) -> str:
    epsilon = "" if row["epsilon"] is None else f", epsilon {row['epsilon']:g}"
    return f"({row['algorithm']}{epsilon})"


def _regret(row: Row, never: float | None) -> Mean:
    """Return the mean regret of a row, relative to the regret without learning where that is known."""
    found = Mean(row["regret"], row["deviation"] / math.sqrt(row["seeds"]), runs=row["seeds"])
    return found if never is None else replace(found.times(1 / never), learns=row["regret"] <= LEARNT * never)


def _mean(evidence: Evidence, problem: str, kind: Kind, epsilon: float) -> Mean | None:
    """Return the mean regret of an arm of the paper's own experiment; None if it was not run."""
    rows = [row for row in _rows(evidence, problem, kind) if row["epsilon"] in (None, epsilon)]
    return _regret(rows[0], _never(evidence, problem)) if rows else None


def _never(evidence: Evidence, problem: str) -> float | None:
    """Return the regret of elimination with literal constants and without privacy, which eliminates nothing.

    It is None for the bandit, where that was not run.
    """
    return next((float(row["regret"]) for row in _rows(evidence, problem, Kind.PE_LITERAL)), None)


def _analysed(evidence: Evidence) -> Iterator[Setting]:
    """Yield whether SDP-PE learns with literal constants, or with the printed noise.

    Elimination with literal constants and without privacy eliminates nothing, so its regret is that without learning.
    """
    for row in _rows(evidence, "RiverSwim", Kind.LITERAL, Kind.PRINTED):
        found = _regret(row, _never(evidence, "RiverSwim"))
        yield less(found, Mean(LEARNT), f"of never eliminating {_named(row)}")


def _kept(evidence: Evidence) -> Iterator[Setting]:
    """Yield whether a best policy stays in all runs with literal constants. Where all policies stay, nothing learns."""
    for row in _rows(evidence, "RiverSwim", Kind.PE_LITERAL, Kind.LITERAL):
        stages = where(
            evidence.own["stages"], problem="RiverSwim", algorithm=row["algorithm"], epsilon=row["epsilon"]
        )
        first, last = stages[0]["active"], stages[-1]["active"]
        runs = f"a best policy stays in {row['optimal_stays']:.0%} of {row['seeds']} runs"
        told = f"{runs}, {last:.0f} of {first:.0f} policies stay {_named(row)}"
        found = fact(holds=row["optimal_stays"] == 1, figures=told)
        yield Setting(Shows.IDLE, found.figures) if last == first else found


def _remaining(evidence: Evidence) -> Iterator[Setting]:
    """Yield whether the worst active policy has at most a tenth of the regret at the end that it has at first."""
    stages = where(evidence.own["stages"], problem="RiverSwim")
    for row in _rows(evidence, "RiverSwim"):
        own = where(stages, algorithm=row["algorithm"], epsilon=row["epsilon"])
        if own:
            first, last = own[0]["worst_regret"], own[-1]["worst_regret"]
            told = f"the worst active policy loses {last:.3g} an episode at the end, {first:.3g} at first"
            yield fact(holds=last <= first / 10, figures=f"{told} {_named(row)}")


def _switches(holds: Callable[[Row], bool], *kinds: Kind) -> Shape:
    """Return the shape: the number of switches of elimination has a property, on RiverSwim."""

    def shape(evidence: Evidence) -> Iterator[Setting]:
        for row in _rows(evidence, "RiverSwim", *kinds):
            if row["stages"] is not None:
                told = f"{row['switches']:.1f} switches in {row['stages']} stages {_named(row)}"
                yield fact(holds=holds(row), figures=told)

    return shape


def _updates(evidence: Evidence) -> Iterator[Setting]:
    """Yield whether UCB-VI changes its policy about as often as printed. Only a lower bound is recorded."""
    for row in _rows(evidence, "RiverSwim", Kind.UCB, Kind.JDP, Kind.LDP):
        told = f"at least {row['switches']:.0f} changes of the policy {_named(row)}"
        yield Setting(Shows.CLAIM if row["switches"] >= 0.9 * _PRINTED_UPDATES else Shows.NEITHER, told)


def _fewer(evidence: Evidence) -> Iterator[Setting]:
    """Yield whether UCB-VI under joint privacy switches a hundred times as often as SDP-PE, by its lower bound."""
    for row in _rows(evidence, "RiverSwim", Kind.JDP):
        (own,) = where(_rows(evidence, "RiverSwim", Kind.CALIBRATED), epsilon=row["epsilon"])
        told = (
            f"{own['switches']:.0f} switches of SDP-PE, at least {row['switches']:.0f} changes {_named(row)}"
        )
        yield Setting(Shows.CLAIM if row["switches"] >= 100 * own["switches"] else Shows.NEITHER, told)


def _less_than_local(evidence: Evidence) -> Iterator[Setting]:
    """Yield whether a shuffled counter has less noise than local reports, and less than half in the largest batch."""
    rows = evidence.own["noise"]
    largest = max(row["users"] for row in rows)
    for row in rows:
        share = 0.5 if row["users"] == largest else 1.0
        told = f"{row['calibrated']:.4g} against {row['local']:.4g} (shuffled, local) {_batch(row)}"
        yield fact(holds=row["calibrated"] < share * row["local"], figures=told)


def _batch(row: Row) -> str:
    return f"for {row['users']} users at epsilon {row['epsilon']:g}"


def _noise_by_epsilon(evidence: Evidence) -> Iterator[tuple[str, list[Row]]]:
    for kind in ("printed", "calibrated"):
        for epsilon in dict.fromkeys(row["epsilon"] for row in evidence.own["noise"]):
            yield kind, where(evidence.own["noise"], epsilon=epsilon)


def _noise_per_user(evidence: Evidence) -> Iterator[Setting]:
    """Yield whether the noise of a counter for each user falls with the number of users."""
    for kind, rows in _noise_by_epsilon(evidence):
        shares = [row[kind] / row["users"] for row in rows]
        falls = all(high < low for low, high in pairwise(shares))
        told = f"{shares[0]:.3g} for each of {rows[0]['users']} users, {shares[-1]:.3g} for each of {rows[-1]['users']}"
        yield fact(holds=falls, figures=f"{told} ({kind} noise, epsilon {rows[0]['epsilon']:g})")


def _steady_noise(evidence: Evidence) -> Iterator[Setting]:
    """Yield whether the noise of a counter stays within a factor 2 over all numbers of users."""
    for kind, rows in _noise_by_epsilon(evidence):
        low, high = (which(row[kind] for row in rows) for which in (min, max))
        told = f"between {low:.4g} and {high:.4g} ({kind} noise, epsilon {rows[0]['epsilon']:g})"
        yield fact(holds=high <= 2 * low, figures=told)


_STAGED: Final = (Kind.PE, Kind.PRINTED, Kind.CALIBRATED)
_BELOW_LDP: Final[Judge] = always(*_swim(_OWN, _LDP, 0.8))
_MATCHES_JDP: Final[Judge] = always(_within(_OWN, _JDP, 1.5, _FAR, epsilons=_PAPER))
_TRADEOFF: Final = (always(below(_OWN, _LDP, epsilons=_PAPER)), _MATCHES_JDP)
_ORDERS: Final[Judge] = always(_fewer)
_COLLECTIVELY: Final[Judge] = somewhere(*_swim_learns(_OWN, LEARNS))
JUDGES: Final[Mapping[str, Judge]] = {
    "abstract.superior_tradeoff": each(*_TRADEOFF),
    "abstract.experiments_corroborate": somewhere(never_refuted(_analysed)),
    "introduction.ldp_degradation": always(
        *_swim(_JDP, _LDP, epsilons=_RANGE), *_swim(_UCB, _LDP, epsilons=_RANGE)
    ),
    "introduction.less_noise_than_ldp": each(always(_less_than_local), _MATCHES_JDP),
    "contributions.numerical": each(*_TRADEOFF, _ORDERS),
    "section3.only_near_optimal_remain": always(never_refuted(_remaining)),
    "lemma20.optimal_kept": always(_kept),
    "theorem6.switches": always(_switches(lambda row: row["switches"] <= (HORIZON + 2) * row["stages"])),
    "figure6.ldp_worst": always(
        *(shape for arm in (_UCB, _JDP, _FREE, _OWN) for shape in _swim(arm, _LDP, epsilons=_RANGE))
    ),
    "figure6.ldp_unusable": always(opposite(*_swim_learns(_LDP, LEARNT))),
    "figure6.below_ldp": _BELOW_LDP,
    "figure6.approaches_pe_and_jdp": always(*_swim(_OWN, _FREE, 1.2, _FAR), *_swim(_OWN, _JDP, 1.2, _FAR)),
    "figure6.superior_balance": _BELOW_LDP,
    "figure7.bandit": each(
        always(_own_within("bandit", _OWN, _LDP, 1.0, 1.0, (1.0,))),
        always(_own_within("bandit", _OWN, _JDP, 1.5, _FAR, (1.0,))),
    ),
    "figure7.general_framework": always(learns(_OWN, problems=("bandit",), epsilons=(1.0,))),
    "section6.collectively": _COLLECTIVELY,
    "figure8.ucbvi_updates": always(_updates),
    "figure8.switches": always(
        _switches(lambda row: abs(row["switches"] - _PRINTED_SWITCHES) <= HORIZON + 2, *_STAGED)
    ),
    "figure8.orders_of_magnitude": _ORDERS,
    "discussion.matches_jdp": _MATCHES_JDP,
    "discussion.noise_falls_with_batch": always(_noise_per_user),
    "conclusion.practical": each(_COLLECTIVELY, _ORDERS),
    "contributions.privatizer_utility": always(_steady_noise),
    "section6.practical_value": each(*_TRADEOFF, _ORDERS),
}
"""The judge of each claim that is not out of reach."""
