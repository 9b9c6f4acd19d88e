"""``dpproof account`` and ``calibrate`` for noise and for training: keys, values, refusals, other goals and sizes."""

from __future__ import annotations

import dataclasses
import tomllib

import pytest

from dpproof.accountant.catalogue import CATALOGUE, accountant_for
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.answers.calibration import noise_for_other_targets
from dpproof.claim_file import read_claims
from tests.rows import rows, tiered
from tests.verified import share_certificates

ENDS = {"lower", "upper", "of", "attained_by"}
TRAINING = ("dp-sgd", "--sampling-rate", ".01", "--adjacency", "add-remove")
NOISY = (*TRAINING, "--noise-multiplier", 1)


def test_a_primitive_may_leave_the_relation_out(run):
    ran = run("account", "gaussian", "--sigma", 5, "--compositions", 1000, "--delta", "1e-30", "--json")
    answer = ran.json
    assert (ran.code, ran.err, answer["adjacency"]) == (0, "", "by-sensitivity")
    assert answer["parameters"] == {"sigma": 5.0, "compositions": 1000, "sensitivity": 1.0}
    assert answer["epsilon"].keys() == ENDS
    assert f"{answer['epsilon']['lower']:.6f}" == "91.934790" == f"{answer['epsilon']['upper']:.6f}"
    assert answer["epsilon"] == answer["mechanism"]
    assert answer["epsilon"]["of"] == "mechanism"
    assert "differ by 1" in answer["epsilon"]["attained_by"]
    assert (answer["statement"], answer["verdict"]) == ("classic.gaussian", "PROVED GIVEN")
    assert answer["published"]["epsilon"] == {"lower": "inf", "upper": "inf"}
    assert answer["published"]["statement"] == "classic.gaussian_classical"


def test_a_relation_that_is_given_is_repeated(run):
    answer = run(
        "account",
        "gaussian",
        "--sigma",
        5,
        "--sensitivity",
        1,
        "--adjacency",
        "replace",
        "--delta",
        ".1",
        "--json",
    ).json
    assert answer["adjacency"] == "replace"
    assert any("the sensitivity is taken to be that under replace" in note for note in answer["notes"])


def test_at_an_epsilon_the_answer_is_a_delta(run):
    answer = run("account", "gaussian", "--sigma", 5, "--epsilon", ".5", "--json").json
    assert answer["delta"]["of"] == "mechanism"
    assert 0 < answer["delta"]["lower"] <= answer["delta"]["upper"] < 0.01


def test_pure_privacy_of_a_gaussian_is_infinite(run):
    answer = run("account", "gaussian", "--sigma", 5, "--delta", "0", "--json").json
    assert answer["epsilon"]["lower"] == answer["epsilon"]["upper"] == "inf"


@pytest.mark.slow
def test_users_with_two_records_cost_more_and_are_known_under_add_remove(run):
    command = ("account", *NOISY, "--steps", 20, "--records", 2, "--delta", "1e-6", "--json")
    answer = run(*command).json
    assert answer["statement"] == "classic.group_sampled_gaussian"
    single = run(*command[:-5], "--delta", "1e-6", "--json").json
    assert answer["epsilon"]["lower"] > single["epsilon"]["upper"]
    refused = run(*(word if word != "add-remove" else "replace" for word in command))
    assert refused.code == 2
    assert "several records" in refused.err


def test_training_is_answered_from_both_sides(run):
    ran = run("account", *NOISY, "--steps", 100_000, "--delta", "1e-6", "--json")
    answer = ran.json
    assert (ran.code, ran.err, answer["adjacency"]) == (0, "", "add-remove")
    given = {"sampling_rate": 0.01, "noise_multiplier": 1.0, "steps": 100_000, "records": 1}
    assert answer["parameters"] == given
    low, high = answer["epsilon"]["lower"], answer["epsilon"]["upper"]
    assert 27.6725976 < low <= high < 27.6725978
    assert high - low <= 1e-6
    assert answer["epsilon"]["of"] == "mechanism"
    assert (answer["statement"], answer["verdict"]) == ("classic.dp_sgd", "PROVED GIVEN")
    assert answer["published"] is None


@pytest.mark.parametrize(
    "arguments",
    tiered(
        [
            [*TRAINING, "--steps", 1000],
            [*TRAINING, "--steps", 1000, "--noise-multiplier", 30],
            ["gaussian", "--compositions", 1000],
            ["gaussian", "--compositions", 1000, "--sigma", 3],
        ],
        fast=1,
    ),
)
def test_calibrate_needs_no_noise_to_begin_with(run, arguments):
    ran = run("calibrate", *arguments, "--target-epsilon", "1", "--delta", "1e-6", "--json")
    answer = ran.json
    assert (ran.code, ran.err) == (0, "")
    assert answer["epsilon"]["upper"] <= 1 < answer["minimal"]["epsilon_lower"]
    value, below = answer["noise"]["value"], answer["minimal"]["value_below"]
    assert 0 < value - below <= 1e-6 * value
    assert answer["parameters"][answer["noise"]["name"]] == value


