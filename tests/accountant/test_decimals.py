"""Decimals that were typed mean the rationals that they write.

References: closed forms at those rationals by Arb and mpmath at high precision, independent of the
accountants; the doubles around a decimal, between which the exact mechanism lies.
"""

import json
import pickle
from dataclasses import replace
from fractions import Fraction

import flint
import mpmath
import pytest
import sympy
from click.testing import CliRunner

from dpproof.accountant.catalogue import CATALOGUE, accountant_for
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.decimals import sides
from dpproof.accountant.claims.parameters import Domain
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.numbers.enclosures import Written, exact, typed
from dpproof.accountant.numbers.inversion import neighbours_of
from dpproof.cli import app
from tests.rows import tiered

CHANGES = {
    "laplace": {"compositions": 2},
    "binomial": {"probability": 0.3},
    "laplace-tree": {"leaves": 4},
    "smooth-cauchy": {"smoothing": 0.5},
    "central-counts": {"printed_epsilon": 3.0},
    "local-counts": {"scale": 3.0, "printed_epsilon": None},
    "policy-evaluation": {"dimension": 4, "noise": 9.0, "beta": 0.01},
    "selective-dpsgd": {"steps": 9},
    "tuned-dp-sgd": {"steps": 1},
    "private-selection": {"base_delta": 1e-4},
    "thompson": {"variance": 1.0},
    "rlsvi": {"beta_scale": 2.0},
}
PARAMETERS = {
    name: replace(accountant_for(name).example, **CHANGES.get(name, {})).as_json()
    for name in CATALOGUE
    if name not in ("shuffled-count", "shuffled-batch", "expert-release")
}


@pytest.fixture(autouse=True)
def _sixty_digits():
    with mpmath.workdps(60):
        yield


def run(*words):
    """Exit code and output of the command line."""
    done = CliRunner().invoke(app, list(words))
    return done.exit_code, done.output


def gaussian_delta(sensitivity, sigma, epsilon):
    """The profile of one Gaussian, in mpmath."""
    mu, e = mpmath.mpf(sensitivity) / mpmath.mpf(sigma), mpmath.mpf(epsilon)
    return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)


def asked(*words):
    """The answer of the command line, as JSON."""
    code, text = run(*words, "--json")
    assert code == 0, text
    return json.loads(text)


def holds(found, true):
    """Whether an answer encloses a number, compared exactly."""
    return mpmath.mpf(found["lower"]) <= true <= mpmath.mpf(found["upper"])


@pytest.mark.parametrize("sigma", ["0.1", "0.3", "7.7", "0.123456789012345678901"])
def test_a_typed_deviation_is_that_decimal(sigma):
    """The loss at sigma 0.1 is steep: the double's answer differs from the decimal's by many ulps."""
    found = asked("account", "gaussian", "--sigma", sigma, "--epsilon", "1.1")
    assert holds(found["delta"], gaussian_delta(1, sigma, "1.1"))
    assert found["parameters"]["sigma"] == float(sigma)


def test_an_answer_at_the_double_alone_would_be_wrong_for_the_decimal():
    """The double 0.07 is above 7/100, so that its loss 1/0.07 is below 100/7 by more than an ulp."""
    found = asked("account", "laplace", "--scale", "0.07", "--delta", "0")["epsilon"]
    assert Fraction(found["lower"]) <= Fraction(100, 7) <= Fraction(found["upper"])
    alone = accountant_for("laplace").account(accountant_for("laplace").parameters(0.07))
    assert Fraction(alone.guarantee.epsilon(0).upper) < Fraction(100, 7)


def test_a_typed_sensitivity_is_shown_as_typed_and_calibrated_for():
    words = ("gaussian", "--sensitivity", "0.1", "--adjacency", "replace")
    found = asked("account", *words, "--sigma", "0.7", "--epsilon", "0.5")
    assert found["sensitivity"]["exact"] == "1/10"
    assert holds(found["delta"], gaussian_delta("0.1", "0.7", "0.5"))
    found = asked("calibrate", *words, "--target-epsilon", "0.5", "--delta", "1e-6")
    sigma, less = found["noise"]["value"], found["minimal"]["value_below"]
    assert found["parameters"]["sensitivity"] == 0.1
    assert gaussian_delta("0.1", sigma, "0.5") <= mpmath.mpf("1e-6") < gaussian_delta("0.1", less, "0.5")


@pytest.mark.slow
def test_pure_losses_of_decimals_by_fractions():
    for scale, sensitivity in (("0.1", "0.3"), ("0.7", "1.1"), ("1e-2", "0.7")):
        for name, times in (("laplace", 1), ("exponential", 2)):
            true = times * Fraction(sensitivity) / Fraction(scale)
            words = ("--scale", scale, "--sensitivity", sensitivity, "--delta", "0")
            found = asked("account", name, *words)["epsilon"]
            assert Fraction(found["lower"]) <= true <= Fraction(found["upper"])


