"""Pages of experiments: first lines say what disagrees with the paper, and the report shows what is kept."""

from __future__ import annotations

import base64
import math
from dataclasses import replace

import pytest

from dpproof.answers import as_json
from dpproof.answers.papers import FOLDER, PaperLedger, experiment_of
from dpproof.answers.verify import Verified
from dpproof.proofs_check.registry import papers
from dpproof.report.pages import DOCS
from dpproof.reproduction.claims import Evidence, Outcome
from dpproof.reproduction.engine import Measured
from dpproof.reproduction.experiments import experiments
from dpproof.reproduction.expert.study import STUDY as EXPERT
from dpproof.reproduction.first_lines import read
from dpproof.reproduction.private_ucb.study import STUDY as UCB
from dpproof.reproduction.sdp_pe.arms import Kind, Size
from dpproof.reproduction.sdp_pe.study import STUDY as SDP
from dpproof.reproduction.suite.summary import Score
from dpproof.reproduction.suite.summary import Table as Scores

PAGES = {name: FOLDER / f"{name.replace('-', '_')}.md" for name in experiments()}


def shown(name: str) -> list[str]:
    return list(read(PAGES[name].read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", experiments())
def test_a_page_begins_with_what_disagrees(name):
    lines = PAGES[name].read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ")
    assert lines[2].startswith("**Read this first.**")
    assert lines[4] == f"- {shown(name)[0]}"
    assert set(shown(name)) <= set(experiment_of(name).findings)


@pytest.mark.parametrize("name", experiments())
def test_a_recorded_page_is_what_the_template_makes_of_the_tables(name):
    assert experiments()[name].study().page(DOCS / "experiments") == PAGES[name].read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("expert", "DP-SGD has the larger mean return in 15 of them"),
        ("expert", "and the method in 1 (the 95% intervals do not overlap on hiv with calibrated noise"),
        (
            "expert",
            "hiv has equal rows: to the last digit the return is the same for printed at epsilon 2.5",
        ),
        ("expert", "Its first state is fixed and its dynamics have no chance"),
        ("expert", "of the paper that an experiment could speak to"),
        ("expert", "3 are confirmed, 5 are refuted, 5 are undecided"),
        ("expert", "Each figure is the result of 20 runs only"),
        ("sdp-pe", 'Refuted: "Its performance closely approaches that of the non-private PE and UCBVI-JDP."'),
        ("sdp-pe", "The possible transitions are taken as known"),
        ("sdp-pe", "decide nothing: to the last digit their regret is the same, 8969 ± 0"),
        ("private-ucb", "without any noise, the regret on RiverSwim is 98.68% ± 0.00%"),
        (
            "private-ucb",
            "regret of the paper's algorithms on RiverSwim is 95.85% ± 0.56% of the regret without",
        ),
        ("private-ucb", "The paper compares with UCB-VI (Azar et al. 2017) and OPPO (Efroni et al. 2020)"),
        ("private-ucb", 'Refuted: "the cost of privacy under the JDP requirement becomes negligible'),
        ("rlsvi", "The paper has no experiment"),
        ("policy-evaluation", "On small data DP-LSW has a larger error than an estimate of 0"),
        ("policy-evaluation", "Of 23 claims of the paper that an experiment could speak to"),
    ],
)
def test_the_first_lines_say_it(name, words):
    assert any(words in line for line in shown(name))


def expert_lines(rows, runs):
    return EXPERT.first_lines(Measured(replace(EXPERT.full, runs=runs), 0, {"returns": rows}, ()))


def sdp_lines(never, rows):
    return SDP.first_lines(Measured(SDP.full, 0, {"regret": rows}, (), {"never": never}))


def learner(method, epsilon, value, interval=1.0, problem="cartpole"):
    return {
        "problem": problem, "method": method, "epsilon": epsilon, "return": value, "interval": interval,
    }  # fmt: skip


