"""Active policies as a product set, against an enumeration of its members (docs/notes/sdp_product_sets.md)."""

from itertools import product

import numpy as np
import pytest

from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.rl.sdp_pe import _product_kernels as kernels
from dpproof.mechanisms.rl.sdp_pe.agent import SDPPE
from dpproof.mechanisms.rl.sdp_pe.coverage import SLACK, EmptyActiveSetError
from dpproof.mechanisms.rl.sdp_pe.coverage import cover as cover_enumerated
from dpproof.mechanisms.rl.sdp_pe.mixtures import Markov
from dpproof.mechanisms.rl.sdp_pe.policies import PolicySpace
from dpproof.mechanisms.rl.sdp_pe.privatizer import NoPrivacy
from dpproof.mechanisms.rl.sdp_pe.product_sets import ProductSet, cover, losses
from dpproof.mechanisms.rl.sdp_pe.public import PublicModel

H, X, A = 3, 3, 2
MODEL = PublicModel(np.ones((X, A, X), bool), horizon=H)
PAIRS = [(h, x) for h in range(H) for x in range(X) if MODEL.reachable[h, x]]


def random_tables(rng, full=False):
    """Transitions whose rows may sum to less than 1 and have zeros, and rewards."""
    P = rng.dirichlet(np.full(X, 0.5), (H, X, A))
    if not full:
        P = P * rng.random((H, X, A, 1)) * (rng.random(P.shape) < 0.8)
    P[-1] = 0
    return P, rng.random((H, X, A))


def random_set(rng):
    active = ProductSet(MODEL, scored=False)
    for h, x in PAIRS:
        active.allowed[h, x] = [[True, True], [True, False], [False, True]][rng.integers(3)]
    return active


def members(active):
    """Every policy of the set, as the definition says."""
    found = []
    for actions in product(*[np.flatnonzero(active.allowed[h, x]) for h, x in PAIRS]):
        policy = np.zeros((H, X), int)
        for (h, x), a in zip(PAIRS, actions, strict=True):
            policy[h, x] = a
        found.append(policy)
    return found


def visits(policy, P, start=0):
    d, now = np.zeros((H, X, A)), np.eye(X)[start]
    for h in range(H):
        d[h, range(X), policy[h]] = now
        now = sum(now[x] * P[h, x, policy[h, x]] for x in range(X))
    return d


def value(policy, P, r):
    return (visits(policy, P) * r).sum()


def values_from(policy, P, r):
    """Values (H + 1, X) from every step and state on."""
    found = np.zeros((H + 1, X))
    for h in reversed(range(H)):
        for x in range(X):
            a = policy[h, x]
            found[h, x] = r[h, x, a] + P[h, x, a] @ found[h + 1]
    return found


@pytest.mark.parametrize("seed", range(6))
def test_dynamic_programming_answers_what_enumeration_answers(seed):
    rng = np.random.default_rng(seed)
    active, (P, r) = random_set(rng), random_tables(rng)
    every = members(active)
    assert active.count == len(every)
    reach = np.array([visits(p, P).sum(axis=2) for p in every])
    assert kernels.reached(P, active.allowed, 0) == pytest.approx(reach.max(axis=0), abs=1e-14)
    values = [value(p, P, r) for p in every]
    assert active.spread(P, r) == pytest.approx((max(values), min(values)), abs=1e-13)
    # the loss of an action, from the definition
    tables = [values_from(p, P, r) for p in every]
    best, found = np.max(tables, axis=0), losses(P, r, active.allowed, 0)
    for (h, x), a in product(PAIRS, range(A)):
        with_a = r[h, x, a] + P[h, x, a] @ best[h + 1]
        assert found[h, x, a] == pytest.approx(reach[:, h, x].max() * (best[h, x] - with_a), abs=1e-13)
    # for an allowed action it is the gap between two members that act alike before step h
    for h in range(H):
        explored = {(int(x), int(p[h, x])) for p in active.layer(h, P) for x in range(X)}
        for x in np.flatnonzero(MODEL.reachable[h]):
            for a in np.flatnonzero(active.allowed[h, x]):
                assert (x, a) in explored
                sought = max(visits(p, P)[h, x, a] for p in every)
                assert max(visits(p, P)[h, x, a] for p in active.layer(h, P)) == pytest.approx(
                    sought, abs=1e-12
                )


