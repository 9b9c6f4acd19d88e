"""``dpproof label``: safe numbers, honest words for what is not certified, and the four forms of a card."""

from __future__ import annotations

import json
import math
import random
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from decimal import Decimal

import mpmath
import pytest

from benchmarks import label_points
from dpproof import account, agent, compose
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import exact
from dpproof.labels import making
from dpproof.labels.card import Label, Standing
from dpproof.labels.making import label_of_result
from dpproof.labels.numbers import Asked, Numbers, belief_at, between, least, most
from dpproof.proofs_check.verdict import Verdict
from dpproof.report.label import FORMS, sections
from tests.rows import rows

yaml = pytest.importorskip("yaml")

FEW = Asked(("1e-5",))
MU = Bound(0.5, 0.75)


@pytest.fixture
def quick(monkeypatch):
    """Make cards without the two searches for mu, which take seconds and have tests of their own."""
    for kind in (Profile, GaussianDP):
        monkeypatch.setattr(kind, "gaussian_but_for", lambda *_: MU)
    monkeypatch.setattr("dpproof.labels.numbers.regret", lambda *_: Bound(0.0, 0.001))


@pytest.fixture
def saved(tmp_path):
    """Write a file and return its path."""

    def _saved(name, text):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return _saved


def test_texts_are_rounded_to_the_safe_side():
    draw = random.Random(1)
    for _ in range(3000):
        value = math.ldexp(draw.random(), draw.randint(-40, 8))
        assert Decimal(least(value)) <= Decimal(value) <= Decimal(most(value))
        low, high = sorted((value, value * draw.uniform(1, 1 + 10 ** -draw.uniform(1, 12))))
        words = between(Bound(low, high)).split(" to ")
        assert Decimal(words[0]) <= Decimal(high)
        assert Decimal(words[-1]) >= Decimal(high)
        assert len(words) == 1 or Decimal(words[0]) <= Decimal(low)


def test_a_belief_is_rounded_up():
    draw = random.Random(2)
    for loss in (0.0, 1e-300, 800.0, *(draw.expovariate(0.2) for _ in range(500))):
        with mpmath.workdps(60):
            assert mpmath.mpf(belief_at(loss)) >= 1 / (1 + mpmath.exp(-mpmath.mpf(loss)))
    assert belief_at(1.0) == pytest.approx(0.7310585786300049, rel=1e-15)
    assert belief_at(61.698) <= 1


def shown(label):
    """The first and the last number of each row of figures."""
    found = {}
    for row in label.figures():
        numbers = re.findall(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", row.value)
        found[row.name] = (Decimal(numbers[0]), Decimal(numbers[-1]))
    return found


def test_the_card_of_a_gaussian_is_never_more_optimistic_than_the_truth(quick):
    result = account("gaussian", sigma="1.25", sensitivity=1, adjacency="add-remove", unit="patient")
    label = label_of_result(result, "a file", Asked())
    figures = {name: [mpmath.mpf(str(end)) for end in ends] for name, ends in shown(label).items()}
    mu = mpmath.mpf("0.8")
    for delta in ("1e-5", "1e-7", "1e-9"):
        low, high = figures[f"epsilon at delta {delta}"]
        assert profile(mu, high) <= mpmath.mpf(delta) < profile(mu, low)
        assert high - low < mpmath.mpf("1e-4")
    assert (
        figures["advantage of an attack"][1] >= profile(mu, 0) > figures["advantage of an attack"][1] - 1e-4
    )
    for rate in ("0.01", "0.001"):
        true = mpmath.ncdf(mu - mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * mpmath.mpf(rate)))
        assert figures[f"TPR at FPR {rate}"][1] >= true > figures[f"TPR at FPR {rate}"][1] * 0.999
    belief = figures["belief, beta 1e-5"][1]
    loss = mpmath.log(belief / (1 - belief))
    assert mpmath.ncdf((mu * mu / 2 - loss) / mu) <= mpmath.mpf("1e-5")
    assert "worst" not in FORMS[".txt"](label)


def profile(mu, e):
    return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)


