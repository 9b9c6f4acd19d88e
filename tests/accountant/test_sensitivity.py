"""The sensitivity: never guessed where users are named, and as brute force finds it where a query is stated.

References: all data sets of at most three records from a small universe, all pairs of neighbours, the norm of
the difference of the query's answers in rationals; the accountants' answers against the same mechanism with
as many answers and an explicit sensitivity.
"""

import itertools
import math
from fractions import Fraction

import pytest

from dpproof.accountant.catalogue import CATALOGUE, accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.sensitivity import L1, L2, LARGEST, Query, sensitivity_of
from dpproof.accountant.guarantees.notions import GaussianDP
from tests.rows import rows, tiered

ADD_REMOVE, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
SUMS = {
    "sum in [0, 3]": (0, 1, 3),
    "sum in [-2, 3]": (-2, 0, 3),
    "sum in [-5, -1]": (-5, -1),
    "sum in [1/2, 0.75]": (Fraction(1, 2), Fraction(3, 4)),
}
UNIVERSES = {"count": (0, 1), "histogram": (0, 1, 2, 3), **SUMS}
REQUIRED = {
    name: {
        key: value
        for key, value in accountant_for(name).example.as_json().items()
        if key not in ("sensitivity", "query")
    }
    for name in CATALOGUE
    if hasattr(accountant_for(name).example, "sensitivity")
}
QUERIED = [name for name in REQUIRED if "tree" not in name and "matrix" not in name]


def parameters(name, **given):
    return accountant_for(name).parameters.read({**REQUIRED[name], **given})


def answer(query, data):
    if query == "histogram":
        return tuple(data.count(cell) for cell in UNIVERSES["histogram"])
    return (sum(data),)


def neighbours(universe, relation):
    """All pairs of data sets in the relation: of at most three records."""
    for size in range(3):
        for data in itertools.product(universe, repeat=size):
            if relation is ADD_REMOVE:
                yield from ((data, (*data, record)) for record in universe)
            else:
                for one, other in itertools.permutations(universe, 2):
                    yield (*data, one), (*data, other)


def moved(query, relation):
    universe = UNIVERSES[query]
    for first, second in neighbours(universe, relation):
        pairs = zip(answer(query, first), answer(query, second), strict=True)
        yield tuple(abs(Fraction(b) - Fraction(a)) for a, b in pairs)


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("query", UNIVERSES)
def test_a_query_moves_as_far_as_brute_force_finds(query, relation):
    found = sensitivity_of(parameters("gaussian", query=query), relation, L2)
    gaps = list(moved(query, relation))
    assert found.squared == max(sum(g * g for g in gap) for gap in gaps)
    assert found.coordinates * found.moved == max(sum(gap) for gap in gaps)
    assert found.moved == max(max(gap) for gap in gaps)
    # What one pair of neighbours does: as many coordinates move as are composed, each as far.
    assert (
        max(sorted(gap, reverse=True) for gap in gaps)[: found.coordinates]
        == [found.moved] * found.coordinates
    )
    assert all(sum(g > 0 for g in gap) <= found.coordinates for gap in gaps)


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("query", UNIVERSES)
def test_queries_are_called_monotone_only_where_they_move_one_way(query, relation):
    signs = set()
    for first, second in neighbours(UNIVERSES[query], relation):
        if relation is REPLACE or len(second) > len(first):
            pairs = zip(answer(query, first), answer(query, second), strict=True)
            signs |= {(b > a) - (b < a) for a, b in pairs} - {0}
    assert Query.of(query).monotone(relation) == (len(signs) == 1)


@pytest.mark.parametrize(
    ("query", "relation", "norm", "exact", "square"),
    [
        ("histogram", REPLACE, L1, "2", 4),
        ("histogram", REPLACE, L2, "sqrt(2)", 2),
        ("histogram", REPLACE, LARGEST, "1", 1),
        ("histogram", ADD_REMOVE, L1, "1", 1),
        ("histogram", ADD_REMOVE, L2, "1", 1),
        ("count", REPLACE, L1, "1", 1),
        ("sum in [-2, 3]", REPLACE, L2, "5", 25),
        ("sum in [-2, 3]", ADD_REMOVE, L2, "3", 9),
        ("sum in [0.1, 0.7]", REPLACE, L1, "3/5", Fraction(9, 25)),
    ],
)
def test_the_value_that_is_shown_is_at_least_the_sensitivity(query, relation, norm, exact, square):
    found = sensitivity_of(parameters("laplace", query=query), relation, norm)
    assert found.exact == exact
    assert Fraction(found.value) ** 2 >= square
    assert Fraction(math.nextafter(math.nextafter(found.value, 0), 0)) ** 2 < square


