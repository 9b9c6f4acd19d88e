"""``dpproof check deployments``: the bundled facts, the recomputations against other routes, the words, the records."""

from __future__ import annotations

import functools
import json
import re
from fractions import Fraction

import dp_accounting
import mpmath
import pytest
from click.testing import CliRunner
from dp_accounting.rdp import RdpAccountant

from benchmarks.deployments_recheck import DRAWN, fixed_order, rechecks
from benchmarks.deployments_recheck import Training as OtherTraining
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import Claim
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.numbers.enclosures import exact
from dpproof.cli import app
from dpproof.deployments.comparing import Word, _decimal, compare, compare_all, fairness
from dpproof.deployments.records import bundled, census, read_rows
from dpproof.deployments.registry import problems, read_registry, record_of
from dpproof.deployments.renyi import _ORDERS, Training
from tests.rows import rows

ROWS = {row.id: row for row in bundled()}


@functools.cache
def compared(name):
    return compare(ROWS[name])


def canonne_kamath_steinke(rho, delta):
    """The epsilon of rho-zCDP, minimised over the order by mpmath."""

    def epsilon(order):
        return order * rho - (mpmath.log(delta) + mpmath.log(order)) / (order - 1) + mpmath.log1p(-1 / order)

    start = 1 + mpmath.sqrt(-mpmath.log(delta) / rho)
    order = mpmath.findroot(lambda a: mpmath.diff(epsilon, a), start)
    return epsilon(order)


def bun_steinke(rho, delta):
    return rho + 2 * mpmath.sqrt(-rho * mpmath.log(delta))


def test_every_record_of_the_registry_has_a_row_and_every_row_a_source():
    assert len({row.record for row in ROWS.values() if row.record}) == 41
    assert sum(not row.record for row in ROWS.values()) >= 30
    assert len(ROWS) == len(bundled())
    assert all(row.source and row.name and row.curator for row in ROWS.values())
    assert all(row.recompute or row.missing for row in ROWS.values())
    assert all(row.relation or "relation" in str(row.missing) for row in ROWS.values() if row.recompute)


@rows(
    ("table", "total", "queries"),
    (
        ("pl94_persons", Fraction(542, 339) ** 2, 65),
        ("dhc_persons", Fraction("4.9622"), 80),
        ("dhc_units", Fraction("7.7005"), 65),
        ("ddhc_a", Fraction("4.944"), 11),
        ("ddhc_b", Fraction("8.895302"), 22),
        ("s_dhc", Fraction("1.257281"), 46),
    ),
)
def test_the_budgets_of_a_census_product_add_up(table, total, queries):
    found = census(table)
    assert (sum(found), len(found)) == (total, queries)


@pytest.mark.slow
@rows(
    ("name", "formula", "rho", "delta"),
    (
        ("census-pl94-persons", canonne_kamath_steinke, Fraction(542, 339) ** 2, "1e-10"),
        ("census-dhc-persons", bun_steinke, Fraction("4.9622"), "1e-10"),
        ("google-gboard-spanish", canonne_kamath_steinke, Fraction("0.81"), "1e-10"),
        ("wikimedia-pageviews", bun_steinke, Fraction("0.015"), "1e-7"),
    ),
)
def test_the_reading_of_a_budget_agrees_with_its_formula(name, formula, rho, delta):
    reading = compared(name).reading
    with mpmath.workdps(30):
        expected = formula(mpmath.mpf(rho.numerator) / rho.denominator, mpmath.mpf(delta))
    assert float(reading.ends[0]) <= expected * (1 + 1e-9)
    assert float(reading.ends[1]) >= expected * (1 - 1e-9)
    assert abs(float(reading.ends[1]) - expected) < 1e-5


@pytest.mark.slow
def test_the_exact_queries_of_the_redistricting_data_are_below_their_budget():
    found = compared("census-pl94-persons").found
    low, high = map(float, found.best)
    assert 16.461 < low <= high < 16.46516  # the Gaussian of the same budget has 16.465155
    assert [round(float(one.ends[1]), 4) for one in found.plain] == [17.1436, 17.9002]


