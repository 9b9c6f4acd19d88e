"""``dpproof account`` and ``calibrate``: the keys of the contract, the numbers of the papers, every refusal."""

from __future__ import annotations

import json
import math

import pytest
from click.testing import CliRunner

from dpproof.cli import app
from tests.rows import rows

SIZES = {"states": 6, "actions": 2, "horizon": 20, "episodes": 1000}
ENDS = {"lower", "upper", "of", "attained_by"}


def flags(adjacency="rewards-only", **changes):
    """The paper's sizes as flags, some changed."""
    sizes = {**SIZES, **changes}
    given = [word for name, value in sizes.items() for word in (f"--{name.replace('_', '-')}", value)]
    return ["rlsvi", *given, *(["--adjacency", adjacency] if adjacency else [])]


def test_the_three_numbers_of_the_papers_sizes(run):
    ran = run("account", *flags(), "--delta", "1e-6", "--json")
    answer = ran.json
    assert (ran.code, ran.err) == (0, "")
    found = answer["epsilon"], answer["published"]["epsilon_exact"], answer["published"]["epsilon"]
    for bound, digits in zip(found, ("1.633810", "9.688165", "11.080765"), strict=True):
        assert f"{bound['lower']:.6f}" == digits == f"{bound['upper']:.6f}"
        assert 0 <= bound["upper"] - bound["lower"] <= 1e-9 * bound["upper"]


def test_the_answer_keeps_the_contract(run):
    answer = run("account", *flags(), "--delta", "1e-6", "--json").json
    assert answer["schema"] == 1
    assert isinstance(answer["version"], str)
    assert (answer["name"], answer["adjacency"], answer["delta"]) == ("rlsvi", "rewards-only", 1e-6)
    assert SIZES.items() <= answer["parameters"].items()
    assert answer["epsilon"].keys() == ENDS == answer["published"]["epsilon_exact"].keys()
    assert answer["epsilon"]["of"] == "guarantee"
    assert answer["epsilon"]["attained_by"] is None
    assert {"lower", "upper"} <= answer["published"]["epsilon"].keys()
    assert answer["published"]["statement"] == "rlsvi.corollary14"
    assert answer["published"]["verdict"] == "PROVED"
    assert (answer["statement"], answer["verdict"]) == ("rlsvi.tight", "PROVED GIVEN")


def test_the_mechanism_lies_between_a_named_pair_and_the_guarantee(run):
    answer = run("account", *flags(), "--delta", "1e-6", "--json").json
    mechanism = answer["mechanism"]
    assert mechanism["of"] == "mechanism"
    assert mechanism["attained_by"]
    assert 1.5 < mechanism["lower"] <= mechanism["upper"] == answer["epsilon"]["upper"]


def test_asked_at_an_epsilon_it_answers_with_a_delta(run):
    answer = run("account", *flags(), "--epsilon", "1", "--json").json
    assert answer["epsilon"] == 1
    assert answer["delta"].keys() == ENDS
    assert 0 < answer["delta"]["lower"] <= answer["delta"]["upper"] < 1
    assert answer["published"].keys() >= {"delta_exact", "statement", "verdict"}
    assert "epsilon" not in answer["published"]


def test_delta_and_epsilon_are_each_others_inverse(run):
    epsilon = run("account", *flags(), "--delta", "1e-6", "--json").json["epsilon"]["upper"]
    delta = run("account", *flags(), "--epsilon", repr(epsilon), "--json").json["delta"]
    assert delta["upper"] == pytest.approx(1e-6, rel=1e-9)
    assert delta["lower"] <= 1e-6


def test_pure_privacy_is_infinite_and_spelled_inf(run):
    ran = run("account", *flags(), "--delta", "0", "--json")
    assert ran.json["epsilon"]["upper"] == ran.json["epsilon"]["lower"] == "inf"
    assert ran.json["published"]["epsilon"] == {"lower": "inf", "upper": "inf"}


def test_a_relation_without_a_published_guarantee_says_null(run):
    answer = run("account", *flags("replace", clip=20), "--delta", "1e-6", "--json").json
    assert answer["published"] is None
    assert answer["mechanism"] is None
    assert answer["statement"] == "rlsvi.state_neighbours"


def test_what_was_asked_is_repeated_as_a_number(run):
    assert run("account", *flags(), "--delta", "1/4", "--json").json["delta"] == 0.25


