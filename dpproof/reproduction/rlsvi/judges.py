"""How the claims of RLSVI's paper are judged. The rules are those of `dpproof.reproduction.shapes`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Final

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP
from dpproof.accountant.numbers.arithmetic import cache
from dpproof.accountant.rl.rlsvi.rlsvi import ACCOUNTANT, RLSVIParameters, published_rho
from dpproof.accountant.theorems.composition import advanced_epsilon
from dpproof.reproduction.claims import Evidence, Judge
from dpproof.reproduction.score_shapes import below, best_below, learns, mean_of, problems_of
from dpproof.reproduction.shapes import Setting, Shows, always, fact, less, never_refuted, somewhere
from dpproof.reproduction.suite.arms import ARMS, EPSILONS, Promise
from dpproof.reproduction.suite.learners import DELTA, sizes_of
from dpproof.reproduction.suite.problems import PROBLEMS

USEFUL: Final = 10.0
"""The largest epsilon that the page takes as a useful one."""
_DEEP: Final = ("river-swim", "river-swim-4", "chain")
"""Problems whose reward needs many steps in one direction."""
_PRINTED: Final = "RLSVI, printed"


@cache
def _accounted(parameters: RLSVIParameters) -> PrivacyResult:
    return ACCOUNTANT.account(parameters, Adjacency.REWARDS_ONLY)


def _printed(problem: str) -> PrivacyResult:
    """Return the guarantee of a whole run with the printed noise."""
    return _accounted(RLSVIParameters(*sizes_of(PROBLEMS[problem])))


def _small(_: Evidence) -> Iterator[Setting]:
    """Yield for each problem whether the epsilon of the printed noise is useful.

    The opposite needs a pair of neighbours that shows a larger epsilon.
    """
    for problem in problems_of(_PRINTED):
        found = _printed(problem)
        above, printed = found.guarantee.epsilon(DELTA).upper, found.published
        below_ = found.attained.guarantee.epsilon(DELTA).lower if found.attained else 0.0
        shows = Shows.CLAIM if above <= USEFUL else Shows.OPPOSITE if below_ > USEFUL else Shows.NEITHER
        told = f", printed {printed.epsilon(DELTA).upper:.4g}" if printed else ""
        yield Setting(shows, f"epsilon {below_:.4g} to {above:.4g}{told} on {problem}")


def _both(evidence: Evidence) -> Iterator[Setting]:
    """Yield whether RLSVI learns, on each problem where the printed noise has a useful epsilon."""
    useful = [
        name for name in problems_of(_PRINTED) if _printed(name).guarantee.epsilon(DELTA).upper <= USEFUL
    ]
    yield from learns(_PRINTED, problems=useful)(evidence)


def _explores(evidence: Evidence) -> Iterator[Setting]:
    """Yield whether some noise of RLSVI leads to less regret than none, on problems that need exploration."""
    for problem in _DEEP:
        noises = [("RLSVI", epsilon) for epsilon in EPSILONS] + [(_PRINTED, math.inf)]
        found = [mean_of(evidence.suite, problem, *noise) for noise in noises]
        least = min((one for one in found if one), key=lambda one: one.value) if all(found) else None
        none = mean_of(evidence.suite, problem, "RLSVI, no noise", math.inf)
        yield less(least, none, f"(the best noise against no noise) on {problem}")


def _renyi(_: Evidence) -> Iterator[Setting]:
    """Yield for each problem whether Corollary 14 is below advanced composition of the same episodes."""
    for problem in problems_of(_PRINTED):
        K, printed = PROBLEMS[problem].episodes, _printed(problem).published
        if printed is None:
            continue
        parts = GaussianDP(
            math.sqrt(2 * published_rho(RLSVIParameters(*sizes_of(PROBLEMS[problem]))).upper / K)
        )
        each, slack = float(DELTA) / (2 * K), float(DELTA) / 2
        advanced = advanced_epsilon(ApproxDP(parts.epsilon(each).upper, each), K, slack).lower
        own = printed.epsilon(DELTA).upper
        yield fact(holds=own < advanced, figures=f"{own:.4g} against {advanced:.4g} on {problem}")


def _longer(_: Evidence) -> Iterator[Setting]:
    """Yield for each doubling of the horizon of RiverSwim whether both epsilons fall."""
    sizes = RLSVIParameters(*sizes_of(PROBLEMS["river-swim"]))
    kinds: Mapping[str, Callable[[PrivacyResult], float]] = {
        "printed": lambda one: one.published.epsilon(DELTA).upper if one.published else math.inf,
        "certified": lambda one: one.guarantee.epsilon(DELTA).upper,
    }
    for low, high in pairwise((5, 10, 20, 40)):
        for kind, epsilon in kinds.items():
            short, long = (epsilon(_accounted(replace(sizes, horizon=H))) for H in (low, high))
            figures = f"{kind} epsilon {long:.4g} at H = {high} against {short:.4g} at H = {low}"
            yield fact(holds=long < short, figures=figures)


_LOCAL_ARMS: Final = tuple(name for name, arm in ARMS.items() if arm.promise is Promise.LOCAL)
_VARIANCE: Final = "agent dp-ucbvi"
PAIRS: Final = (
    ("PRIVATE-UCB-VI, joint", "PRIVATE-UCB-VI, local"),
    ("PRIVATE-UCB-PO, joint", "PRIVATE-UCB-PO, local"),
    ("PRIVATE-UCB-VI, joint, pooled", "PRIVATE-UCB-VI, local, pooled"),
    ("UCB-VI, JDP", "UCB-VI, LDP"),
)
"""Learners with a trusted server, and the same learners under local privacy."""

JUDGES: Final[Mapping[str, Judge]] = {
    "abstract.noise_serves_both": somewhere(never_refuted(_both)),
    "introduction.no_additional_noise": always(never_refuted(_small)),
    "algorithm1.deep_exploration": always(never_refuted(_explores)),
    "introduction.rdp_tighter": always(_renyi),
    "related.dp_ucbvi_best": always(
        never_refuted(below(_VARIANCE, "agent private-ucb-vi"), below(_VARIANCE, "agent private-ucb-po"))
    ),
    "related.ldp_costs_more": always(*(below(joint, local) for joint, local in PAIRS)),
    "related.shuffle_between": always(never_refuted(best_below(("SDP-PE",), _LOCAL_ARMS))),
    "lemma11.longer_horizon_more_private": always(_longer),
}
"""The judges of the claims that are not out of reach."""