@rows(
    ("name", "verdict"),
    (
        ("census-pl94-units", "conditional (on a rho near 0.07468, printed as 0.07)"),
        ("census-ddhc-a", "conditional (on the settings protecting an added or removed record, and a replaced record"
         " counting four times)"),
        ("google-mobility", "reproduced"),
        ("google-symptoms", "conditional (on the total counts, by which the others are divided, being released twice)"),
        ("google-gboard-spanish", "rounded down by 0.0222"),
        ("recurve-paper", "inconsistent (3.88 below what the stated parameters give)"),
        ("korea-datahub", "underspecified (epsilon, the mechanism, the unit)"),
        ("opacus-mnist-15", "reproduced"),
        ("opacus-cifar-20", "conditional (on batches drawn at random; the line is from a version that read the data"
         " in a fixed order)"),
        ("jax-cifar10", "loose by 0.185"),
    ),
)  # fmt: skip
def test_the_word_of_a_row(name, verdict):
    assert compared(name).verdict == verdict


@rows("name", ("google-mobility", "wikimedia-russian-editors", "israel-births"))
@pytest.mark.parametrize("digits", [3, -3])
def test_a_published_number_that_is_off_is_not_reproduced(name, digits):
    printed = ROWS[name].published["epsilon"]
    places = len(printed.partition(".")[2])
    moved = f"{float(printed) + digits * 10**-places:.{places}f}"
    text = _table(ROWS[name], moved)
    assert compare(read_rows(text)[0]).word not in (Word.REPRODUCED, Word.ROUNDED_DOWN)


def _table(row, epsilon):
    recomputed = json.dumps(row.recompute).replace('": ', '" = ')
    delta = f', delta = "{row.published["delta"]}"' if "delta" in row.published else ""
    rho = f', rho = "{row.published["rho"]}"' if "rho" in row.published else ""
    return (
        f'[[row]]\nid = "a"\nname = "b"\nrelation = "add-remove"\nsource = "c"\n'
        f'published = {{ epsilon = "{epsilon}"{delta}{rho} }}\nrecompute = {recomputed}\n'
    )


@rows(
    ("library", "conversion"),
    tuple((library, "the conversion of Canonne, Kamath and Steinke") for library in _ORDERS),
)
def test_the_accounting_of_libraries_agrees_with_another_program(library, conversion):
    orders = [float(order) for order in _ORDERS[library]]
    event = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.1))
    accountant = RdpAccountant(orders).compose(event, 1000)
    assert Training(0.01, 1.1).epsilon(1000, library, conversion, "1e-5") == pytest.approx(
        accountant.get_epsilon(1e-5), rel=1e-6
    )


@pytest.mark.slow
def test_ten_rows_drawn_at_random_agree_with_a_recomputation_by_other_tools():
    for one in rechecks():
        low, high = one.certified
        assert low * (1 - 1e-9) <= one.tight <= high * 1.002, one
        assert one.procedure == pytest.approx(one.reading, rel=1e-8), one
    square = Fraction(20) / exact(str(DRAWN["opacus-cifar-20"].noise)) ** 2
    assert GaussianDP.of_square(square).epsilon("1e-5").upper == pytest.approx(fixed_order(20), rel=1e-9)
    another = OtherTraining(Fraction(1, 300), 1.0, 1501)
    assert another.as_published() != pytest.approx(DRAWN["opacus-ddp-5"].as_published(), rel=1e-8)


@pytest.mark.slow
def test_all_rows_have_fair_words():
    found = [compared(name) for name in ROWS]
    assert len({one.word for one in found}) == len(Word)
    for one in found:
        said = fairness(one)
        assert not re.search(r"\b(wrong|false|error)\b", said), one.row.id
        assert (one.found.best is None) == (one.word is Word.UNDERSPECIFIED)
        if one.word in (Word.INCONSISTENT, Word.UNDERSPECIFIED) or "census" in one.row.id:
            assert "To ask: " in said
        if one.word in (Word.REPRODUCED, Word.ROUNDED_DOWN, Word.CONDITIONAL):
            assert "The most charitable reading" in said