@rows("relation", [a for a in Adjacency if a is not Adjacency.BY_SENSITIVITY])
@rows("name", REQUIRED)
def test_no_sensitivity_is_guessed_where_users_are_named(name, relation):
    accountant = accountant_for(name)
    with pytest.raises(ValueError, match=r"sensitivity is missing|no proved guarantee for"):
        accountant.account(parameters(name), relation)
    with pytest.raises(ValueError, match=r"sensitivity is missing|no proved guarantee for"):
        accountant.least_noise(parameters(name), relation, 1, "1e-3")
    assert accountant.account(parameters(name), Adjacency.BY_SENSITIVITY).sensitivity.moved == 1


def test_every_mechanism_with_a_sensitivity_is_here():
    fields = {name: {f.name for f in accountant_for(name).parameters.fields()} for name in CATALOGUE}
    assert {name for name, known in fields.items() if "sensitivity" in known} == REQUIRED.keys()
    assert {name for name, known in fields.items() if "query" in known} == set(QUERIED)


@rows("name", QUERIED)
@rows("relation", [a for a in Adjacency if a not in (Adjacency.ADD_REMOVE, Adjacency.REPLACE)])
def test_a_query_fixes_no_sensitivity_under_other_relations(name, relation):
    with pytest.raises(
        ValueError, match=f"cannot be used under {relation.value}. .* add-remove and replace only"
    ):
        accountant_for(name).account(parameters(name, query="count"), relation)


@pytest.mark.parametrize("name", QUERIED)
def test_a_query_beside_a_sensitivity_is_refused(name):
    with pytest.raises(
        ValueError, match=r"sensitivity \(1\) must be left out, because it follows from query \('count'\)"
    ):
        parameters(name, query="count", sensitivity=1)


@pytest.mark.parametrize(
    ("query", "rule"),
    [
        ("sums in [0, 1]", r"must be count, histogram or 'sum in \[a, b\]'"),
        (1, r"must be count, histogram or 'sum in \[a, b\]'"),
        ("sum in [1, 0]", "must have its lower bound below its upper bound"),
        ("sum in [0, 0]", "must have its lower bound below its upper bound"),
        ("sum in [0, nan]", "must be a finite number"),
        ("sum in [0, 1/0]", "must be a finite number"),
        ("sum in [0, 1e400]", "must have bounds in"),
        ("sum in [-1e301, 0]", "must have bounds in"),
        ("sum in [0, 1e-400]", "at least 1e-300 apart"),
    ],
)
def test_what_is_no_query_is_refused(query, rule):
    with pytest.raises(ValueError, match=rf"query \(.*\).* {rule}"):
        parameters("gaussian", query=query)


@pytest.mark.parametrize("name", ["geometric", "discrete-gaussian", "binomial"])
def test_noise_on_whole_numbers_needs_whole_ends(name):
    with pytest.raises(ValueError, match="must have integer bounds"):
        accountant_for(name).account(parameters(name, query="sum in [0, 1/2]"), REPLACE)


def test_a_sum_moves_a_binomial_count_by_one_at_most():
    with pytest.raises(ValueError, match=r"has a sensitivity of 2\. The sensitivity must be an integer in"):
        accountant_for("binomial").account(parameters("binomial", query="sum in [0, 2]"), REPLACE)


PLAIN = ("gaussian", "laplace", "geometric", "discrete-gaussian")


@pytest.mark.slow
@rows("name", PLAIN)
@rows(
    ("query", "relation", "count", "each"),
    [
        ("count", REPLACE, 1, 1),
        ("histogram", ADD_REMOVE, 1, 1),
        ("histogram", REPLACE, 2, 1),
        ("sum in [-2, 3]", REPLACE, 1, 5),
        ("sum in [-2, 3]", ADD_REMOVE, 1, 3),
    ],
)
def test_a_stated_query_costs_what_its_moved_coordinates_cost(name, query, relation, count, each):
    accountant = accountant_for(name)
    kind = int if name in ("geometric", "discrete-gaussian") else float
    stated = accountant.account(parameters(name, query=query, compositions=3), relation)
    given = parameters(name, sensitivity=kind(each), compositions=3 * count)
    explicit = accountant.account(given, relation).guarantee
    assert stated.guarantee.epsilon("1e-3") == explicit.epsilon("1e-3")
    assert stated.guarantee.epsilon(0) == explicit.epsilon(0)
    assert any(query.split(",")[0] in note for note in stated.notes)


def test_a_histogram_under_replace_has_the_exact_root_of_two():
    found = accountant_for("gaussian").account(parameters("gaussian", query="histogram"), REPLACE)
    assert isinstance(found.guarantee, GaussianDP)
    mu = found.guarantee.mu
    assert Fraction(mu.lower) ** 2 <= Fraction(2, 25) <= Fraction(mu.upper) ** 2
    assert mu.upper <= math.nextafter(mu.lower, 1)


def binomial_histogram_delta(trials, share, ratio):
    """Hockey-stick divergence of (noise + e_1) from (noise + e_2), noise in both cells, in rationals."""
    law = {k: math.comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(trials + 1)}
    cells = itertools.product(range(trials + 2), repeat=2)
    chances = ((law.get(a - 1, 0) * law.get(b, 0), law.get(a, 0) * law.get(b - 1, 0)) for a, b in cells)
    return sum(max(p - ratio * q, 0) for p, q in chances)