def test_people_see_the_same_numbers(run):
    ran = run("account", *flags(), "--delta", "1e-6")
    assert ran.code == 0
    assert {"1.633809", "1.633810", "11.08076", "rlsvi.tight"} <= set(ran.out.split())


@rows(
    ("changes", "says"),
    [
        ({"episodes": 0}, "episodes (0) must be an integer at least 1"),
        ({"episodes": -5}, "episodes (-5) must be an integer at least 1"),
        ({"episodes": "nan"}, "episodes ('nan') must be an integer at least 1"),
        ({"episodes": "1.5"}, "episodes ('1.5') must be an integer at least 1"),
        ({"horizon": 0}, "horizon (0) must be an integer at least 1"),
        ({"states": 0}, "states (0) must be an integer at least 1"),
        ({"actions": "two"}, "actions ('two') must be an integer at least 1"),
        ({"beta_scale": "nan"}, "beta_scale (nan) must be a number above 0"),
        ({"beta_scale": "inf"}, "beta_scale (inf) must be a number above 0"),
        ({"beta_scale": 0}, "beta_scale (0.0) must be a number above 0"),
        ({"clip": "nan"}, "clip (nan) must be a number at least 0"),
        ({"clip": -1}, "clip (-1.0) must be a number at least 0"),
        ({"frobs": 1}, "No such option"),
        ({"adjacency": "users"}, "adjacency ('users') must be one of: add-remove, replace, rewards-only"),
        ({"adjacency": "Replace"}, "adjacency ('Replace') must be one of"),
        ({"adjacency": "add-remove"}, "adjacency ('add-remove') has no proved guarantee for rlsvi"),
        ({"adjacency": "expert"}, "adjacency ('expert') has no proved guarantee for rlsvi"),
        ({"adjacency": "replace"}, "adjacency ('replace') has no proved guarantee for rlsvi. Visit counts"),
        ({"adjacency": None}, "Missing option '--adjacency'"),
    ],
)
@rows("verb", ["account", "calibrate"])
def test_bad_parameters_are_refused(refused, verb, changes, says):
    target = ["--target-epsilon", "1"] if verb == "calibrate" else []
    assert says in refused(verb, *flags(**changes), "--delta", "1e-6", *target, "--json")


@rows(
    ("delta", "rule"),
    [
        ("nan", "must be a finite number"),
        ("inf", "must be a finite number"),
        ("abc", "must be a finite number"),
        ("1/0", "must be a finite number"),
        ("", "must be a finite number"),
        ("1", "must be in [0, 1)"),
        ("1.5", "must be in [0, 1)"),
        ("-1e-9", "must be in [0, 1)"),
        ("1e-400", "must be 0 or between 4.95e-324 and 1.79e308"),
        ("1e999", "must be 0 or between 4.95e-324 and 1.79e308"),
    ],
)
@rows("verb", ["account", "calibrate"])
def test_bad_deltas_are_refused(refused, verb, delta, rule):
    target = ["--target-epsilon", "1"] if verb == "calibrate" else []
    line = refused(verb, *flags(), "--delta", delta, *target)
    assert "delta (" in line
    assert rule in line


@pytest.mark.parametrize(("epsilon", "rule"), [("nan", "finite"), ("inf", "finite"), ("-1", "at least 0")])
def test_bad_epsilons_are_refused(refused, epsilon, rule):
    assert rule in refused("account", *flags(), "--epsilon", epsilon)
    assert rule in refused("calibrate", *flags(), "--target-epsilon", epsilon, "--delta", "1e-6")


@pytest.mark.parametrize("asked", [[], ["--delta", "1e-6", "--epsilon", "1"]])
def test_exactly_one_question_is_asked(refused, asked):
    assert "exactly one of --delta and --epsilon" in refused("account", *flags(), *asked)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["account", "frob"], "No such command 'frob'"), (["frob"], "No such command 'frob'")],
)
def test_unknown_names_are_refused(refused, arguments, says):
    assert says in refused(*arguments)


@pytest.mark.parametrize("arguments", [[], ["account"], ["calibrate"]])
def test_nothing_asked_shows_the_help(run, arguments):
    ran = run(*arguments)
    assert ran.code == 2
    assert "Usage" in ran.out + ran.err
    assert "dpproof: " not in ran.err