def test_a_row_is_a_claim_where_its_relation_and_its_number_are_stated():
    claim = ROWS["google-gboard-spanish"].claim
    assert (claim.adjacency, claim.promise) == (Adjacency.ADD_REMOVE, {"epsilon": 8.9, "delta": 1e-10})
    assert ROWS["census-s-dhc"].claim.promise == {"rho": 2.515}
    assert ROWS["korea-datahub"].claim is None


@rows(
    ("text", "said"),
    (
        ('[[row]]\nid = "a"\nname = "b"\npublished = {}\nsigma = 1\n', "a: unknown keys: sigma"),
        ('[[row]]\nid = "a"\npublished = {}\n', "a: missing keys: name"),
        ('[[row]]\nid = "a"\nname = "b"\npublished = {epsilon = 1.0}\n', "published \\(1.0\\) must be text"),
    ),
)
def test_a_table_with_a_fault_names_the_row(text, said):
    with pytest.raises(ValueError, match=said):
        read_rows(text)


def test_a_checkout_of_the_registry_replaces_numbers_and_adds_records(tmp_path):
    yaml = pytest.importorskip("yaml")

    def record(name, parameters):
        basic = dict.fromkeys(
            ("description", "intended_use", "data_product_type", "data_product_region"), "x"
        )
        basic |= {"name": name, "data_curators": ["x"], "publication_date": "2026-01-01"}
        loss = {"privacy_unit": "User-level", "privacy_parameters": parameters}
        deployment = {"basic": basic, "privacy_loss": loss}
        return {"url_slug": "x", "status": "Draft", "tier": 1, "deployment": deployment}

    files = {
        "google_mobility": record("Mobility", {"epsilon": 2.65}),
        "new": record("New", {"epsilon": 17.15, "delta": 1e-10, "rho": 2.556}),
        "broken": {
            "deployment": {"basic": {"name": "B", "data_curators": ["x"], "publication_date": "2026-01-01"}}
        },
    }
    (tmp_path / "deployments").mkdir()
    for name, content in files.items():
        (tmp_path / "deployments" / f"{name}.yaml").write_text(yaml.safe_dump(content))
    found, wrong = read_registry(tmp_path, bundled())
    words = {one.row.record: one.verdict for one in compare_all(found)}
    assert words["google_mobility"] == "loose by 0.01"
    assert words["new"] == "reproduced"
    assert words["broken"].startswith("underspecified (the neighbouring relation")
    assert "broken: url_slug is missing" in wrong


