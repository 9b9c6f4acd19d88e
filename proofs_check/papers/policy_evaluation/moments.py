"""Moments of the numbers of visits, in "Differentially Private Policy Evaluation".

|X_s| counts the trajectories, out of m independent ones, that visit s. Sums are built one trajectory at a
time: y (and y2 for a second state) is the visit indicator of the next one, independent of all before.
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpproof.accountant.published.sources import Source
from dpproof.proofs_check.hints import IDENTITY, enumerated, expect, identity, positive
from dpproof.proofs_check.statement import Goal, Obligation, Statement, make_goal

NOTE = "docs/notes/eval_utility.md"
CHANCE, COUNT = {"p": "(0, 1]"}, {"m": "[0, inf)"}
UNIT = "[0, 1]"
Multiplier = tuple[str, int]


def source(item: str, identity: str) -> Source:
    """The place in the paper."""
    return Source("arXiv:1603.02010", "v1", item, identity)


def equal(
    name: str,
    note: str,
    sides: tuple[str, str],
    given: Sequence[str],
    multipliers: Sequence[Multiplier],
    variables: Mapping[str, str],
    groups: Sequence[Mapping[str, str]],
) -> tuple[Obligation, Obligation]:
    """An equation between expectations, as two inequalities; ``groups`` are the independent groups.

    The mutations move the right side by a thousandth.
    """
    random = {v: reach for group in groups for v, reach in group.items()}
    independent = groups if len(groups) > 1 else ()

    def claim(goal: str) -> Goal:
        return make_goal(variables, goal, *given, random=random, independent=independent)

    left, right = sides
    least, most = f"{left} >= {right}", f"{right} >= {left}"
    above, below = f"{left} >= {right} + 1/1000", f"{right} - 1/1000 >= {left}"
    negative = [(f"0 - ({text})", index) for text, index in multipliers]
    return (
        Obligation(f"{name}_least", claim(least), note, expect((), positive(*multipliers)), mutation=claim(above)),
        Obligation(f"{name}_most", claim(most), note, expect((), positive(*negative)), mutation=claim(below)),
    )  # fmt: skip


_BINOMIAL = (
    "|X_s| = B is a sum of m independent visit indicators y of mean p; leaving one out leaves the law of m - 1 trajectories",
    "q is (1-p)^m: q = 1 at m = 0, and q (1-p) for one more trajectory",
)
_SOLVE = {"p": "(0, 1]", "m": "[0, inf)", "q": UNIT, "e": UNIT}
FIRST = Statement(
    "eval.lemma24.first", "statement", "The mean of 1/(B+1)", source("Lemma 24", "eval.lemma24"),
    "For B binomial with m trials and success probability p in (0, 1], E[1/(B+1)] = (1-(1-p)^(m+1))/(p(m+1)). With one trial more, S successes and y "
    "that trial's success: y/(1+S-y) = y/S, the sum over all m+1 trials is 1 where S >= 1, and each term has mean p E[1/(B+1)].",
    r"E\frac{1}{B+1}=\frac{1-(1-p)^{m+1}}{p(m+1)}",
    (
        Obligation("term", make_goal({"y": UNIT, "S": "[1, inf)"}, "y/(1 + S - y) == y/S", integers=("y",)),
                   "a success y contributes 1/S, a failure nothing", enumerated("y", IDENTITY), {"y": "1", "S": "2"}),
        *equal("independent", "h = 1/(1+S-y), of the other m trials",
              ("E(y*h)", "p*e"), ("E(y) == p", "E(h) == e"), (("E_h", 0), ("p", 1)), CHANCE | {"e": UNIT}, ({"y": UNIT}, {"h": UNIT})),
        *equal("none", "z: no success so far", ("E(z*(1 - y))", "q*(1 - p)"), ("E(z) == q", "E(y) == p"),
              (("1 - p", 0), ("0 - E_z", 1)), CHANCE | {"q": UNIT}, ({"z": UNIT}, {"y": UNIT})),
        Obligation("solve", make_goal(_SOLVE, "e == (1 - q*(1 - p))/(p*(m + 1))", "(m + 1)*p*e == 1 - q*(1 - p)"),
                   "m+1 equal terms add up to P[S >= 1]", identity(("1/(p*(m + 1))", 0)), {"p": "1/2", "m": "1", "q": "1/2", "e": "3/4"}),
    ),
    reading=("S - y is the number of successes of the other m trials: h is independent of y and has the law of 1/(B+1)", *_BINOMIAL, "the sum over the m + 1 trials: y/(1+S-y) is y/S where S >= 1 and 0 where S = 0, and the y add up to S"),
)  # fmt: skip

_PRINTED = "6/(p*(m + 1))*((1 - (1 - p)**2*q)/(p*(m + 2)) - (1 - p)*q - p*(m + 1)/2*q)"
_ONCE = "((1 - (1 - p)**2*q)/(p*(m + 2)) - (1 - p)*q)/(p*(m + 1))"
SECOND = Statement(
    "eval.lemma24.second", "statement", "The mean of 1/B^2 where B >= 1", source("Lemma 24", "eval.lemma24"),
    "For B binomial with m trials and p in (0, 1], E[1/B^2; B >= 1] is at most 6/(p(m+1)) ((1-(1-p)^(m+2))/(p(m+2)) - (1-p)^(m+1) - p(m+1)(1-p)^m/2): "
    "1/k^2 <= 6/((k+1)(k+2)), whose mean over all k >= 0 is found as in the first part, with S the successes of m+1 trials and 1/(S+1) in place of 1.",
    r"E\frac{I_{B\ge1}}{B^2}\le\frac{6}{p(m+1)}\Bigl(\frac{1-(1-p)^{m+2}}{p(m+2)}-(1-p)^{m+1}-\frac{p(m+1)}2(1-p)^m\Bigr)",
    (
        Obligation("pointwise", make_goal({"k": "[1, inf)"}, "6/((k + 1)*(k + 2)) >= 1/k**2"), "equality at one success", witness={"k": "1"}),
        Obligation("term", make_goal({"y": UNIT, "S": "[1, inf)"}, "y/((1 + S - y)*(2 + S - y)) == y/S*(1/(S + 1))", integers=("y",)),
                   "a success contributes 1/(S(S+1)): S of them 1/(S+1)", enumerated("y", IDENTITY), {"y": "1", "S": "2"}),
        Obligation("solve", make_goal(_SOLVE | {"f": UNIT}, f"f == {_ONCE}", "(m + 1)*p*f == e - (1 - p)*q", "e == (1 - (1 - p)**2*q)/(p*(m + 2))"),
                   "f = E[1/((B+1)(B+2))]; the m+1 equal terms add up to E[1/(S+1)] less what S = 0 gives",
                   identity(("1/(p*(m + 1))", 0), ("1/(p*(m + 1))", 1)), {"p": "1", "m": "0", "q": "1", "e": "1/2", "f": "1/2"}),
        Obligation("bound", make_goal(_SOLVE | {"f": UNIT}, f"{_PRINTED} >= E(r)", f"f == {_ONCE}", "6*(h - z/2) >= r", "E(h) == f", "E(z) == q",
                                       random={"r": UNIT, "h": UNIT, "z": UNIT}),
                   "r = 1/B^2 or 0, h = 1/((B+1)(B+2)), z = 1 where B = 0",
                   expect([("6*(h - z/2) - r", positive(("1", 1)))], positive(("1", 4), ("0 - 6", 0), ("0 - 6", 2), ("3", 3))),
                   mutation=make_goal(_SOLVE | {"f": UNIT}, f"{_PRINTED}*9/10 >= E(r)", f"f == {_ONCE}", "6*(h - z/2) >= r", "E(h) == f", "E(z) == q",
                                       random={"r": UNIT, "h": UNIT, "z": UNIT})),
    ),
    ("eval.lemma24.first",),
    reading=(*_BINOMIAL, "E[1/(S+1)] is the first part with m + 1 for m, so that (1-p)^(m+2) = (1-p)^2 q; y/((1+S-y)(2+S-y)) has mean p f by independence",),
)  # fmt: skip

LEMMA24 = Statement(
    "eval.lemma24", "statement", "Two inverse moments of a binomial count", source("Lemma 24", "eval.lemma24"),
    "The mean of 1/(B+1), exactly, and a bound on that of 1/B^2 where B >= 1.",
    parts=("eval.lemma24.first", "eval.lemma24.second"),
    not_covered="p = 0, where the right sides are not defined",
)  # fmt: skip

_PAIR = {"p": UNIT, "p2": UNIT, "both": UNIT, "only": UNIT, "m": "[0, inf)", "q": UNIT}
_VISITS = {"n": "[0, inf)", "n2": "[0, inf)", "z": UNIT}
_NEXT = {"y": UNIT, "y2": UNIT}


def _moment(
    name: str, note: str, left: str, right: str, given: Sequence[str], multipliers: Sequence[Multiplier]
) -> tuple[Obligation, Obligation]:
    """One more trajectory: the moment at m + 1 from those at m."""
    return equal(name, note, (left, right), given, multipliers, _PAIR, (_VISITS, _NEXT))


LEMMA31 = Statement(
    "eval.lemma31", "statement", "Five moments of the numbers of visits", source("Lemma 31", "eval.lemma31"),
    "With p, p2 the chances that a trajectory visits s, s', both that it visits both, only that it visits s and not s': E|X_s| = m p; P[|X_s| = 0] = (1-p)^m; "
    "E|X_s|^2 = m^2 p^2 + m(p - p^2); E|X_s||X_s'| = m(m-1) p p2 + m both; E[|X_s|; |X_s'| = 0] = m only (1-p2)^(m-1).",
    r"m p_s,\ (1-p_s)^m,\ m^2p_s^2+m(p_s-p_s^2),\ m(m-1)p_sp_{s'}+mp_{s,s'},\ m\bar p_{s,s'}(1-p_{s'})^{m-1}",
    (
        *_moment("mean", "one trajectory more", "E(n + y)", "(m + 1)*p", ("E(n) == m*p", "E(y) == p"), (("1", 0), ("1", 1))),
        *_moment("none", "z: s has not been visited", "E(z*(1 - y))", "q*(1 - p)", ("E(z) == q", "E(y) == p"), (("1 - p", 0), ("0 - E_z", 1))),
        Obligation("indicator", make_goal({"y": UNIT, "n": "[0, inf)"}, "(n + y)**2 == n**2 + 2*n*y + y", integers=("y",)), "y^2 = y",
                   enumerated("y", IDENTITY), {"y": "1", "n": "1"}),
        *_moment("square", "(n + y)^2 by the line before", "E(n**2 + 2*n*y + y)", "(m + 1)**2*p**2 + (m + 1)*(p - p**2)",
                ("E(n**2) == m**2*p**2 + m*(p - p**2)", "E(n) == m*p", "E(y) == p"),
                (("1", 0), ("2*p", 1), ("2*E_n + 1", 2))),
        *_moment("product", "of two counts; y y2: the trajectory visits both", "E((n + y)*(n2 + y2))", "(m + 1)*m*p*p2 + (m + 1)*both",
                ("E(n*n2) == m*(m - 1)*p*p2 + m*both", "E(n) == m*p", "E(n2) == m*p2", "E(y) == p", "E(y2) == p2", "E(y*y2) == both"),
                (("1", 0), ("p2", 1), ("p", 2), ("E_n2", 3), ("E_n", 4), ("1", 5))),
        *_moment("apart", "z: s' has not been visited, of mean (1-p2) q after m trajectories, q = (1-p2)^(m-1); then m + 1 trajectories have m only q (1-p2) + "
                "only (1-p2) q", "E((n + y)*z*(1 - y2))", "(m + 1)*only*(q*(1 - p2))",
                ("E(n*z) == m*only*q", "E(z) == (1 - p2)*q", "E(y2) == p2", "E(y*(1 - y2)) == only"),
                (("1 - p2", 0), ("only", 1), ("0 - E_n_z", 2), ("E_z", 3))),
    ),
    reading=(
        "trajectories are independent and alike; one more adds its visit indicators y, y2 to the counts n, n2; induction over m from no trajectory, where "
        "the counts are 0 and z is 1 (for the last moment from one trajectory, where n z = y (1-y2) and q = 1)",
    ),
)  # fmt: skip

STATEMENTS = (LEMMA24, FIRST, SECOND, LEMMA31)