@pytest.mark.parametrize("seed", range(8))
def test_the_random_policy_covers_every_member_within_the_slack(seed):
    rng = np.random.default_rng(seed)
    active, (P, _) = random_set(rng), random_tables(rng)
    chances, gap = cover(P, active.allowed, 0)
    u = kernels.visits(P, chances, 0)
    sums = [(v[v > 1e-12] / u[v > 1e-12]).sum() for v in (visits(p, P) for p in members(active))]
    pairs = (np.max([visits(p, P) for p in members(active)], axis=0) > 1e-12).sum()
    assert max(sums) == pytest.approx((1 + gap) * pairs)
    assert pairs * (1 - 1e-12) <= max(sums) <= (1 + SLACK) * pairs * (1 + 1e-12)
    # drawing every action independently is a mixture of members with these visits
    mixed = np.zeros_like(u)
    for p in members(active):
        weight = np.prod(
            [
                chances[h, x, p[h, x]] if chances[h, x].sum() else p[h, x] == np.argmax(active.allowed[h, x])
                for h, x in PAIRS
            ]
        )
        mixed += weight * visits(p, P)
    assert mixed == pytest.approx(u, abs=1e-13)


@pytest.mark.parametrize("first", [0, 40, 320])
def test_the_search_also_ends_for_models_with_tiny_probabilities(first):
    """40 random models each, with rows that nearly vanish and probabilities down to 1e-14."""
    for seed in range(first, first + 40):
        rng = np.random.default_rng(seed)
        steps, states, actions = int(rng.integers(1, 25)), int(rng.integers(1, 9)), int(rng.integers(1, 5))
        P = rng.dirichlet(np.full(states, 10.0 ** rng.uniform(-2, 1)), (steps, states, actions))
        P *= rng.random((steps, states, actions, 1)) ** rng.choice([0, 1, 5, 30])
        P *= rng.random(P.shape) < rng.uniform(0.2, 1)
        P[-1] = 0
        P = np.where(rng.random(P.shape) < 0.2, P * 10.0 ** -rng.integers(0, 14), P)
        allowed = rng.random(P.shape[:3]) < rng.uniform(0.3, 1)
        allowed[..., 0] |= ~allowed.any(axis=2)
        _, gap = cover(P, allowed, 0)
        assert -1e-9 <= gap <= SLACK


def test_the_best_coverage_is_that_of_the_enumerated_search():
    space, rng = PolicySpace(MODEL.reachable, A), np.random.default_rng(0)
    P, _ = random_tables(rng, full=True)
    listed = cover_enumerated(space, space.reduced(P), np.ones(space.count, bool))
    _, gap = cover(P, ProductSet(MODEL, scored=True).allowed, 0)
    assert listed.worst == pytest.approx((1 + gap) * listed.pairs, rel=SLACK)


@pytest.mark.parametrize("seed", range(40))
def test_optimal_actions_stay_and_the_regret_of_the_hull_is_bounded(seed):
    """If no value is off by more than xi, the threshold 2 xi is safe, and gaps are at most 2 (N + 1) xi."""
    rng = np.random.default_rng(seed)
    P, r = random_tables(rng, full=True)
    size = 10.0 ** rng.uniform(-2, 0)
    P_est = P + size * (rng.dirichlet(np.ones(X), P.shape[:-1]) - P) * (P > 0)
    P_est[-1] = 0
    r_est = np.clip(r + size * rng.normal(size=r.shape) / 4, 0, 1)
    active = ProductSet(MODEL, scored=True)
    every = members(active)
    true = np.array([value(p, P, r) for p in every])
    xi = np.abs(true - [value(p, P_est, r_est) for p in every]).max()
    best, _ = kernels.action_values(P, r, active.allowed, 1.0)
    active.eliminate(P_est, r_est, 2 * xi * (1 + 1e-9))
    assert all(active.allowed[h, x, np.argmax(best[h, x])] for h, x in PAIRS)
    left = np.array([value(p, P, r) for p in members(active)])
    open_pairs = sum(active.allowed[h, x].sum() > 1 for h, x in PAIRS)
    assert left.max() == pytest.approx(true.max())
    assert true.max() - left.min() <= 2 * (open_pairs + 1) * xi + 1e-12
    most, least = active.spread(P_est, r_est)
    assert most - least <= open_pairs * 2 * xi * (1 + 1e-9) + 1e-12
    assert (
        active.best() == members(active)[int(np.argmax([value(p, P_est, r_est) for p in members(active)]))]
    )[0, 0]


