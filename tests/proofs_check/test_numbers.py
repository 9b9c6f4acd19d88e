"""Number certificates: the kernel's laws against other routes, and every damaged certificate is rejected."""

from __future__ import annotations

import copy
import functools
import itertools
import json
import math
import time
from fractions import Fraction

import flint
import pytest

from dpproof.accountant.pairs.discrete_gaussian import normaliser
from dpproof.answers.number import check_certificate
from dpproof.deployments.carried import Stated, carried, certificate, folder, stated
from dpproof.deployments.records import bundled
from dpproof.proofs_check.kernel import Rejected
from dpproof.proofs_check.kernel.__main__ import main as kernel
from dpproof.proofs_check.kernel.composition import Grid, Law, certainly, composed, noise
from dpproof.proofs_check.kernel.numbers import check_number
from tests.rows import rows

ROWS = {row.id: row for row in bundled()}
PERSONS = "census-pl94-persons.json"
SMALL = Grid(Fraction(1, 20), 60, 50)
ANSWERS = ((Fraction(3, 2), 1), (Fraction(2), 2))


def read(name):
    return json.loads((folder() / name).read_text(encoding="utf-8"))


def accepted(data):
    try:
        check_number(data)
    except Rejected:
        return False
    return True


@functools.cache
def small():
    return certificate("own", Stated("discrete-gaussians", {"answers": ANSWERS}, Fraction(1, 1000)), SMALL)


def listed(v, reach):
    """The masses of the noise by Arb, from the accountant's normalising sum."""
    with flint.ctx.workprec(200):
        rate, total = flint.arb(1) / (2 * flint.arb(flint.fmpq(v.numerator, v.denominator))), normaliser(v)
        return {x: (-rate * x * x).exp() / total for x in range(-reach, reach + 1)}


def delta_by_enumeration(epsilon):
    """A lower bound on delta of ANSWERS that leaves out only unlikely noise: the sum over all triples of noise."""
    pairs = [(v, listed(v, 12)) for v, count in ANSWERS for _ in range(count)]
    found = 0.0
    for xs in itertools.product(range(-12, 13), repeat=len(pairs)):
        loss = float(sum((1 - 2 * x) / (2 * v) for x, (v, _) in zip(xs, pairs, strict=True)))
        if loss > epsilon:
            found += math.prod(float(law[x]) for x, (_, law) in zip(xs, pairs, strict=True)) * -math.expm1(
                epsilon - loss
            )
    return found


@rows("v", [Fraction(1, 7), Fraction(1), Fraction(22, 3), Fraction(400)])
def test_the_law_of_one_answer_is_above_the_exact_one_and_close_to_it(v):
    law, grid = noise(v, SMALL), SMALL
    with flint.ctx.workprec(200):
        masses = listed(v, math.isqrt(int(100 * v)) + 2)
        step, unit = flint.arb(1) / 20, flint.arb(2) ** -grid.bits
        for epsilon in (Fraction(-1), Fraction(0), Fraction(1, 3), Fraction(2)):
            e = flint.arb(flint.fmpq(epsilon.numerator, epsilon.denominator))
            losses = {x: flint.arb(flint.fmpq((1 - 2 * x) * v.denominator, 2 * v.numerator)) for x in masses}
            exact = sum(
                (m * (1 - (e - losses[x]).exp()).max(flint.arb(0)) for x, m in masses.items()), flint.arb(0)
            )
            points = enumerate(law.masses, law.first)
            ours = sum(
                (m * unit * (1 - (e - k * step).exp()).max(flint.arb(0)) for k, m in points), flint.arb(0)
            )
            ours += law.infinite * unit
            assert exact < ours < exact + flint.arb("0.0007")
    assert 0 <= law.total - (1 << grid.bits) < 10**4


def test_a_composition_is_above_enumeration_and_close_to_it():
    law = composed(ANSWERS, SMALL)
    for epsilon in (Fraction(1, 2), Fraction(2)):
        exact = delta_by_enumeration(float(epsilon))
        assert not certainly(law, SMALL, epsilon, Fraction(exact * (1 - 1e-9)))
        assert certainly(law, SMALL, epsilon, Fraction(exact * 1.002))


def test_one_unit_of_mass_above_delta_is_too_much():
    delta = Fraction(7, 1 << SMALL.bits)
    assert certainly(Law(0, [0], 7), SMALL, Fraction(0), delta)
    assert not certainly(Law(0, [0], 8), SMALL, Fraction(0), delta)


def changed(data, place, value):
    found = copy.deepcopy(data)
    *path, last = place
    inner = found
    for key in path:
        inner = inner[key]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return found