def test_only_pure_privacy_has_an_epsilon_for_every_output(quick):
    pure = label_of_result(account("laplace", scale=2, sensitivity=1, adjacency="replace"), "", FEW)
    assert shown(pure)["epsilon at delta 0"] == (Decimal("0.5"), Decimal("0.5"))
    approximate = label_of_result(account("gaussian", sigma=2), "", FEW)
    assert "epsilon at delta 0" not in shown(approximate)


def test_conditions_and_assumptions_make_a_card_conditional(quick):
    label = label_of_result(account("gaussian", sigma=2), "", FEW)
    assert (label.standing, label.standing.exit_code) == (Standing.CONDITIONAL, 0)
    told = " ".join(label.conditions)
    assert "PROVED GIVEN" in told
    assert "in real arithmetic" in told
    assert "Underspecified: the neighbouring relation is not stated" in told
    open_ones = {row.name for row in label.hazards if row.value == "open"}
    assert open_ones >= {
        "unit of privacy",
        "neighbouring relation",
        "sensitivity",
        "floating-point arithmetic",
    }


@rows(
    ("verdict", "standing"),
    (
        (Verdict.OPEN, Standing.UNPROVED),
        (Verdict.REFUTED, Standing.UNPROVED),
        (Verdict.PROVED, Standing.CONDITIONAL),
    ),
)
def test_the_word_follows_the_verdict(verdict, standing, quick, monkeypatch):
    real = making.results

    def other(*ids):
        return {name: replace(found, verdict=verdict) for name, found in real(*ids).items()}

    monkeypatch.setattr(making, "results", other)
    label = label_of_result(account("gaussian", sigma=2, sensitivity=1, adjacency="replace"), "", FEW)
    assert label.standing is standing
    assert verdict is Verdict.PROVED or "No number on this card is" in FORMS[".txt"](label)


@rows(("sigma", "little"), (("0.3", True), ("0.31", False)))
def test_every_form_warns_of_numbers_that_rule_out_almost_nothing(sigma, little, quick):
    """The advantage of a Gaussian is 2 Phi(1 / (2 sigma)) - 1: 0.904 and 0.894."""
    label = label_of_result(account("gaussian", sigma=sigma, sensitivity=1, adjacency="replace"), "", FEW)
    lines = "</text>", '<text class="note" x="18" y="">'
    for ending, form in FORMS.items():
        words = " ".join(re.sub(r'y="[\d.]+"', 'y=""', form(label)).replace("".join(lines), " ").split())
        assert ("an observer may tell the two datasets apart in nearly every case." in words) is little, (
            ending
        )


CLAIMS = """
[[claim]]
name = "kept"
mechanism = "gaussian"
parameters = { sigma = 5.0, sensitivity = 1.0 }
adjacency = "replace"
epsilon = 2.0
delta = 1e-6

[[claim]]
name = "refuted"
mechanism = "gaussian"
parameters = { sigma = 1.0, sensitivity = 1.0 }
adjacency = "replace"
epsilon = 1.0
delta = 1e-6

[[claim]]
name = "elsewhere"
mechanism = "gaussian"
parameters = { sigma = 5.0, sensitivity = 1.0 }
adjacency = "replace"
trust = "local"
epsilon = 2.0
delta = 1e-6

[[claim]]
name = "only promised"
mechanism = "releases:count"
neighbours = "releases:pairs"
adjacency = "add-remove"
epsilon = 1.0
"""


@rows(
    ("name", "code", "word", "promise"),
    (
        ("kept", 0, "CERTIFIED ON CONDITIONS.", "implies it"),
        ("refuted", 1, "PROMISE REFUTED.", "It is refuted"),
        ("elsewhere", 3, "PROMISE NOT CERTIFIED.", "It is not certified"),
        ("only promised", 3, "CLAIMED, NOT CERTIFIED.", "It is not certified"),
    ),
)
def test_a_claim_gets_the_word_that_it_deserves(name, code, word, promise, run, saved, quick):
    ran = run("label", saved("claims.toml", CLAIMS), "--claim", name, "--delta", "1e-5")
    assert (ran.code, ran.err) == (code, "")
    head = ran.out.splitlines()
    assert head[0].startswith(f"Privacy label: {name}: ")
    assert head[1].startswith(word)
    assert promise in ran.out


