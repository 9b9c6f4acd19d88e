"""Policy elimination is Algorithms 1 to 3, against a plain transcription that lists every policy."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.rl.sdp_pe.agent import SDPPE
from dpproof.mechanisms.rl.sdp_pe.batches import schedule, user_counts_of_batch
from dpproof.mechanisms.rl.sdp_pe.constants import (
    LITERAL,
    REPAIRED,
    TUNED,
    EliminationConstants,
    Problem,
)
from dpproof.mechanisms.rl.sdp_pe.coverage import (
    SLACK,
    EmptyActiveSetError,
    cover,
    printed_coverage,
)
from dpproof.mechanisms.rl.sdp_pe.policies import PolicySpace, UnreachableStateError
from dpproof.mechanisms.rl.sdp_pe.privatizer import BatchCounts, NoPrivacy, ReleasedCounts

ALPHA = 1e-6


class Shifted:
    """A privatizer that adds E/(2X) to every transition and nothing random: E = 3."""

    failure = 0.05

    def release(self, counts, users, rng):
        X, E = counts.transitions.shape[-1], self.level(counts.shape, users, 0.05)
        transitions = counts.transitions + E / (2 * X)
        rewards = None if counts.rewards is None else counts.rewards + 0.25
        return ReleasedCounts(transitions.sum(axis=-1), transitions, rewards)

    def level(self, shape, users, failure):
        return 3.0


def small_mdp(seed=0, X=2, A=2, H=3):
    rng = np.random.default_rng(seed)
    return TabularMDP(rng.dirichlet(np.ones(X), (X, A)), rng.random((X, A)), H)


class Plain:
    """Everything from the definitions, one policy at a time, over the absorbing model (H, X, A, X)."""

    def __init__(self, environment):
        H, X, A = environment.horizon, environment.states, environment.actions
        reach = [{environment.start}]
        for _ in range(H - 1):
            reach.append(
                {
                    t
                    for s in reach[-1]
                    for a in range(A)
                    for t in range(X)
                    if environment.transitions[s, a, t] > 0
                }
            )
        self.pairs = [(h, x) for h in range(H) for x in sorted(reach[h])]
        self.policies = []
        for actions in product(range(A), repeat=len(self.pairs)):
            policy = np.zeros((H, X), int)
            for (h, x), a in zip(self.pairs, actions, strict=True):
                policy[h, x] = a
            self.policies.append(policy)
        self.sizes, self.start = (H, X, A), environment.start

    def visits(self, policy, P):
        H, X, A = self.sizes
        d, now = np.zeros((H, X, A)), np.eye(X)[self.start]
        for h in range(H):
            for x in range(X):
                d[h, x, policy[h, x]] = now[x]
            now = sum(now[x] * P[h, x, policy[h, x]] for x in range(X))
        return d

    def value(self, policy, P, r):
        return (self.visits(policy, P) * r).sum()


def everywhere(environment):
    H, X, A = environment.horizon, environment.states, environment.actions
    P = np.broadcast_to(environment.transitions, (H, X, A, X))
    return P, np.broadcast_to(environment.rewards, (H, X, A))


def run_plainly(environment, privatizer, constants, K, rng):
    """Algorithms 1 to 3, reading equation (4) with the mixture `cover` returns; regret and survivors."""
    plain, space = Plain(environment), PolicySpace.of(environment)
    H, X, A = plain.sizes
    users, _ = rng.spawn(2)
    problem = Problem(X, A, H, K, len(plain.policies))
    P_true, r_true = everywhere(environment)
    true = np.array([plain.value(policy, P_true, r_true) for policy in plain.policies])
    active, regrets = list(range(len(plain.policies))), []

    def play(numbers, weights, n):
        regrets.extend([true.max() - np.dot(weights, true[numbers])] * n)
        chosen = np.array([plain.policies[i] for i in numbers])
        return user_counts_of_batch(environment, chosen, np.array(weights), n, users)

    def uniform(numbers):
        named = sorted(set(numbers))
        return named, [numbers.count(i) / len(numbers) for i in named]

    for stage in schedule(K, H, constants.first):
        P, W, sought = np.zeros((H, X, A, X)), np.ones((H, X, A, X), bool), []
        for h in range(H):
            layer = []
            for x, a in [(x, a) for g, x in plain.pairs if g == h for a in range(A)]:
                takers = [i for i in active if plain.policies[i][h, x] == a]
                if takers:
                    chance = [plain.visits(plain.policies[i], P)[h, x, a] for i in takers]
                    layer.append(
                        next(i for i, c in zip(takers, chance, strict=True) if c >= max(chance) - 1e-12)
                    )
            sought += layer
            if stage.layers[h] == 0:
                continue
            counts = play(*uniform(layer), stage.layers[h])
            found = privatizer.release(
                BatchCounts(counts.visits[h : h + 1], counts.transitions[h : h + 1]), stage.layers[h], None
            )
            E = privatizer.level(None, stage.layers[h], 0.05)
            W[h] = found.transitions[0] <= constants.frequent * E * H**2 * constants.iota(problem)
            P[h] = np.where(W[h], 0, found.transitions[0] / found.visits[0][..., None])
        mask = np.zeros(len(plain.policies), bool)
        mask[active] = True
        mixture = cover(space, space.reduced(P), mask)
        one = play(mixture.numbers.tolist(), mixture.weights, stage.fine)
        two = play(*uniform(sought), stage.auxiliary)
        counts = BatchCounts(
            one.visits + two.visits, one.transitions + two.transitions, one.rewards + two.rewards
        )
        found = privatizer.release(counts, stage.fine + stage.auxiliary, None)
        P = np.where(W, 0, found.transitions / found.visits[..., None])
        r = found.rewards / found.visits
        values = {i: plain.value(plain.policies[i], P, r) for i in active}
        limit = constants.threshold(problem, 3.0, stage.length)
        active = [i for i in active if max(values.values()) - values[i] < limit]
    return np.array(regrets), active, true


# The quotients keep the margin and the rewards their range: what the printed algorithm computes.
SMALL = EliminationConstants(root=0.01, noise=1e-4, frequent=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_run_is_that_of_the_plain_transcription(seed):
    environment, K = small_mdp(seed), 900
    regrets, active, true = run_plainly(environment, Shifted(), SMALL, K, np.random.default_rng(seed))
    run = SDPPE(Shifted(), K, SMALL).run(environment, np.random.default_rng(seed))
    assert np.abs(run.regrets - regrets).max() < 1e-12
    assert 1 <= run.stages[-1].active == len(active) < len(true)
    assert run.stages[-1].worst_regret == pytest.approx(true.max() - true[active].min(), abs=1e-12)


def test_all_values_and_policies_are_those_of_the_definition():
    environment = small_mdp(5, X=3, A=2, H=2)
    plain, space = Plain(environment), PolicySpace.of(environment)
    assert space.count == len(plain.policies) == 2**4
    P, r = everywhere(environment)
    from dpproof.mechanisms.rl.sdp_pe import _kernels as kernels

    tables = np.empty(int(space.layout.offsets[-1]))
    kernels.all_values(space.layout, space.reduced(P), space.reduced(r), tables)
    for number, policy in enumerate(plain.policies):
        assert (space.policies([number])[0] == policy).all()
        assert space.number(policy) == number
        assert tables[number] == pytest.approx(plain.value(policy, P, r), abs=1e-13)
    best = kernels.greedy(space.layout, space.reduced(P), space.reduced(r))
    assert tables[best] == pytest.approx(environment.optimal_values()[0, 0], abs=1e-13)


def test_river_swim_has_as_many_policies_as_expected_and_its_known_values():
    environment = river_swim(4, 6)
    run = SDPPE(NoPrivacy(), 60, LITERAL).run(environment, np.random.default_rng(0))
    assert PolicySpace.of(environment).count == 2**18
    assert run.stages[-1].worst_regret == pytest.approx(0.475791, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_mixture_covers_every_active_policy_within_the_slack(seed):
    environment, rng = small_mdp(seed), np.random.default_rng(seed)
    plain, space = Plain(environment), PolicySpace.of(environment)
    P = everywhere(environment)[0]
    active = rng.random(space.count) < (1.0 if seed == 0 else 0.2)
    found = cover(space, space.reduced(P), active)
    visits = np.array([plain.visits(policy, P) for policy in plain.policies])
    mixed = np.tensordot(found.weights, visits[found.numbers], axes=1)
    sums = [
        (v[mixed > 0] / mixed[mixed > 0]).sum() if (mixed[v > 0] > 0).all() else np.inf
        for v in visits[active]
    ]
    assert found.weights.sum() == pytest.approx(1)
    assert active[found.numbers].all()
    assert max(sums) == pytest.approx(found.worst)
    assert found.pairs <= max(sums) * (1 + 1e-12)
    assert max(sums) <= (1 + SLACK) * found.pairs * (1 + 1e-12)
    assert found.pairs <= np.prod(plain.sizes)


@pytest.mark.parametrize("seed", range(6))
def test_equation_4_over_single_policies_is_infinite_once_two_policies_differ(seed):
    environment, rng = small_mdp(1), np.random.default_rng(seed)
    plain, space = Plain(environment), PolicySpace.of(environment)
    P = everywhere(environment)[0].copy()
    if seed % 2:
        P[0, :, :, 1] = 0
    active = np.zeros(space.count, bool)
    active[rng.choice(space.count, 1 + seed // 2, replace=False)] = True
    visits = [plain.visits(policy, P) for policy, on in zip(plain.policies, active, strict=True) if on]
    least = min(
        max(np.divide(v, u, out=np.where(v > 0, np.inf, 0.0), where=u > 0).sum() for v in visits)
        for u in visits
    )
    assert printed_coverage(space, space.reduced(P), active) == pytest.approx(least)


def test_two_policies_that_differ_only_where_none_comes_have_a_finite_minimum():
    space = PolicySpace(np.array([[True, False], [True, True]]), 2)
    P = np.zeros((2, 2, 2, 2))
    P[0, 0, :, 0] = 1.0
    active = np.zeros(space.count, bool)
    active[[0, 1]] = True
    assert printed_coverage(space, space.reduced(P), active) == 2.0


def test_counts_of_a_batch_have_the_law_of_single_users():
    """Means of drawn counts against exact ones: 400 batches of 50, alpha 1e-6 by Hoeffding and Bonferroni."""
    environment, rng = small_mdp(2), np.random.default_rng(0)
    plain = Plain(environment)
    policies, weights, batches, users = np.array(plain.policies)[[3, 9]], np.array([0.3, 0.7]), 400, 50
    P, r = everywhere(environment)
    d = sum(w * plain.visits(p, P) for w, p in zip(weights, policies, strict=True))
    total = np.zeros(P.shape), np.zeros(r.shape)
    for _ in range(batches):
        counts = user_counts_of_batch(environment, policies, weights, users, rng)
        assert (counts.visits == counts.transitions.sum(axis=-1)).all()
        assert counts.visits.sum() == users * environment.horizon
        total[0][...] += counts.transitions
        total[1][...] += counts.rewards
    n = batches * users
    width = np.sqrt(np.log(2 * (P.size + r.size) / ALPHA) / (2 * n))
    assert np.abs(total[0] / n - d[..., None] * P).max() <= width
    assert np.abs(total[1] / n - d * r).max() <= width
    # the control: another weighting of the two policies is told apart
    other = sum(w * plain.visits(p, P) for w, p in zip(weights[::-1], policies, strict=True))
    assert np.abs(total[0] / n - other[..., None] * P).max() > width


@pytest.mark.parametrize(("K", "H"), [(3, 1), (7, 3), (20_000, 6), (1000, 4)])
def test_the_schedule_uses_every_episode_once(K, H):
    stages = schedule(K, H)
    assert sum(stage.episodes for stage in stages) == K
    assert all(sum(stage.layers) == stage.length == stage.auxiliary for stage in stages)
    assert [stage.length for stage in stages[:-1]] == [2 ** (b + 1) for b in range(len(stages) - 1)]
    assert all(stage.fine == stage.length for stage in stages[:-1])


def test_literal_constants_drop_nothing_and_the_paper_has_one_switch_more_than_printed():
    run = SDPPE(NoPrivacy(), 20_000, LITERAL).run(river_swim(4, 6), np.random.default_rng(0))
    assert [stage.active for stage in run.stages] == [2**18] * 12
    assert min(stage.threshold for stage in run.stages) > 1e4
    assert run.switches == 89
    assert run.regrets.shape == (20_000,)


def test_tuned_elimination_learns_and_keeps_the_best_policy():
    run = SDPPE(NoPrivacy(), 20_000).run(river_swim(4, 6), np.random.default_rng(0))
    assert run.stages[-1].optimal_stays
    assert run.total_regret < 0.3 * 0.475791 * 20_000
    again = SDPPE(NoPrivacy(), 20_000).run(river_swim(4, 6), np.random.default_rng(0))
    assert (again.regrets == run.regrets).all()


def test_constants_of_the_proof():
    problem = Problem(4, 2, 6, 20_000, 2**18)
    assert REPAIRED.iota(problem) == pytest.approx(np.log(4 * 6 * 16 * 2 * 20_000 * 2.0**18 / 0.05))
    root = np.sqrt(8 * 216 * REPAIRED.iota(problem) / 64)
    noise = 64 * 2 * 6**5 * 10 * REPAIRED.iota(problem) / 64
    assert REPAIRED.threshold(problem, 10.0, 64) == pytest.approx(2 * (68 * root + 8000 * noise))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: SDPPE(NoPrivacy(), 2).run(small_mdp(), np.random.default_rng(0)), ValueError, "episodes"),
        (
            lambda: SDPPE(NoPrivacy(), 9, replace(TUNED, root=0.0)).run(
                small_mdp(), np.random.default_rng(0)
            ),
            EmptyActiveSetError,
            "threshold",
        ),
        (
            lambda: cover(PolicySpace(np.ones((1, 1), bool), 2), np.zeros((1, 1, 2, 1)), np.zeros(2, bool)),
            EmptyActiveSetError,
            "at least one policy",
        ),
        (lambda: PolicySpace.of(river_swim(4, 6)).place(1, 3), UnreachableStateError, "reachable at step 1"),
        (lambda: PolicySpace.of(river_swim(6, 20)), ValueError, "enumerated"),
        (lambda: PolicySpace(np.ones((2, 2), bool), 2), ValueError, "one reachable state at the first step"),
        (lambda: EliminationConstants(delta=0.0), ValueError, "delta"),
        (lambda: EliminationConstants(root=-1.0), ValueError, "root"),
        (lambda: EliminationConstants(first=0), ValueError, "first"),
    ],
)
def test_what_cannot_be_is_refused_by_name(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_the_place_of_a_reachable_state():
    space = PolicySpace.of(river_swim(4, 6))
    assert [space.place(5, x) for x in range(4)] == [0, 1, 2, 3]