def test_calibrate_finds_the_least_noise(run):
    answer = run("calibrate", *flags(), "--target-epsilon", "1", "--delta", "1e-6", "--json").json
    assert answer.keys() >= {"schema", "version", "noise", "epsilon", "minimal", "published"}
    assert answer["noise"]["name"] == "beta_scale"
    assert answer["epsilon"]["upper"] <= 1 < answer["minimal"]["epsilon_lower"]
    below, value = answer["minimal"]["value_below"], answer["noise"]["value"]
    assert 0 < value - below <= 1e-12 * value
    again = run("account", *flags(beta_scale=repr(value)), "--delta", "1e-6", "--json").json
    assert again["epsilon"]["lower"] <= answer["epsilon"]["upper"] <= again["epsilon"]["upper"] <= 1


@pytest.mark.parametrize(
    ("changes", "delta", "says"),
    [
        ({}, "0", "delta (0) must be above 0"),
        ({"episodes": 1}, "1e-6", "episodes (1) must be at least 2"),
        ({"adjacency": "replace", "clip": 1}, "1e-6", "adjacency ('replace')"),
    ],
)
def test_calibrate_says_where_noise_does_not_help(refused, changes, delta, says):
    assert says in refused("calibrate", *flags(**changes), "--target-epsilon", "1", "--delta", delta)


def test_an_internal_error_is_not_called_bad_input(run, monkeypatch):
    def broken(*_arguments, **_options):
        raise KeyError("lost")

    monkeypatch.setattr("dpproof.cli.account.certified", broken)
    ran = run("account", *flags(), "--delta", "1e-6", "--json")
    assert (ran.code, ran.out) == (3, "")
    assert "could not be certified: KeyError" in ran.err


COUNTS = ["--states", 6, "--actions", 2, "--horizon", 20, "--episodes", 20_000]
REPLACED = ["--adjacency", "replace", "--json"]
CAPPED = ["--cap", 7, "--every", 100, "--until", 10_000, "--cost-factor", 2]
CALIBRATED = {
    ("central-counts", "0"): 1755.0,
    ("local-counts", "0"): 120.0,
}
"""(6H - 3) levels, and 6H: the sums of all changes, over epsilon 1."""


@pytest.mark.parametrize(
    ("name", "words", "true"),
    [
        ("central-counts", [], 117 * 15 / (60 * math.log(20_000))),
        ("central-counts", ["--log-base", "binary"], 117 * 15 / (60 * math.log2(20_000))),
        ("central-counts", ["--start", "any"], 120 * 15 / (60 * math.log(20_000))),
        ("local-counts", [], 2.0),
    ],
)
def test_the_true_epsilon_stands_beside_the_printed_one(run, name, words, true):
    """6H - 3, or 6H, changes in 15 nodes, against 3H log K: the sheet's arithmetic."""
    found = run("account", name, *COUNTS, "--printed-epsilon", 1, *words, *REPLACED, "--delta", 0).json
    assert found["epsilon"]["upper"] == pytest.approx(true, rel=1e-12)
    assert found["epsilon"]["lower"] <= found["epsilon"]["upper"]
    assert found["published"]["epsilon"]["upper"] == 1.0
    assert found["published"]["verdict"] != "PROVED"


@pytest.mark.parametrize("asked", CALIBRATED, ids=str)
def test_calibration_gives_the_noise_that_keeps_the_promise(run, asked):
    name, delta = asked
    found = run("calibrate", name, *COUNTS, *REPLACED, "--target-epsilon", 1, "--delta", delta).json
    assert found["noise"] == {"name": "scale", "value": CALIBRATED[asked]}
    assert found["epsilon"]["upper"] <= 1 < found["minimal"]["epsilon_lower"]


def test_counts_in_batches_need_less_noise(run):
    """Beside the square root of every count, pooled: 2.2 times the deviation, and as many releases."""
    target = ["--target-epsilon", 1, "--delta", "1e-6"]
    found = run("calibrate", "batched-counts", *COUNTS, *CAPPED, *REPLACED, *target).json
    words = ["--noise", "gaussian", "--counter", "square-root", "--visits", "summed", "--pooled"]
    other = run("calibrate", "central-counts", *COUNTS, *words, *REPLACED, *target).json
    assert found["noise"]["value"] == pytest.approx(123.0247, abs=1e-4)
    assert found["epsilon"]["upper"] <= 1 < found["minimal"]["epsilon_lower"]
    assert other["noise"]["value"] > 2 * found["noise"]["value"]