def test_a_file_with_several_claims_needs_the_name_of_one(refused, saved):
    told = refused("label", saved("claims.toml", CLAIMS))
    assert "has 4 claims. Choose one with --claim: kept, refuted" in told
    assert "must" in refused("label", saved("claims.toml", CLAIMS), "--claim", "kep")


def test_an_answer_in_json_is_computed_again(run, saved, quick):
    asked = (
        "gaussian",
        "--sigma",
        2,
        "--sensitivity",
        "0.7",
        "--adjacency",
        "replace",
        "--delta",
        "1e-6",
        "--json",
    )
    answer = run("account", *asked).json
    ran = run("label", saved("answer.json", json.dumps(answer)), "--json", "--delta", "1e-6")
    epsilon = ran.json["numbers"]["epsilon"]["1e-6"]
    assert epsilon == {end: answer["epsilon"][end] for end in ("lower", "upper")}
    assert not any("Computed again" in text for text in ran.json["conditions"])
    answer["epsilon"]["upper"] = 1.5
    ran = run("label", saved("answer.json", json.dumps(answer)), "--json")
    assert any(
        "The file states at most 1.5 at 1e-06. Computed again, it is 1.5267" in text
        for text in ran.json["conditions"]
    )


def test_the_text_of_a_composition_is_computed_again(run, saved, quick):
    both = compose(
        account("gaussian", sigma=3, sensitivity=1, adjacency="replace", unit="patient"),
        account("gaussian", sigma=4, sensitivity=1, adjacency="replace", unit="patient"),
    )
    ran = run("label", saved("both.json", both.to_json()), "--json")
    assert ran.code == 0
    assert ran.json["facts"]["unit"] == "one patient"
    lower, upper = (exact(ran.json["numbers"]["epsilon"]["1e-5"][end]) for end in ("lower", "upper"))
    assert lower <= exact(GaussianDP("0.4166666666666667").epsilon("1e-5").upper) + exact("1e-9")
    assert upper >= exact(GaussianDP("0.4166666666666666").epsilon("1e-5").lower)


def test_a_simulated_answer_is_never_certified(run, saved):
    asked = ("--steps", 8, "--separation", 2, "--noise-multiplier", 2, "--adjacency", "add-remove")
    body = run("simulate", *asked, "--delta", "1e-3", "--samples", 16384, "--seed", 5, "--json").json
    ran = run("label", saved("simulated.json", json.dumps(body)))
    assert ran.code == 3
    assert ran.out.splitlines()[1].startswith("SIMULATED, NOT CERTIFIED.")
    assert "confidence 1 - 1e-9" in " ".join(ran.out.split())


@rows(("content", "told"), (("[1]", "no object of JSON"), ('{"name": "gaussian"}', "KeyError"), ("{", "")))
def test_other_json_is_refused(content, told, refused, saved):
    assert told in refused("label", saved("other.json", content))


@rows(
    ("file", "arguments", "told"),
    (
        ("a.json", ("--out", "card.pdf"), "must end in one of: .txt, .html, .svg, .yaml"),
        ("a.json", ("--kappa", "0"), "kappa ('0') must be"),
        ("a.json", ("--delta", "1"), "delta ('1') must be in [0, 1)"),
        ("a.json", ("--claim", "x"), "can be given only for a claim file"),
        ("a.xml", (), "must end in one of: .toml, .json, .npz"),
    ),
)
def test_bad_input_is_named(file, arguments, told, refused, saved):
    assert told in refused("label", saved(file, "{}"), *arguments)