@pytest.mark.parametrize("target", ["0.1", "1/3", "1e-3"])
def test_a_target_that_is_no_double_is_met_exactly(run, target):
    ran = run("calibrate", "gaussian", "--target-epsilon", target, "--delta", "1e-6", "--json")
    answer = ran.json
    assert answer["epsilon"]["upper"] <= answer["target_epsilon"] <= answer["minimal"]["epsilon_lower"]


def test_account_needs_its_noise(refused):
    assert "Missing option '--noise-multiplier'" in refused(
        "account", *TRAINING, "--steps", 9, "--delta", ".1"
    )


@rows(
    ("arguments", "says"),
    [
        (["--sigma", "nan"], "sigma (nan) must be a number above 0"),
        (["--sigma", "inf"], "sigma (inf) must be a number above 0"),
        (["--sigma", "-1"], "sigma (-1.0) must be a number above 0"),
        (["--sigma", "0"], "sigma (0.0) must be a number above 0"),
        (["--sigma", "five"], "sigma ('five') must be a number above 0"),
        (["--sigma", "5", "--compositions", "-1"], "compositions (-1) must be an integer at least 0"),
        (["--sigma", "5", "--compositions", "1.5"], "compositions ('1.5') must be an integer at least 0"),
        (["--sigma", "5", "--compositions", "nan"], "compositions ('nan') must be an integer at least 0"),
        (["--sigma", "5", "--sensitivity", "-1"], "sensitivity (-1.0) must be a number at least 0"),
        (["--sigma", "5", "--sensitivity", "inf"], "sensitivity (inf) must be a number at least 0"),
        (["--sigma", "5", "--adjacency", "users"], "adjacency ('users') must be one of: add-remove"),
        (["--sigma", "5", "--steps", "3"], "No such option"),
    ],
)
@rows("verb", ["account", "calibrate"])
def test_bad_primitives_are_refused(refused, verb, arguments, says):
    target = ["--target-epsilon", "1"] if verb == "calibrate" else []
    assert says in refused(verb, "gaussian", *arguments, "--delta", "1e-6", *target)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"--sampling-rate": "1.1"}, "sampling_rate (1.1) must be a number in [0, 1]"),
        ({"--sampling-rate": "-.1"}, "sampling_rate (-0.1) must be a number in [0, 1]"),
        ({"--sampling-rate": "nan"}, "sampling_rate (nan) must be a number in [0, 1]"),
        ({"--noise-multiplier": "0"}, "noise_multiplier (0.0) must be a number in [0.0001, 1e+12]"),
        ({"--noise-multiplier": "-1"}, "noise_multiplier (-1.0) must be a number in"),
        ({"--noise-multiplier": "inf"}, "noise_multiplier (inf) must be a number in"),
        ({"--noise-multiplier": "nan"}, "noise_multiplier (nan) must be a number in"),
        ({"--steps": "-1"}, "steps (-1) must be an integer at least 0"),
        ({"--steps": "1.5"}, "steps ('1.5') must be an integer at least 0"),
        ({"--delta": "1"}, "delta ('1') must be in [0, 1)"),
        ({"--delta": "nan"}, "delta ('nan') must be a finite number"),
        ({"--delta": "-1"}, "delta ('-1') must be in [0, 1)"),
        ({"--adjacency": "users"}, "adjacency ('users') must be one of"),
        ({"--adjacency": "rewards-only"}, "no proved guarantee for dp-sgd"),
        ({"--adjacency": "by-sensitivity"}, "no proved guarantee for dp-sgd"),
        ({"--adjacency": None}, "Missing option '--adjacency' (Neighbouring relation: add-remove, replace)"),
    ],
)
def test_bad_training_is_refused(refused, changes, says):
    usual = {
        "--sampling-rate": ".1", "--noise-multiplier": "1", "--steps": "10", "--delta": "1e-6",
        "--adjacency": "add-remove",
    }  # fmt: skip
    given = {name: value for name, value in {**usual, **changes}.items() if value is not None}
    assert says in refused("account", "dp-sgd", *(word for pair in given.items() for word in pair))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["gaussian", "--delta", "0"], "delta (0) must be above 0"),
        (["gaussian", "--compositions", "0", "--delta", ".1"], "compositions (0) must be above 0"),
        ([*TRAINING, "--steps", "0", "--delta", ".1"], "steps (0) must be above 0"),
        ([*TRAINING, "--steps", "1", "--delta", ".5"], "needs almost no noise"),
    ],
)
def test_calibrate_says_where_noise_is_not_the_answer(refused, arguments, says):
    assert says in refused("calibrate", *arguments, "--target-epsilon", "1")