@pytest.mark.parametrize("share", [0.5, 0.25])
def test_a_binomial_histogram_under_replace_is_that_of_both_cells(share):
    found = accountant_for("binomial").account(
        parameters("binomial", trials=12, probability=share, query="histogram"), REPLACE
    )
    for epsilon in ("0.1", "0.5", "1"):
        bound = found.guarantee.delta(epsilon)
        low, high = (Fraction(math.exp(float(epsilon)) * (1 + sign * 1e-15)) for sign in (1, -1))
        assert binomial_histogram_delta(12, Fraction(share), high) >= bound.lower
        assert binomial_histogram_delta(12, Fraction(share), low) <= bound.upper
        assert bound.upper <= bound.lower * 1.02


def adaptive_binomial_delta(trials, share, ratio):
    """What two counts reveal, the second rising or falling by what the noise on the first shows."""
    law = [math.comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(trials + 1)]
    sides = [([0, *law], [*law, 0]), ([*law, 0], [0, *law])]

    def second(p, q):
        return max(sum(max(p * a - ratio * q * b, 0) for a, b in zip(*side, strict=True)) for side in sides)

    return max(sum(second(p, q) for p, q in zip(*side, strict=True)) for side in sides)


@pytest.mark.slow
@pytest.mark.parametrize(("trials", "share"), tiered([(7, 0.375), (4, 0.125)], fast=1))
def test_unfair_coins_hide_counts_that_move_in_either_direction(trials, share):
    accountant = accountant_for("binomial")
    given = {"trials": trials, "probability": share, "compositions": 2}
    asked = [({}, Adjacency.BY_SENSITIVITY), ({"query": "count"}, REPLACE), ({"sensitivity": 1}, ADD_REMOVE)]
    for more, relation in asked:
        found = accountant.account(parameters("binomial", **given, **more), relation)
        assert any("rise or fall" in note for note in found.notes)
        for epsilon in ("0.2", "0.25", "0.3"):
            bound = found.guarantee.delta(epsilon)
            ratio = Fraction(math.exp(float(epsilon)) * (1 + 1e-15))
            assert (
                bound.upper >= adaptive_binomial_delta(trials, Fraction(share), ratio) >= bound.lower * 0.99
            )
    rising = accountant.account(parameters("binomial", **given, query="count"), ADD_REMOVE)
    assert rising.attained.pair.endswith("always in the same direction")
    assert rising.guarantee.delta(epsilon).upper <= bound.upper


@pytest.mark.parametrize("name", ["exponential", "sparse-vector"])
def test_queries_that_are_not_monotone_are_not_called_so(name):
    accountant = accountant_for(name)
    with pytest.raises(ValueError, match="can rise and can fall between replace neighbours"):
        accountant.account(parameters(name, query="count", monotone=True), REPLACE)
    accountant.account(parameters(name, query="count", monotone=True), ADD_REMOVE)
    with pytest.raises(ValueError, match="can rise and can fall between add-remove neighbours"):
        accountant.account(parameters(name, query="sum in [-1, 1]", monotone=True), ADD_REMOVE)


@pytest.mark.parametrize("relation", [ADD_REMOVE, Adjacency.EXPERT])
def test_a_local_answer_does_not_hide_whether_there_is_one(relation):
    accountant = accountant_for("randomised-response")
    chosen = accountant.parameters(0.5)
    with pytest.raises(ValueError, match="Everybody can see whether a person answers"):
        accountant.account(chosen, relation)
    assert math.isfinite(accountant.account(chosen, REPLACE).guarantee.epsilon(0).upper)


def test_a_sum_with_noise_on_whole_numbers_is_one_of_whole_numbers():
    found = accountant_for("geometric").account(parameters("geometric", query="sum in [-1, 1]"), REPLACE)
    assert found.sensitivity.rule.endswith("(one whole number a user)")
    cells = accountant_for("geometric").account(parameters("geometric", query="histogram"), REPLACE)
    assert cells.sensitivity.rule.endswith("(one record a user)")


@pytest.mark.parametrize("name", [name for name in CATALOGUE if name.startswith("smooth-")])
def test_a_smooth_bound_belongs_to_a_relation(name):
    accountant = accountant_for(name)
    given = {"noise": 10.0, "smoothing": 0.01, **({"spread": 1.0} if name == "smooth-log-normal" else {})}
    for relation in (REPLACE, Adjacency.EXPERT):
        notes = accountant.account(accountant.parameters(**given), relation).notes
        assert f"the smooth bound is taken to be one under {relation.value} neighbours" in notes
    alone = accountant.account(accountant.parameters(**given), Adjacency.BY_SENSITIVITY).notes
    assert not any("taken to be" in note for note in alone)