@pytest.mark.parametrize("name", ["central-counts", "local-counts", "batched-counts"])
def test_each_is_explained(run, name):
    ran = run("explain", name)
    assert ran.code == 0
    assert ran.out.startswith(f"{name}: ")
    assert "neighbours: must be given" in ran.out


@rows("verb", [["account"], ["calibrate", "--target-epsilon", 1]], ids=str)
@rows(
    ("name", "words", "says"),
    [
        ("central-counts", ["--episodes", 1], "episodes (1) must be an integer in [2, 1e+12]. With one episode, log K"),
        ("central-counts", ["--episodes", 1, "--printed-epsilon", 1], "the printed noise are 0"),
        ("central-counts", ["--scale", 0], "scale (0.0) must be a number above 0"),
        ("local-counts", ["--scale", -1], "scale (-1.0) must be a number above 0"),
        ("local-counts", ["--printed-epsilon", 0], "printed_epsilon (0.0) must be a number above 0"),
        ("local-counts", ["--states", 0], "states (0) must be an integer"),
        ("batched-counts", ["--sigma", 0], "sigma (0.0) must be a number above 0"),
        ("batched-counts", ["--sigma", 1, "--cap", 21], "cap (21) must be at most horizon (20)"),
        ("batched-counts", ["--sigma", 1, "--every", 20_000], "every (20000) must be at most 19999"),
        ("batched-counts", ["--sigma", 1, "--adjacency", "expert"], "no proved guarantee for batched-counts"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(refused, verb, name, words, says):
    """The last word of a flag counts."""
    given = [verb[0], name, *COUNTS, "--adjacency", "replace", "--delta", 0.1, *verb[1:], *words]
    assert says in refused(*given)


COUNT = ["--users", "278566", "--adjacency", "replace", "--json"]
SHUFFLED = ["--users", "4096", "--states", "4", "--actions", "2", "--horizon", "6"]
BATCH = [*SHUFFLED, "--adjacency", "replace", "--json"]


def answered(*words, code=0):
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, done.output
    return json.loads(done.output)


@pytest.mark.parametrize(("encoding", "low", "high"), [("sum", 0.25, 1.0), ("bits", 0.0, 1e-100)])
def test_account_says_what_an_encoding_leaks(encoding, low, high):
    words = ["--threshold", "139283", "--encoding", encoding, "--epsilon", "0.1"]
    delta = answered("account", "shuffled-count", *words, *COUNT)["delta"]
    assert low <= delta["lower"] <= delta["upper"] < high


def test_calibrate_finds_the_smallest_threshold():
    words = ["--encoding", "bits", "--target-epsilon", "0.1", "--delta", "1e-6"]
    found = answered("calibrate", "shuffled-count", *words, *COUNT)
    assert found["noise"]["value"] == pytest.approx(2829.6736, abs=1e-3)
    assert found["minimal"]["epsilon_lower"] > 0.1


def test_audit_finds_the_printed_encoding_by_default_and_says_who_it_was():
    words = ["--threshold", "139283", "--encoding", "sum"]
    found = answered("audit", "shuffled-count", *words, *COUNT, code=1)["audits"][0]
    assert found["verdict"] == "violation"
    assert found["witness"] is not None


@pytest.mark.slow
def test_a_batch_is_calibrated_beside_the_printed_noise():
    words = ["--target-epsilon", "0.5", "--delta", "1e-6"]
    found = answered("calibrate", "shuffled-batch", *words, *BATCH)
    assert found["printed"]["deviation"]["ratio"] > 10
    assert found["printed"]["statement"] == "sdp.lemma10.privacy.bits"


def test_a_second_route_is_asked_and_shown(run):
    asked = ("account", "gaussian", "--sigma", "2", "--delta", "1e-6", "--check")
    shown = run(*asked)
    assert shown.code == 0
    assert "digits by an integral of the two normal densities in ball arithmetic" in shown.out
    answer = run(*asked, "--json").json
    assert answer["check"]["outcome"] == "confirmed"
    assert answer["check"]["digits"] >= 12


def test_an_answer_that_no_second_route_confirms_has_exit_code_3(run):
    ran = run("account", "laplace", "--scale", "2", "--delta", "0", "--check")
    assert ran.code == 3
    assert "check: no second route: this answer was not checked again" in ran.out