@pytest.mark.parametrize(
    ("target", "says"),
    [
        (
            ("--target-epsilon", "1e-320", "--delta", "1e-320"),
            "epsilon ('1e-320') at delta ('1e-320') needs a sigma",
        ),
        (("--target-advantage", "1e-320"), "advantage 1e-320 cannot be met"),
    ],
)
def test_a_gaussian_target_out_of_reach_is_named_as_given(refused, target, says):
    assert says in refused("calibrate", "gaussian", "--sensitivity", "1", *target)


@pytest.mark.parametrize(
    "target", [("--target-epsilon", "1e-320", "--delta", "0"), ("--target-advantage", "1e-320")]
)
def test_a_target_out_of_reach_is_named_before_the_noise(refused, target):
    flag, value, *_ = target
    said = refused("calibrate", "laplace", "--sensitivity", "1", *target)
    assert f"{flag.removeprefix('--target-')} {value}" in said.partition("scale")[0]


def test_a_relation_without_a_proof_comes_before_a_missing_delta(refused):
    sizes = ("--states", "2", "--actions", "2", "--horizon", "3", "--episodes", "4")
    said = refused("calibrate", "rlsvi", *sizes, "--target-epsilon", "1", "--adjacency", "replace")
    assert "Give clip" in said
    assert "delta" not in said


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("plot.pdf", "must end in one of: .svg, .png, .html"),
        ("nowhere/plot.svg", "existing folder that can be written"),
    ],
)
def test_a_plot_is_refused_before_any_work(refused, tmp_path, file, says):
    assert says in refused("account", "gaussian", "--sigma", 1, "--delta", ".1", "--plot", tmp_path / file)


@pytest.mark.parametrize(
    ("suffix", "begins"), tiered([("svg", b"<?xml"), ("png", b"\x89PNG"), ("html", b"<!doctype")], fast=1)
)
def test_a_plot_is_one_file_the_same_every_time(run, tmp_path, suffix, begins):
    written = []
    for name in ("first", "second"):
        path = tmp_path / f"{name}.{suffix}"
        ran = run("account", "gaussian", "--sigma", 5, "--delta", "1e-6", "--plot", path, "--json")
        assert (ran.code, ran.err, ran.json["name"]) == (0, "", "gaussian")
        written.append(path.read_bytes())
    assert written[0] == written[1]
    assert written[0].startswith(begins)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"first.{suffix}", f"second.{suffix}"]


@pytest.mark.slow
def test_training_can_be_drawn(run, tmp_path):
    path = tmp_path / "training.svg"
    assert run("account", *NOISY, "--steps", 1000, "--delta", "1e-6", "--plot", path).code == 0
    text = path.read_text(encoding="utf-8")
    assert "privacy profile" in text
    assert "trade-off" in text


TOGETHER = {"batched-counts": {"episodes": 20}}
"""What some parameters must be so that others have a value at all: a release needs an episode before it."""


def some_parameters(name):
    """A value for each required parameter of a mechanism, and a relation it has a guarantee under."""
    accountant = accountant_for(name)
    required = [f for f in accountant.parameters.fields() if f.default is dataclasses.MISSING]
    chosen = {field.name: field.metadata["domain"].some() for field in required} | TOGETHER.get(name, {})
    measured = [field for field in accountant.parameters.fields() if field.name == "sensitivity"]
    chosen |= {field.name: field.metadata["domain"].some() for field in measured}
    for relation in Adjacency:
        try:
            accountant.account(accountant.parameters.read(chosen), relation)
        except UnprovedAdjacencyError:
            continue
        return chosen, relation.value
    raise AssertionError(f"{name} has no guarantee")


def as_flags(name, chosen, relation):
    given = [(f"--{key.replace('_', '-')}", value) for key, value in chosen.items()]
    return [name, *(word for pair in given for word in pair), "--adjacency", relation]


@pytest.mark.slow
@rows("name", CATALOGUE)
def test_every_mechanism_keeps_the_contract(run, name):
    ran = run("account", *as_flags(name, *some_parameters(name)), "--delta", "1e-3", "--json")
    answer = ran.json
    assert (ran.code, ran.err, answer["schema"], answer["name"]) == (0, "", 1, name)
    assert answer["epsilon"].keys() == ENDS
    assert (answer["epsilon"]["of"] == "mechanism") == (answer["epsilon"]["attained_by"] is not None)
    assert answer["verdict"] in ("PROVED", "STEPS PROVED", "PROVED GIVEN", "PROVED ON A SUBDOMAIN")
    published = answer["published"]
    assert published is None or published.keys() >= {"epsilon", "epsilon_exact", "statement", "verdict"}