def test_a_sampled_gaussian_of_decimals_by_arb():
    """One step of DP-SGD against its own closed form, at the rationals, for a user who leaves."""
    rate, sigma, epsilon = Fraction("0.01"), Fraction("1.1"), Fraction("0.1")
    with flint.ctx.workprec(300):
        q, s, e = (flint.arb(x.numerator) / x.denominator for x in (rate, sigma, epsilon))
        x = s * s * (((e.exp() - 1) / q) + 1).log() + flint.arb(1) / 2
        root = flint.arb(2).sqrt() * s
        without, moved = ((x / root).erfc() / 2, ((x - 1) / root).erfc() / 2)
        true = (1 - q) * without + q * moved - e.exp() * without
    words = ("--sampling-rate", "0.01", "--noise-multiplier", "1.1", "--steps", "1", "--epsilon", "0.1")
    found = asked("account", "dp-sgd", *words, "--adjacency", "add-remove")["delta"]
    assert bool(flint.arb(found["lower"]) <= true <= flint.arb(found["upper"]))
    assert found["upper"] - found["lower"] < 1e-9 * found["upper"]


def texts(parameters):
    """The parameters with each number moved to a decimal next to it that is no double."""
    typed_ones = {}
    for field in parameters.fields():
        value, domain = getattr(parameters, field.name), field.metadata["domain"]
        if isinstance(value, float) and isinstance(domain, Domain):
            text = f"{value * 0.99:.4g}1" if value else "0.01"
            typed_ones[field.name] = typed(text)
    return replace(parameters, **typed_ones)


@pytest.mark.parametrize("name", tiered(PARAMETERS, fast=3))
def test_every_accountant_answers_between_the_doubles_around_and_names_what_it_rounds(name):
    accountant = accountant_for(name)
    parameters = texts(accountant.parameters.read(PARAMETERS[name]))
    more, less, notes = sides(parameters)
    for relation in Adjacency:
        try:
            found = accountant.account(parameters, relation)
        except (UnprovedAdjacencyError, ValueError):
            continue
        assert all(note in found.notes for note in notes)
        ends = [accountant.account(each, relation).guarantee.delta("0.7") for each in (more, less)]
        bound = found.guarantee.delta("0.7")
        assert bound.lower <= ends[0].lower <= ends[1].upper <= bound.upper
        assert bound.upper <= ends[1].upper * (1 + 1e-12)
    for field in parameters.fields():
        value = getattr(parameters, field.name)
        if isinstance(value, Written):
            rounded = any(field.name in note for note in notes)
            kept = [exact(getattr(each, field.name)) for each in (more, less)]
            around = {Fraction(end) for end in neighbours_of(value.rational)}
            assert rounded or set(kept) in (around, {value.rational})


def test_more_noise_is_less_noise_and_some_added():
    """Quotients of characteristic functions (docs/notes/typed_decimals.md), as identities of polynomials."""
    t, b, wide, p, more, cosine = sympy.symbols("t b wide p more cosine", positive=True)
    x = (b / wide) ** 2
    laplace = (x + (1 - x) / (1 + wide**2 * t**2)) / (1 + b**2 * t**2) - 1 / (1 + wide**2 * t**2)
    assert sympy.simplify(laplace) == 0
    narrow, broad = (1 - 2 * each * cosine + each**2 for each in (p, more))
    geometric = narrow / broad - (p / more + (1 - p / more) * (1 - p * more) / broad)
    assert sympy.simplify(geometric) == 0


DIRECTED = [
    pytest.param(
        name,
        field.name,
        field.metadata["safer"],
        id=f"{name} {field.name}",
        marks=[pytest.mark.slow] * (name == "smooth-log-normal"),
    )
    for name in PARAMETERS
    for field in accountant_for(name).parameters.fields()
    if field.metadata["safer"] in (1, -1)
]


WIDE = ("shuffled-sgd", "private-selection", "tuned-dp-sgd", ("allocated-sgd", "column_norm"))
"""The lower ends of these are far below the upper ends, or 0. Their upper ends are compared with each other."""


@pytest.mark.parametrize(("name", "field", "safer"), tiered(DIRECTED, fast=5))
def test_a_parameter_moves_privacy_in_the_direction_that_is_stated(name, field, safer):
    """The other direction is contradicted, too: where both answers were wide, nothing would be seen."""
    accountant = accountant_for(name)
    wide = name in WIDE or (name, field) in WIDE
    given = dict(PARAMETERS[name])
    if name in ("central-counts", "local-counts") and field in ("scale", "printed_epsilon"):
        given = {key: number for key, number in given.items() if key not in ("scale", "printed_epsilon")}
        given[field] = 3.0
    if (name, field) == ("allocated-sgd", "column_norm"):
        given |= {"fresh": False, "bands": 2}  # without bands the norm has no effect
    parameters = accountant.parameters.read(given)
    value = getattr(parameters, field)
    value = 1.0 if value is None else value
    low, high = (replace(parameters, **{field: value * factor}) for factor in (0.75, 0.9))
    more, less = (high, low) if safer > 0 else (low, high)
    seen, known_pairs = 0, []
    for relation in Adjacency:
        try:
            private, other = (accountant.account(each, relation).guarantee for each in (more, less))
        except (UnprovedAdjacencyError, ValueError):
            continue
        if (private, other) in known_pairs:  # the same guarantees under another relation
            continue
        known_pairs.append((private, other))
        for epsilon in ("0.001", "0.7"):
            assert private.delta(epsilon).lower <= other.delta(epsilon).upper
            known = other.delta(epsilon).upper if wide else other.delta(epsilon).lower
            seen += private.delta(epsilon).upper < known
    assert seen