def places(data, path=()):
    """The places of all values in a certificate."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(place for key, value in items for place in places(value, (*path, key)))][
        0 if path else 1 :
    ]


DAMAGE = {
    "an epsilon that is one unit lower": (("claim", "epsilon"), "{}"),
    "a smaller noise": (("claim", "answers", 0, 0), "7/5"),
    "one more answer": (("claim", "answers", 0, 1), 2),
    "a smaller delta": (("claim", "delta"), "99/100000"),
    "a coarse grid": (("plan", "step"), "1"),
    "a grid without a step": (("plan", "step"), "0"),
    "a negative step": (("plan", "step"), "-1/20"),
    "masses with few bits": (("plan", "bits"), 9),
    "ends that are too large": (("plan", "tail"), 5),
    "too many answers": (("claim", "answers", 0, 1), 10**9),
    "no answers": (("claim", "answers"), []),
    "another kind": (("number",), "zcdp"),
    "a bool for a number": (("claim", "answers", 0, 1), True),
    "noise of nothing": (("claim", "answers", 0, 0), "0"),
}


@rows("name", DAMAGE)
def test_a_damaged_composition_is_rejected(name):
    data = small()
    lower = Fraction(data["claim"]["epsilon"]) - Fraction(1, 10**4)
    place, value = DAMAGE[name]
    damaged = changed(data, place, str(lower) if value == "{}" else value)
    assert accepted(data)
    assert not accepted(damaged)


def test_every_place_of_a_certificate_is_needed_and_typed():
    data = small()
    for place in places(data):
        if place[:2] != ("claim", "answers") or len(place) != 3:  # fewer answers are another true claim
            assert not accepted(changed(data, place, None)), place
        for wrong in (1.5, {}, "one", -1):
            if place != ("id",) or wrong != "one":
                assert not accepted(changed(data, place, wrong)), (place, wrong)
    assert not accepted({**data, "more": 1})


@rows(
    "change",
    {
        "wide noise": {"answers": [["1000000000", 1]], "step": "1/1000", "bits": 80},
        "noise of 400 digits": {"answers": [["1" + "0" * 399, 1]], "step": "1/1000", "bits": 80},
        "many wide answers": {
            "answers": [[f"{k}00", 1] for k in range(1, 1001)],
            "step": "1/1000",
            "bits": 80,
        },
        "long masses": {"answers": [["1", 1000]], "step": "1/1000", "bits": 2000},
    }.items(),
)
def test_a_certificate_that_needs_too_much_work_is_rejected_at_once(change):
    _, plan = change
    claim, data = {**small()["claim"], "answers": plan["answers"]}, small()
    began = time.process_time()
    with pytest.raises(Rejected, match=r"too many values|too much work|too many points"):
        check_number(
            {**data, "claim": claim, "plan": {"step": plan["step"], "bits": plan["bits"], "tail": 50}}
        )
    assert time.process_time() - began < 20


@rows(
    "name", ["", "census-pl94-persons\u200b", "c\u0435nsus", "own\n", "\u202eown", "Own", "x" * 101, " own"]
)
def test_an_id_cannot_look_like_another_one(name):
    assert not accepted({**small(), "id": name})


@rows(
    ("place", "value"),
    [
        (("claim", "epsilon"), "171435/10000"),
        (("claim", "rho"), "293777/114921"),
        (("claim", "delta"), "99/1000000000000"),
        (("plan", "order"), "1"),
        (("plan", "order"), "3"),
        (("claim", "rho"), "0"),
    ],
)
def test_a_damaged_conversion_is_rejected(place, value):
    data = read("census-pl94-persons.rho.json")
    assert accepted(data)
    assert not accepted(changed(data, place, value))


@pytest.mark.parametrize("row", [row for row in ROWS.values() if carried(row)], ids=lambda row: row.id)
def test_the_bundled_conversions_are_about_their_deployments(row):
    assert list(carried(row)) == [f"{name}.json" for name in stated(row)]
    for name in list(carried(row))[1:]:
        assert stated(row)[name.removesuffix(".json")].is_of(check_number(read(name)))


def test_a_smaller_rho_is_another_claim_than_the_published_one(tmp_path):
    path, data = tmp_path / "one.json", changed(read("census-pl94-persons.rho.json"), ("claim", "rho"), "5/2")
    path.write_text(json.dumps(data), encoding="utf-8")
    assert accepted(data)
    assert "differs from the published facts" in check_certificate(path).refusal
    path.write_text(json.dumps({**small(), "id": "census-pl94-persons"}), encoding="utf-8")
    assert "differs from the published facts" in check_certificate(path).refusal
    path.write_text(json.dumps(small()), encoding="utf-8")
    assert check_certificate(path).row is None


@pytest.mark.slow
def test_the_redistricting_data_have_a_certificate_that_no_smaller_epsilon_and_no_missing_query_passes(
    tmp_path, monkeypatch
):
    once = functools.cache(composed)  # another epsilon is compared with the same composition
    monkeypatch.setattr(
        "dpproof.proofs_check.kernel.numbers.composed", lambda answers, grid: once(tuple(answers), grid)
    )
    data, path = read(PERSONS), tmp_path / PERSONS
    found = check_certificate(folder() / PERSONS)
    assert (found.row.id, found.number.epsilon) == ("census-pl94-persons", Fraction("16.4652"))
    assert not accepted(changed(data, ("claim", "epsilon"), "164651/10000"))
    path.write_text(json.dumps(changed(data, ("claim", "answers", 5), None)), encoding="utf-8")
    assert "differs from the published facts" in check_certificate(path).refusal


@pytest.mark.slow
@rows("name", ["census-dhc-persons.json", "census-dhc-units.json"])
def test_the_other_compositions_are_about_their_deployments(name):
    assert check_certificate(folder() / name).row.id == name.removesuffix(".json")


def test_the_kernel_checks_a_number_without_the_rest(tmp_path, capsys):
    path = tmp_path / "one.json"
    path.write_text(json.dumps(read("census-pl94-persons.rho.json")), encoding="utf-8")
    assert kernel([str(path)]) == 0
    path.write_text(path.read_text(encoding="utf-8").replace("171436", "171435"), encoding="utf-8")
    assert kernel([str(path)]) == 1
    assert "accepted census-pl94-persons.rho" in capsys.readouterr().out
