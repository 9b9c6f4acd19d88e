"""What a narrow terminal, and a pipe, shows of the answers: every word whole, nothing cut."""

from __future__ import annotations

import pytest
from rich.console import Console

from dpproof.cli.layout import fitted, print_table, table

SIZES = ["--states", 6, "--actions", 2, "--horizon", 20, "--episodes", 1000, "--adjacency", "rewards-only"]
THOMPSON = ["--arms", 5, "--rounds", 1000, "--pulls", 20, "--adjacency", "rewards-only"]
ASKED = {
    "account": (
        ["account", "rlsvi", *SIZES, "--delta", "1e-6"],
        ["rlsvi.printed_gaussian", "11.08077", "1.633809"],
    ),
    "calibrate": (
        ["calibrate", "thompson", *THOMPSON, "--target-epsilon", 2, "--delta", "1e-6", "--what-if"],
        ["236.9059236345558", "849.9006", "rounds 2000"],
    ),
    "audit": (
        ["audit", "laplace", "--scale", 1, "--budget", 3000],
        ["laplace", "consistent", "3000"],
    ),
    "verify": (["verify", "rlsvi"], ["PROVED ON A SUBDOMAIN", "rlsvi.lemma6.printed_domain"]),
    "explain": (["explain", "central-counts"], ["printed_epsilon", "cost_factor", "required"]),
}


@pytest.mark.parametrize("width", [80, 60, 30])
@pytest.mark.parametrize("verb", ASKED)
def test_nothing_is_cut(run, monkeypatch, verb, width):
    monkeypatch.setenv("COLUMNS", str(width))
    arguments, words = ASKED[verb]
    shown = run(*arguments).out
    assert "…" not in shown
    assert [word for word in words if word not in shown and width > 30] == []


def test_remarks_of_claims_stand_below_their_table_at_full_width(run, claim_file, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    lines = run("check", claim_file({"epsilon": 0.1}), "--no-audits").out.splitlines()
    assert not any("…" in line for line in lines)
    remark = next(line for line in lines if line.startswith("ward: "))
    assert remark.startswith("ward: a pair of neighbours exceeds it: first user's rewards all 0 against all")


def shown(width):
    """A table of two long words, as a console of this width shows it."""
    rows = table("statement", "verdict", title="Found")
    rows.add_row("rlsvi.printed_gaussian_costs", "PROVED ON A SUBDOMAIN")
    console = Console(width=width)
    with console.capture() as captured:
        print_table(rows, console)
    return captured.get()


def test_a_table_narrows_to_its_longest_words_and_is_stacked_below_that():
    assert "PROVED ON A SUBDOMAIN" in shown(80)
    assert max(map(len, shown(44).splitlines())) <= 44
    assert "rlsvi.printed_gaussian_costs" in shown(44)
    assert "statement: rlsvi.printed_gaussian_costs\nverdict: PROVED ON A SUBDOMAIN" in shown(43)


def test_widths_add_up_to_the_room_there_is():
    for room in range(6, 40):
        widths = fitted([1, 2, 3], [4, 20, 3], room)
        assert widths is not None
        assert sum(widths) == min(room, 27)
        assert all(
            low <= width <= high for low, width, high in zip([1, 2, 3], widths, [4, 20, 3], strict=True)
        )