def test_a_decimal_without_a_known_direction_is_rounded_and_the_answer_says_so():
    words = ("smooth-student", "--noise", "4", "--smoothing", "0", "--degrees", "3.3", "--delta", "0")
    (note,) = [note for note in asked("account", *words)["notes"] if "nearest" in note]
    assert note == f"degrees is taken to be the double nearest to 3.3: {Fraction(3.3)}"


@pytest.mark.parametrize(("target", "delta"), [("1", "1e-6"), ("0.3", "1e-9"), ("7.7", "0.01")])
@pytest.mark.parametrize("name", ["gaussian", "laplace", "thompson"])
def test_what_calibration_prints_keeps_the_target_when_it_is_typed(name, target, delta):
    own = ("--arms", "2", "--rounds", "9", "--adjacency", "rewards-only") if name == "thompson" else ()
    found = asked("calibrate", name, *own, "--target-epsilon", target, "--delta", delta)
    flag, value = f"--{found['noise']['name']}", repr(found["noise"]["value"])
    again = asked("account", name, *own, flag, value, "--delta", delta)["epsilon"]
    assert Fraction(again["upper"]) <= Fraction(target)
    below = asked("account", name, *own, flag, repr(found["minimal"]["value_below"]), "--delta", delta)
    assert Fraction(target) < Fraction(below["epsilon"]["lower"])


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(
            "calibrate selective-dpsgd --sampling-rate .1 --branch-probability .3 --steps 1 "
            "--adjacency expert",
            marks=pytest.mark.slow,
        ),
        "calibrate policy-evaluation --dimension 4 --beta 0.01 --adjacency replace",
        "calibrate tree --leaves 8 --sensitivity 0.3 --adjacency add-remove",
    ],
)
def test_what_papers_print_stands_beside_typed_decimals(words):
    found = asked(*words.split(), "--target-epsilon", "1.1", "--delta", "1e-4")
    assert (
        Fraction(found["epsilon"]["upper"]) <= Fraction("1.1") < Fraction(found["minimal"]["epsilon_lower"])
    )


def test_two_gaussian_guarantees_stay_one():
    accountant = accountant_for("gaussian")
    found = accountant.account(accountant.parameters(Written("0.3"))).guarantee
    assert isinstance(found, GaussianDP)
    assert exact(found.mu.lower) < 1 / Fraction("0.3") < exact(found.mu.upper)


def test_what_was_typed_survives_copies_and_is_a_double_where_it_is_one():
    assert type(typed("0.5")) is float
    again = pickle.loads(pickle.dumps(typed("0.1")))
    assert exact(again) == Fraction(1, 10)
    assert json.dumps(again) == "0.1"
    for text in ("inf", "nan"):
        assert type(typed(text)) is float
    with pytest.raises(ValueError, match="could not convert"):
        typed("1/3")


def test_the_least_delta_is_the_decimal_and_a_smaller_one_gets_a_reason():
    words = ("account", "laplace", "--scale", "2", "--compositions", "3", "--delta")
    assert run(*words, "1e-300")[0] == 0
    with pytest.raises(ValueError, match=r"must be 0 or at least 1e-300\. Double precision"):
        CliRunner().invoke(app, [*words, "1e-310"], catch_exceptions=False)


def test_a_decimal_at_an_end_of_what_is_answered_is_answered_and_an_error_names_what_was_typed():
    words = ("account", "dp-sgd", "--sampling-rate", "0.5", "--steps", "1", "--adjacency", "add-remove")
    code, said = run(*words, "--noise-multiplier", "0.0001", "--delta", "1e-6")
    assert code == 0
    assert "noise_multiplier is taken to be the double nearest to 0.0001" in json.dumps(said)
    with pytest.raises(ValueError, match=r"noise_multiplier \(1e-05\)"):
        CliRunner().invoke(
            app, [*words, "--noise-multiplier", "0.00001", "--delta", "0"], catch_exceptions=False
        )


def test_a_claim_file_means_its_decimals(tmp_path):
    """Scale 0.07 has loss 100/7, above what the double has: a promise between the two is not certified."""
    double = accountant_for("laplace").account(accountant_for("laplace").parameters(0.07))
    between = repr(double.guarantee.epsilon(0).upper)
    for promised, code in ((between, 3), ("14.2857142857142900", 0)):
        path = tmp_path / "claims.toml"
        lines = (
            'name = "sums"',
            'mechanism = "laplace"',
            'adjacency = "by-sensitivity"',
            "[claim.parameters]",
        )
        text = "\n".join(("[[claim]]", f"epsilon = {promised}", *lines, "scale = 0.07"))
        path.write_text(text, encoding="utf-8")
        done = CliRunner().invoke(app, ["check", str(path), "--no-audits", "--json"])
        assert done.exit_code == code, done.output