def test_both_orders_of_the_method_and_dp_sgd_are_counted():
    rows = [learner("no privacy", None, 9.0), learner("DP-SGD", 10.0, 5.0)]
    kept = expert_lines([*rows, learner("printed", 10.0, 6.0), learner("calibrated", 10.0, 7.5)], 100)
    assert "compared with DP-SGD 2 times" in kept[0]
    assert "DP-SGD has the larger mean return in 0 of them, and the method in 2" in kept[0]
    assert "do not overlap on cartpole with calibrated noise at epsilon 10)" in kept[0]
    broken = expert_lines([*rows, learner("printed", 10.0, 2.0), learner("calibrated", 10.0, 4.5)], 100)
    assert "in 2 of them (the 95% intervals do not overlap on cartpole with printed noise" in broken[0]
    near = expert_lines([*rows, learner("printed", 10.0, 4.0), learner("calibrated", 10.0, 5.5)], 100)
    assert "in 1 of them (all intervals overlap), and the method in 1 (all intervals overlap)" in near[0]


def test_rows_that_are_equal_to_others_count_and_budgets_that_the_paper_does_not_report_do_not():
    rows = [learner(method, e, 5.0, 0.1, "hiv") for method in ("DP-SGD", "calibrated") for e in (5.0, 10.0)]
    lines = expert_lines([*rows[:2], *(row | {"return": 9.0} for row in rows[2:])], 100)
    assert "compared with DP-SGD 1 times" in lines[0]
    assert (
        "the method in 1 (the 95% intervals do not overlap on hiv with calibrated noise at epsilon 10)"
        in lines[0]
    )


def test_a_budget_at_which_the_paper_uses_dp_sgd_does_not_count():
    rows = [learner("no privacy", None, 9.0), learner("DP-SGD", 2.5, 5.0), learner("calibrated", 2.5, 1.0)]
    assert not any("compared with DP-SGD" in line for line in expert_lines(rows, 100))


def test_rows_that_decide_nothing_are_found_to_the_last_digit():
    rows = [learner("no privacy", None, 9.0, 0.0, "hiv"), learner("DP-SGD", 5.0, 5.0, problem="hiv")]
    equal = expert_lines([*rows, learner("calibrated", 5.0, 9.0, 0.0, "hiv")], 100)
    assert any(
        line.startswith("hiv has equal rows") and "no privacy and calibrated at" in line for line in equal
    )
    near = expert_lines([*rows, learner("calibrated", 5.0, 9.0 + 1e-9, 0.0, "hiv")], 100)
    assert not any("equal rows" in line for line in near)


def eliminated(kind, regret, epsilon=0.1):
    return {
        "problem": "RiverSwim", "algorithm": kind.value, "epsilon": epsilon, "regret": regret,
        "deviation": 10.0 + regret / 1000, "seeds": 100,
    }  # fmt: skip


def test_where_no_private_algorithm_learns_it_is_said():
    def lines(least):
        others = (eliminated(Kind.LDP, 990.0), eliminated(Kind.CALIBRATED, 980.0))
        return sdp_lines(1000.0, [eliminated(Kind.PE, 100.0, None), eliminated(Kind.JDP, least), *others])

    assert any("No private algorithm learns at epsilon 0.1" in line for line in lines(950.0))
    assert not any("No private algorithm learns" in line for line in lines(500.0))
    assert any("possible transitions are taken as known" in line for line in lines(500.0))


def score(arm, mean, epsilon=math.inf, error=0.002, problem="river-swim", runs=100):
    curve = tuple(mean * i / 10 for i in range(1, 11))
    private = math.isfinite(epsilon)
    law = (mean, error, 0.9 * mean, 0.95 * mean, 1.1 * mean, 1.5 * mean, 0.07, curve, (error / 10,) * 10)
    return Score(problem, arm, epsilon, epsilon if private else None, 1e-6 if private else None, runs, *law)


def ucb_lines(*scores):
    return "\n".join(UCB.sentences(Scores(scores)))


def test_the_best_result_is_said_with_its_quantiles():
    told = ucb_lines(score("PRIVATE-UCB-VI, joint", 0.4, 1.0), score("PRIVATE-UCB-PO, joint", 0.2, 1.0))
    assert (
        "algorithms on RiverSwim is 20.00% ± 0.20% of the regret without learning (PRIVATE-UCB-PO, joint;"
        in told
    )
    assert "Half of the runs are above 19.0%, the worst is 30.0%" in told
    assert "UCB-VI was not run yet and OPPO was not run yet" in told