@pytest.mark.parametrize("name", tiered(CATALOGUE, fast=6))
def test_every_number_of_every_mechanism_is_checked_by_name(refused, name):
    chosen, relation = some_parameters(name)
    for field in accountant_for(name).parameters.fields():
        domain = field.metadata["domain"]
        if domain.kind is bool:
            continue
        for value in ("nan", "-1", "inf", "many"):
            line = refused(
                "account", *as_flags(name, {**chosen, field.name: value}, relation), "--delta", ".1"
            )
            assert f" {field.name} (" in line
            assert f"must be {domain}" in line


@rows("name", CATALOGUE)
def test_only_what_has_users_needs_a_relation(run, name):
    share_certificates()
    flags = as_flags(name, *some_parameters(name))[:-2]
    ran = run("account", *flags, "--delta", ".1", "--json")
    if accountant_for(name).adjacency is None:
        assert (ran.code, ran.out) == (2, "")
        assert "--adjacency" in ran.err
    else:
        assert ran.json["adjacency"] == accountant_for(name).adjacency.value


ASKED = ("calibrate", "gaussian", "--compositions", "4", "--target-epsilon", "1.5", "--delta", "1e-6")


def test_every_row_is_a_calibration_of_its_own(run):
    rows = run(*ASKED, "--what-if", "--json").json["what_if"]
    assert [(row["change"], row["to"]) for row in rows] == [
        ("epsilon", 0.75),
        ("epsilon", 3.0),
        ("delta", 1e-8),
        ("delta", 1e-4),
        ("compositions", 2.0),
        ("compositions", 8.0),
    ]
    again = run(
        "calibrate", "gaussian", "--compositions", "4", "--target-epsilon", "3", "--delta", "1e-6", "--json"
    )
    assert rows[1]["noise"] == again.json["noise"]["value"]
    assert rows[5]["ratio"] == pytest.approx(2**0.5, rel=1e-9)


def test_a_goal_that_cannot_be_met_says_why():
    # Noise enough for epsilon 1e-300 is beyond double precision.
    gaussian = accountant_for("gaussian")
    meets, _ = gaussian.least_noise(
        gaussian.parameters(sigma=1.0), Adjacency.BY_SENSITIVITY, "1e-300", "1e-300"
    )
    rows = noise_for_other_targets(gaussian, meets, Adjacency.BY_SENSITIVITY, "1e-300", "1e-300")
    assert all((row.noise is None) == bool(row.why) for row in rows)


def test_without_being_asked_nothing_more_is_calibrated(run):
    assert "what_if" not in run(*ASKED, "--json").json


def test_what_is_pasted_keeps_the_promise(run, tmp_path):
    pasted = run(*ASKED, "--json").json["code"]
    names = {}
    exec(pasted["python"], names)
    assert names["result"].epsilon("1e-6").upper <= 1.5
    path = tmp_path / "claims.toml"
    path.write_text(pasted["claim"], encoding="utf-8")
    (claim,) = read_claims(path)
    assert (claim.mechanism, claim.epsilon, claim.delta) == ("gaussian", 1.5, 1e-6)
    checked = run("check", path, "--json").json["claims"]
    assert [entry["verdict"] for entry in checked] == ["kept"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    tiered(
        [
            "dp-sgd --sampling-rate .01 --steps 50 --target-epsilon 0.7 --delta 3e-7 --adjacency add-remove",
            "local-counts --states 2 --actions 2 --horizon 3 --episodes 10 --target-epsilon 2.3"
            " --delta 1/70000 --adjacency replace",
            "gaussian --compositions 3 --target-epsilon 1/3 --delta 1/70000 --adjacency by-sensitivity",
        ],
        fast=1,
    ),
)
def test_a_target_between_doubles_is_kept_as_pasted(run, tmp_path, asked):
    path = tmp_path / "claims.toml"
    path.write_text(run("calibrate", *asked.split(), "--json").json["code"]["claim"], encoding="utf-8")
    (entry,) = tomllib.loads(path.read_text(encoding="utf-8"))["claim"]
    assert str(entry["epsilon"]) in ("0.7", "2.3", "0.3333333333333333")
    checked = run("check", path, "--no-audits", "--json").json["claims"]
    assert [entry["verdict"] for entry in checked] == ["kept"]


def test_people_see_the_table_and_the_code(run, tmp_path):
    ran = run(*ASKED, "--what-if", "--plot", tmp_path / "profile.svg")
    assert "compositions 8" in ran.out
    assert "from dpproof import account" in ran.out
    assert (tmp_path / "profile.svg").read_text(encoding="utf-8").lstrip().startswith("<?xml")


@pytest.mark.parametrize("word", ["replace", "joint", "MechanismError", "inconclusive", "PROVED GIVEN"])
def test_words_of_every_kind_are_explained(run, word):
    ran = run("explain", word)
    assert (ran.code, ran.err) == (0, "")
    assert len(ran.out.split()) > 4