def test_known_bad_half_of_the_threshold_drops_optimal_actions():
    """One state, two actions whose estimates are off by xi in opposite directions."""
    model = PublicModel(np.ones((1, 2, 1), bool), horizon=1)
    active, P = ProductSet(model, scored=True), np.zeros((1, 1, 2, 1))
    active.eliminate(P, np.array([[[0.4, 0.59]]]), 0.1)  # the truth is 0.5 and 0.49: xi is 0.1
    assert not active.allowed[0, 0, 0]


def test_the_factor_of_the_regret_is_attained_by_contexts():
    """n contexts, each with an action that loses just less than n T: the hull has a member that loses almost n T."""
    n, T = 5, 0.02
    support = np.zeros((n + 1, 2, n + 1), bool)
    support[0, :, 1:] = support[1:, :, 0] = True
    active = ProductSet(PublicModel(support, horizon=2), scored=True)
    P, r = np.zeros((2, n + 1, 2, n + 1)), np.ones((2, n + 1, 2))
    P[0, 0, :, 1:] = 1 / n
    r[1, 1:, 1] -= n * T * 0.999
    active.eliminate(P, r, T)
    most, least = active.spread(P, r)
    assert most - least == pytest.approx(0.999 * n * T)


@pytest.mark.parametrize("seed", range(5))
def test_the_most_visits_in_a_set_of_the_paper_are_a_knapsack(seed):
    """Items of weight w and worth v: contexts whose action 1 loses w and leads to the target with probability v."""
    rng, n = np.random.default_rng(seed), 6
    w, v = rng.integers(1, 20, n), rng.integers(1, 20, n)
    room, W = int(w.sum() // 2), int(w.sum())
    best = max(v @ x for x in map(np.array, product((0, 1), repeat=n)) if w @ x <= room)
    found = 0.0
    for x in map(np.array, product((0, 1), repeat=n)):  # a policy takes action x_i in context i
        loss = (w * x).sum() / (
            n * W
        )  # the values of action 0 and 1 are 1 and 1 - w/W, contexts have probability 1/n
        if loss < (room + 0.5) / (n * W):  # active: less than the threshold below the best
            found = max(found, (v * x).sum() / (n * 20))  # the chance of the target
    assert found == pytest.approx(best / (n * 20))


def test_the_product_set_learns_and_runs_where_policies_cannot_be_listed():
    run = SDPPE(NoPrivacy(), 20_000, policies="product").run(river_swim(4, 6), np.random.default_rng(1))
    assert run.stages[-1].optimal_stays
    assert run.total_regret < 0.3 * 0.475791 * 20_000
    large = SDPPE(NoPrivacy(), 600, policies="product").run(river_swim(6, 20), np.random.default_rng(0))
    assert large.regrets.shape == (600,)
    assert large.stages[-1].active > 2**22
    assert max(stage.coverage_gap for stage in large.stages) <= SLACK
    again = SDPPE(NoPrivacy(), 600, policies="product").run(river_swim(6, 20), np.random.default_rng(0))
    assert (again.regrets == large.regrets).all()


def test_users_of_a_markov_policy_have_its_visits():
    """60000 users: no frequency is off by more than Hoeffding's bound at level 1e-6, and so for drawn policies."""
    environment, rng, n = river_swim(3, 3), np.random.default_rng(0), 60_000
    chances = rng.dirichlet(np.ones(2), (3, 3))
    policy = Markov(chances)
    P = np.broadcast_to(environment.transitions, (3, 3, 2, 3))
    expected = kernels.visits(np.ascontiguousarray(P), chances, 0)
    width = np.sqrt(np.log(2 * (expected.size + chances.size) / 1e-6) / (2 * n))
    counts = policy.play(environment, n, rng)
    assert np.abs(counts.visits / n - expected).max() <= width
    drawn = sum(np.eye(2)[policy.draw(rng)] for _ in range(n)) / n
    assert np.abs(drawn - chances).max() <= width
    assert policy.value(environment) == pytest.approx((expected * environment.rewards).sum())


def test_refusals():
    active = ProductSet(MODEL, scored=False)
    with pytest.raises(EmptyActiveSetError, match=r"threshold \(0.0\)"):
        active.eliminate(*random_tables(np.random.default_rng(0)), 0.0)
    with pytest.raises(ValueError, match="policies"):
        SDPPE(NoPrivacy(), 9, policies="some").run(river_swim(3, 3), 0)
    with pytest.raises(ArithmeticError, match="slack"):
        cover(random_tables(np.random.default_rng(0))[0], active.allowed, 0, slack=-1.0)