def test_a_record_of_a_claim_keeps_the_rules_of_the_registry(tmp_path, monkeypatch):
    yaml = pytest.importorskip("yaml")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    monkeypatch.chdir(tmp_path)
    claim = Claim("Ward data: 1", "dp-sgd", {"steps": 10}, Adjacency.REPLACE, {"epsilon": 1.0, "delta": 1e-7})
    record = yaml.safe_load(record_of(claim))
    assert problems(record, tmp_path / "none") == []
    assert record["url_slug"] == "ward-data-1-to-be-filled-in-2026"
    assert record["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-7}
    assert record["deployment"]["basic"]["publication_date"] == "2026-01-01"
    (tmp_path / "claims.toml").write_text(
        '[[claim]]\nname = "Ward data"\nmechanism = "laplace"\nadjacency = "replace"\nepsilon = 1.0\n'
        "parameters = { scale = 2.0, sensitivity = 1.0 }\n"
    )
    done = CliRunner().invoke(app, ["check", "claims.toml", "--emit", "registry"])
    assert (done.exit_code, "Wrote ward_data.yaml." in done.output) == (0, True), done.output
    assert problems(yaml.safe_load((tmp_path / "ward_data.yaml").read_text()), tmp_path / "none") == []


@rows(
    ("parameters", "verdict"),
    (
        ({"sampling_rate": 0.01, "noise_multiplier": 1, "steps": 1000}, "inconsistent (0.125 below"),
        ({"sampling_rate": 0.01, "noise_multiplier": 1.1, "steps": 1000}, "loose by 0.247"),
        (
            {"sampling_rate": 2, "noise_multiplier": 1, "steps": 1000},
            "underspecified (sampling_rate (2.0) must",
        ),
        ({"orders": [2, 3]}, "underspecified (parameter ('orders') must be one of"),
    ),
)
def test_a_draft_is_recomputed_from_the_parameters_that_it_states(tmp_path, parameters, verdict):
    """dp-accounting's PLD accountant gives epsilon 2.1245 and 1.7530."""
    pytest.importorskip("yaml")
    claim = Claim("Ward net", "dp-sgd", parameters, Adjacency.ADD_REMOVE, {"epsilon": 2.0, "delta": 1e-6})
    (tmp_path / "ward_net.yaml").write_text(record_of(claim))
    ((row,), _) = read_registry(tmp_path, bundled())
    assert compare(row).verdict.startswith(verdict)


@rows(
    ("mechanism", "parameters", "promise", "verdict"),
    (
        ("laplace", {"scale": 10, "sensitivity": 1}, {"epsilon": 0.1}, "reproduced"),
        (
            "exponential",
            {"scale": 5.0, "sensitivity": 1.0, "monotone": False},
            {"epsilon": 0.4},
            "reproduced",
        ),
        (
            "gaussian",
            {"sigma": 1.0, "sensitivity": 1.0},
            {"epsilon": 5.0},
            "underspecified (no finite epsilon is",
        ),
        ("gaussian", {"sigma": 1.0, "sensitivity": 1.0}, {"mu": 1.0}, "underspecified (epsilon)"),
        (
            "shuffled-sgd",
            {"noise_multiplier": 1.0, "steps": 10},
            {"epsilon": 2.0, "delta": 1e-3},
            "underspecified (whether it is at most 2.0: the certified bounds",
        ),
        ("laplace", {"by": "training"}, {"epsilon": 1.0}, "underspecified (the parameters of the mechanism)"),
        (
            "laplace",
            {"scale": "2, scale 1"},
            {"epsilon": 1.0},
            "underspecified (the parameters of the mechanism)",
        ),
        ("laplace", {"parallel": "no"}, {"epsilon": 1.0}, "underspecified (the parameters of the mechanism)"),
    ),
)
def test_odd_drafts_get_the_word_that_their_bounds_support(tmp_path, mechanism, parameters, promise, verdict):
    pytest.importorskip("yaml")
    (tmp_path / "odd.yaml").write_text(
        record_of(Claim("Odd", mechanism, parameters, Adjacency.ADD_REMOVE, promise))
    )
    ((row,), _) = read_registry(tmp_path, bundled())
    assert compare(row).verdict.startswith(verdict)


@rows(("value", "text"), (("12345.67", "12345.7"), ("123456", "123456"), ("1234567.25", "1234567.3")))
def test_a_large_number_keeps_its_magnitude(value, text):
    assert _decimal(Fraction(value), up=True) == text


def test_the_command_line_compares_a_table_and_refuses_a_place_elsewhere(tmp_path):
    table = tmp_path / "own.toml"
    table.write_text(_table(ROWS["google-mobility"], "2.64"))
    done = CliRunner().invoke(app, ["check", "deployments", str(table), "--json"])
    (row,) = json.loads(done.stdout)["deployments"]
    assert (done.exit_code, row["verdict"], row["certified"]) == (
        0,
        "reproduced",
        {"lower": 2.64, "upper": 2.64},
    )
    told = CliRunner().invoke(app, ["check", "deployments", str(table)]).output
    assert told.startswith("1 published guarantees, 1 of them recomputed.\nOutcome: 1 reproduced.")
    with pytest.raises(ValueError, match="can follow only the target 'deployments'"):
        CliRunner().invoke(app, ["check", "papers", str(table)], catch_exceptions=False)
    with pytest.raises(ValueError, match=r"html .* has no meaning for 'deployments'"):
        CliRunner().invoke(app, ["check", "deployments", "--html", "x"], catch_exceptions=False)
    with pytest.raises(ValueError, match="Give a claim file instead of 'papers'"):
        CliRunner().invoke(app, ["check", "papers", "--emit", "registry"], catch_exceptions=False)