def test_a_learner_whose_certified_epsilon_is_larger_is_not_the_best():
    printed = replace(score("PRIVATE-UCB-VI, joint, printed noise", 0.1, 1.0), certified=2.9)
    assert "(PRIVATE-UCB-PO, joint;" in ucb_lines(printed, score("PRIVATE-UCB-PO, joint", 0.2, 1.0))


def test_the_baselines_are_those_of_the_benchmark():
    told = ucb_lines(score("UCB-VI", 0.2123), score("PRIVATE-UCB-VI, no noise, printed", 0.99))
    assert "UCB-VI has 21.23% ± 0.20% of the regret without learning and OPPO was not run yet" in told
    assert "is 99.00% ± 0.20% (PRIVATE-UCB-VI, no noise, printed) of the regret without learning" in told


def judged(claim, *scores):
    return UCB.judges[claim](Evidence(Scores(scores), {}))


def test_a_cost_of_privacy_that_stays_is_said_at_the_last_tenth():
    claim = "figure2.jdp_negligible"
    pairs = [("VI, joint", "VI, no noise, per step"), ("PO, joint", "PO, no noise, per step"),
             ("VI, joint, pooled", "VI, no noise")]  # fmt: skip

    def scores(mean):
        for private, free in pairs:
            yield from (score(f"PRIVATE-UCB-{private}", mean, 1.0), score(f"PRIVATE-UCB-{free}", 0.01))

    assert judged(claim, *scores(0.9)).outcome is Outcome.REFUTED
    assert "0.9" in judged(claim, *scores(0.9)).figures
    assert judged(claim, *scores(0.02)).outcome is Outcome.CONFIRMED
    assert judged(claim, *list(scores(0.02))[2:]).outcome is Outcome.UNDECIDED


def test_the_local_model_below_the_joint_one_is_said_where_it_is_clear():
    claim, joint = "introduction.ldp_worse", score("PRIVATE-UCB-VI, joint", 0.2, 1.0)
    less = judged(claim, joint, score("PRIVATE-UCB-VI, local", 0.15, 1.0)).figures
    assert "The opposite holds" in less
    assert "0.2000 ± 0.0020 against 0.1500 ± 0.0020" in less
    assert (
        "The opposite holds" not in judged(claim, joint, score("PRIVATE-UCB-VI, local", 0.199, 1.0)).figures
    )


def test_what_a_run_leaves_is_read_back(tmp_path):
    size = Size(60, 2, (0.1, 1.0))
    rows = [{"a": 0.1 + 0.2, "b": None, "c": "LSW, no", "d": 3, "e": "1e-6"}]
    found = Measured(size, 7, {"rows": rows}, ["a.svg"], {"never": 0.1 + 0.2})
    found.write(tmp_path)
    assert Measured.read(tmp_path, Size, ("rows",), text=("e",)) == found


PAPERS = tuple(papers().values())


@pytest.mark.parametrize("paper", experiments())
def test_every_figure_that_the_report_names_is_kept(paper):
    shown = experiment_of(paper)
    assert shown.page == FOLDER / f"{paper.replace('-', '_')}.md"
    assert tuple(path.stem for path in shown.figures) == experiments()[paper].figures != ()
    for path, (name, address) in zip(shown.figures, shown.pictures(), strict=True):
        assert name == path.stem
        assert base64.b64decode(address.partition(",")[2]) == path.read_bytes()


def test_the_findings_are_the_page_s_own_lines():
    shown = experiment_of("private-ucb")
    text = shown.page.read_text(encoding="utf-8")
    assert len(shown.findings) > 3
    assert all(f"- {line}\n" in text for line in shown.findings)


def test_without_the_documents_only_the_command_is_left(tmp_path):
    shown = experiment_of("private-ucb", tmp_path)
    assert (shown.page, shown.figures, shown.findings, shown.pictures()) == (None, (), (), [])
    assert as_json.experiment(shown)["command"] == "dpproof reproduce private-ucb"


def test_the_ledger_carries_the_experiment_as_data():
    paper = next(paper for paper in PAPERS if paper.name == "private-ucb")
    found = as_json.paper(PaperLedger(paper, Verified(()), None, [], [], experiment_of("private-ucb")))
    assert found["experiment"]["page"] == "private_ucb.md"
    assert as_json.paper(PaperLedger(PAPERS[0], Verified(()), None, [], []))["experiment"] is None
