"""The first lines of the page on expert-level learning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dpproof.reproduction.expert.settings import CHOICES
from dpproof.reproduction.first_lines import equal_rows, few_runs, listed

Row = Mapping[str, Any]
_METHODS: Final = ("printed", "calibrated")
_MISSING: Final = (
    "Figure 2 of the paper (histograms of the experts' returns) is not reproduced: the table below has the "
    "mean return of the experts only."
)
_WHY: Final = {
    "hiv": "Its first state is fixed and its dynamics have no chance, so that a policy has one return; the "
    "policies of these rows play the same actions.",
}


def first_lines(returns: Sequence[Row], runs: int) -> list[str]:
    """The sentences; those on the paper's claim and on equal rows stand where the numbers call for them."""
    return [*_reversed(returns), *_undecided(returns), _MISSING, *few_runs(runs)]


def _reversed(returns: Sequence[Row]) -> Iterator[str]:
    """What the paper says of its method against DP-SGD, where the means say the opposite."""
    held = [
        row for row in returns if row["method"] in _METHODS and _in_paper(row) and not _same(returns, row)
    ]
    compared = [(own, _plain(returns, own)) for own in held]
    worse = [(own, plain) for own, plain in compared if own["return"] < plain["return"]]
    problems = dict.fromkeys(own["problem"] for own, _ in worse)
    always = [
        name for name in problems if all(pair in worse for pair in compared if pair[0]["problem"] == name)
    ]
    if not worse:
        return
    apart = sum(p["return"] - o["return"] > o["interval"] + p["interval"] for o, p in worse)
    where = f", always on {listed(always)}" if always else ""
    yield (
        "The paper's main claim is that its method beats plain DP-SGD. Here plain DP-SGD has the higher mean "
        f"return in {len(worse)} of {len(compared)} comparisons at the budgets at which the paper uses its "
        f"method{where}. The 95% intervals are apart in {apart} of these {len(worse)}. Where they overlap, "
        "these runs do not decide the order. They do not support the claim either."
    )


def _in_paper(row: Row) -> bool:
    """Whether the paper uses its method at this budget; below it falls back to DP-SGD."""
    return CHOICES[row["problem"]][row["epsilon"]].printed


def _plain(returns: Sequence[Row], own: Row) -> Row:
    """DP-SGD's row on the same problem at the same epsilon."""
    asked = (own["problem"], "DP-SGD", own["epsilon"])
    return next(row for row in returns if (row["problem"], row["method"], row["epsilon"]) == asked)


def _same(returns: Sequence[Row], own: Row) -> bool:
    """Whether a row's return is that of another row of its problem, to the last digit."""
    return any(own in group for group in _groups(returns, own["problem"]))


def _groups(returns: Sequence[Row], problem: str) -> list[list[Row]]:
    held = [row for row in returns if row["problem"] == problem]
    return equal_rows(held, ("return", "interval"))


def _undecided(returns: Sequence[Row]) -> Iterator[str]:
    """Rows that are the same to the last digit, problem by problem."""
    for problem in dict.fromkeys(row["problem"] for row in returns):
        groups = _groups(returns, problem)
        if not groups:
            continue
        told = "; ".join(f"{listed(_names(group))} ({_shown(group[0])})" for group in groups)
        why = f" {_WHY[problem]}" if problem in _WHY else ""
        decides = "decides nothing" if any(_over_methods(group) for group in groups) else "has equal rows"
        yield (
            f"{problem} {decides}: to the last digit the return is the same for {told}. What differs between "
            f"such rows made no difference to what was measured.{why}"
        )


def _over_methods(group: Sequence[Row]) -> bool:
    return len({row["method"] for row in group}) > 1


def _names(group: Sequence[Row]) -> list[str]:
    return [
        row["method"] if row["epsilon"] is None else f"{row['method']} at epsilon {row['epsilon']:g}"
        for row in group
    ]


def _shown(row: Row) -> str:
    return f"{row['return']:.4g} ± {row['interval']:.2g}"