def test_all_forms_show_the_same_rows_and_escape_text(quick):
    result = account("gaussian", sigma=2, sensitivity=1, adjacency="replace", unit="<b>&patient")
    label = label_of_result(result, "a <file>", FEW)
    drawing = ET.fromstring(FORMS[".svg"](label))
    words = " ".join("".join(node.itertext()) for node in drawing.iter("{http://www.w3.org/2000/svg}text"))
    page, text, data = FORMS[".html"](label), FORMS[".txt"](label), yaml.safe_load(FORMS[".yaml"](label))
    assert "<b>" not in page
    assert data["facts"]["unit"] == "one <b>&patient"
    for heading, held in sections(label):
        assert heading in page
        for row in held:
            assert row.name in words
            assert row.value in text.replace("\n    ", " ")
    assert data["numbers"]["epsilon"]["1e-5"]["upper"] == result.epsilon("1e-5").upper
    assert data["numbers"]["gaussian"]["mu"] == {"lower": 0.5, "upper": 0.75}


def test_control_characters_of_a_file_reach_no_form():
    card = Label("red \x1b[31m\x00", "y", Standing.CLAIMED)
    assert all("\x1b" not in form(card) and "\x00" not in form(card) for form in FORMS.values())
    assert all(
        "red \N{REPLACEMENT CHARACTER}[31m" in FORMS[ending](card) for ending in (".txt", ".html", ".svg")
    )


def test_no_line_of_the_drawing_leaves_the_card(quick):
    """A letter is at most 0.62 of the size of the font wide on average, in the widest of the fonts that are named."""
    label = label_of_result(account("gaussian", sigma=2), "", FEW)
    drawing = ET.fromstring(FORMS[".svg"](label))
    lengths = {}
    for node in drawing.iter("{http://www.w3.org/2000/svg}text"):
        lengths.setdefault((node.get("class") != "note", node.get("y")), []).append(len(node.text))
    assert max(sum(found) for (_, _), found in lengths.items()) <= 60


def test_an_infinite_number_is_shown_as_such():
    infinite = Bound(1.0, math.inf)
    numbers = Numbers(FEW, {"1e-5": infinite}, {}, infinite, None, Bound(0.1, 0.2), {}, math.inf, None)
    card = Label("x", "y", Standing.CLAIMED, numbers=numbers)
    assert yaml.safe_load(FORMS[".yaml"](card))["numbers"]["epsilon"]["1e-5"]["upper"] == "inf"
    assert "no finite number (at least 1)" in FORMS[".txt"](card)


@pytest.mark.filterwarnings("ignore::dpproof.mechanisms.agents.making.SwampedWarning")
def test_a_passport_says_whether_a_guarantee_holds(run, tmp_path, quick):
    given = {
        "observations": 2, "actions": 2, "episodes": 40, "horizon": 2, "epsilon": 20, "delta": "1e-5",
        "adjacency": "replace", "reward_range": (0, 1), "support": lambda s, a: [0, 1, "end"],
    }  # fmt: skip
    for name, seed in (("real.npz", None), ("simulation.npz", 1)):
        agent("private-ucb-vi", **given, seed=seed).save(tmp_path / name)
    real = run("label", tmp_path / "real.npz", "--json")
    assert real.code == 0
    assert real.json["facts"]["unit"] == "one user (one episode)"
    assert real.json["promise"] == "epsilon 20 at delta 1e-5 was asked for."
    assert any("Not checked: who wrote the file" in text for text in real.json["conditions"])
    simulation = run("label", tmp_path / "simulation.npz")
    assert simulation.code == 1
    assert simulation.out.splitlines()[1].startswith("NO GUARANTEE.")
    assert "epsilon" not in simulation.out
    (tmp_path / "broken.npz").write_bytes(b"nothing")
    broken = run("label", tmp_path / "broken.npz")
    assert (broken.code, broken.out.splitlines()[1].split(".")[0]) == (1, "REFUSED")


def test_the_check_at_random_points_finds_a_number_that_is_rounded_to_the_nearest(monkeypatch):
    """Control of benchmarks/label_points.py: 300 points, a fixed seed."""
    assert label_points.measured("advantage", 300, 24)[1] == 0
    monkeypatch.setattr(label_points, "most", lambda value: f"{value:.3g}")
    assert label_points.measured("advantage", 300, 24)[1] > 100
