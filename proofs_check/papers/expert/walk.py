"""Preserving expert-level privacy in offline reinforcement learning: the walk through a shuffled data set.

Algorithm 2 draws trajectories without replacement, the analysis of section 5 draws them afresh. Here the two are
compared, at the budgets of the experiments, for at least 2999 experts with at least 10 trajectories each.
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import comb, factorial
from typing import NamedTuple

from dpproof.accountant.published.expert import PAPER, VERSION
from dpproof.accountant.published.sources import Source
from dpproof.proofs_check.hints import POSITIVE, RANGE, expect, positive
from dpproof.proofs_check.papers.expert.release import LOGGED, NEIGHBOURS
from dpproof.proofs_check.statement import Goal, Obligation, Statement, formula, make_goal

OPEN, HALF, UNIT, MANY = "(0, inf)", "[0, inf)", "[0, 1]", "[1, inf)"
NOTE = "docs/notes/expert_walk.md"
EACH = 10
EXPERTS = {"m": "[2999, inf)", "o": "[2999, inf)", "N": "[10, inf)"}


class Setting(NamedTuple):
    """A setting of the experiments, and the constants of its proof.

    ``most`` trajectories of one expert at the most, the power ``kappa`` of Markov's inequality, the logarithm of
    rho, and the order ``k`` of expert.composition.
    """

    name: str
    budget: str
    delta: str
    rounds: int
    most: int
    kappa: int
    log_rho: str
    k: int


SETTINGS = (
    Setting("acrobot_10", "10", "1/3000", 25, 5, 15, "2", 6),
    Setting("cartpole_10", "15/2", "3/10000", 25, 5, 15, "9/5", 8),
    Setting("hiv_10", "15/2", "3/10000", 50, 5, 15, "2", 7),
    Setting("lunarlander_10", "15/2", "3/10000", 100, 5, 12, "12/5", 6),
    Setting("acrobot_75", "15/2", "1/3000", 20, 5, 20, "9/5", 8),
    Setting("cartpole_75", "45/8", "3/10000", 20, 4, 20, "7/5", 10),
    Setting("lunarlander_75", "45/8", "3/10000", 62, 4, 15, "9/5", 9),
    Setting("acrobot_5", "5", "1/3000", 20, 4, 20, "6/5", 11),
)


def _repeats(n: int) -> Fraction:
    """How much likelier fresh draws take n trajectories of one expert, at most: the product of N/(N - j) over j < n."""
    return Fraction(EACH**n * factorial(EACH - n), factorial(EACH))


def _series(s: Setting) -> Iterator[str]:
    return (f"{_repeats(n) ** s.kappa * s.rounds**n / factorial(n)}/o**{n - 1}" for n in range(2, s.most + 1))


def _bad(s: Setting) -> str:
    """The chance that fresh draws give a sequence that the walk is too unlikely to give."""
    start = Fraction(factorial(s.rounds), s.rounds**s.rounds)
    moment = f"log({start}) + {s.rounds} + {' + '.join(_series(s))}"
    return f"(exp({moment} - {s.kappa}*{s.log_rho}) + {comb(s.rounds, s.most + 1)}/o**{s.most})"


def _total(s: Setting, share: str) -> Goal:
    log_r = f"(-{s.rounds}*log(1 - {s.rounds - 1}/(N*m)))"
    eps = f"(2*{formula('expert.each_epsilon', E=s.budget, delta=s.delta, T=str(s.rounds))})"
    exponent = f"-({s.k}-1)*({s.budget} - {s.log_rho} - {log_r}) + {s.rounds}*({s.k * (s.k - 1)}*{eps}**2/2 + {s.k}*({s.delta}/(2*{s.rounds})))"
    fresh = f"({s.delta}/2 + exp({exponent}))"
    return make_goal(
        EXPERTS,
        f"{share}*({s.delta}) >= exp({s.budget} - {s.log_rho})*{_bad(s)} + exp({log_r})*{fresh}",
        integers=EXPERTS,
    )


def _setting(s: Setting) -> Obligation:
    note = f"eps_1 = {s.budget}, delta_1 = {s.delta}, T = {s.rounds}: what is left over is within delta_1"
    return Obligation(s.name, _total(s, "1"), note, RANGE, mutation=_total(s, "1/4"))


_FOUR = dict.fromkeys(("a1", "a2", "b1", "b2"), UNIT)
_LOSS = _FOUR | {"r": MANY, "e": MANY, "rho": MANY, "tau": UNIT, "d0": UNIT}
_CHAIN = ("r*b1 >= a1", "e*b2 + d0 >= b1", "rho*a2 + tau >= b2")
_NEXT = {"N": MANY} | dict.fromkeys(("n", "c", "k", "j"), HALF)
_LEFT = {"g": MANY, "j": HALF, "n": HALF, "m": MANY}


def _markov(factor: str) -> Goal:
    return make_goal({"R": OPEN}, f"{factor}*E(V)/R >= E(u)", "V >= R*u", random={"V": HALF, "u": UNIT})


WALK = Statement(
    "expert.shuffled_walk", "project", "Algorithm 2 as printed, at the settings of the experiments",
    Source(PAPER, VERSION, "Algorithm 2 and Appendix B", "expert.shuffled_walk"),
    "With at least 3000 experts (neighbours have one more or less) and 10 trajectories of each or more (the experiments have 3000 and 20), Algorithm 2, which walks through the shuffled data set, is (eps_1, delta_1)-DP at every budget of the "
    "experiments: eps_1, T = 10, 25; 7.5, 25; 7.5, 50; 7.5, 100; 7.5, 20; 5.625, 20; 5.625, 62; 5, 20, with delta_1 = 1/3000 for Acrobot and 3/10000 else.",
    r"\mathcal A_{DR}\text{ without replacement is }(\varepsilon_1,\delta_1)\text{-DP}",
    (
        Obligation("walk_to_fresh", make_goal(_NEXT, "N/(1+n+c+k)*(1 + (n+c)/(1+k)) >= (N-j)/(1+c+k)"), "the walk's next draw after n = T-1-c draws, j of them from the expert, of M = T + k trajectories: at most M/(M-T+1) times 1/m",
                   POSITIVE, {"N": "1", "n": "0", "c": "0", "k": "0", "j": "0"}),
        Obligation("fresh_to_walk", make_goal(_LEFT, "(j+g)/g >= (1/m)*(m*(j+g) - n)/g"), "a fresh draw is at most N/(N-j) times as likely as the walk's, N = j + g", POSITIVE, {"g": "1", "j": "1", "n": "0", "m": "1"}),
        Obligation("markov", _markov("1"), "V is the power kappa of the product of these, on sequences with at most J trajectories of one expert, R = rho^kappa", expect([("V-R*u", positive(("1", 0)))], positive(("1/R", 1))), mutation=_markov("1/2")),
        Obligation("chain", make_goal(_LOSS, "r*e*rho*a2 + r*e*tau + r*d0 >= a1", *_CHAIN), "from the walk under Pi to fresh draws, by expert.composition to fresh draws under Pi', and to the walk under Pi'",
                   positive(("1", 0), ("r", 1), ("r*e", 2)), {"a1": "1/2", "a2": "1/2", "b1": "1/2", "b2": "1/2", "r": "1", "e": "1", "rho": "1", "tau": "0", "d0": "0"}),
        Obligation("more_trajectories", make_goal({"N": "[10, inf)", "j": "[0, 9]"}, "10/(10-j) >= N/(N-j)"), "with more than 10 trajectories each the factors are smaller", positive(reflect=["j"]), {"N": "10", "j": "1"}),
        *map(_setting, SETTINGS),
    ),
    ("expert.theorem5_3", "expert.composition"),
    reading=(NEIGHBOURS, LOGGED, "given the sequence of experts, the walk and fresh draws release by the same law: each logged trajectory is used at most once, and is a fresh one of its expert; so Pr(S) is the mean of the same function of the sequence",
             "r = (M/(M-T+1))^T, M = N m; e = exp(E_0) with E_0 = eps_1 - log r - log rho, d0 from expert.composition at E_0; m and o are the numbers of experts of Pi and Pi'",
             "for fresh draws the mean of the product of g(n_i) over experts, n_i the number of draws of expert i, is T!/o^T times the coefficient of z^T in (sum of g(n) z^n/n!)^o, so at most T!/(o z)^T times that power, here at z = T/o, where it is at most "
             "exp(o (sum of g(n) z^n/n! - 1)), and g(n) the power kappa of the product of N/(N-j) over j < n, 0 for n > J; and the chance that some n_i > J is at most C(T, J+1)/o^J",
             f"written out in {NOTE}"),
    not_covered="fewer experts or trajectories of each; fixed data sets (expert.fixed_data); fewer than T trajectories in all; noise drawn in floating point",
)  # fmt: skip

STATEMENTS = (WALK,)
