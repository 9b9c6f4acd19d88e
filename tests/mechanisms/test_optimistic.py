"""Compiled optimistic learning is Algorithms 1 and 2, whatever noise it is handed."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from flint import arb, ctx

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.rl.private_ucb import _kernels as kernels
from dpproof.mechanisms.rl.private_ucb.agents import PrivateUCBPO, PrivateUCBVI
from dpproof.mechanisms.rl.private_ucb.constants import (
    CONSISTENT,
    SPARSE,
    THEORY,
    TUNED,
    Constants,
    Projection,
)
from dpproof.mechanisms.rl.private_ucb.dp_ucbvi import DPUCBVI, QIAO_WANG_TUNED, VarianceConstants
from dpproof.mechanisms.rl.private_ucb.privatizers import CountNoise, ExactCounts, Levels
from tests.rows import rows, tiered


class Drawn:
    """A privatizer of small Gaussian noise, in blocks of 7 episodes; E1 = 2, E2 = 1."""

    def __init__(self, S, A, H, K, pooled, scale=0.3):
        self.parameters = ExactCounts(S, A, H, K, pooled)
        self.scale = scale

    def rows(self, rng):
        p = self.parameters
        shape = (p.episodes, 1 if p.pooled else p.horizon, p.states, p.actions)
        arrays = [rng.normal(0, self.scale, extended) for extended in (shape, shape, (*shape, p.states))]
        return [array.astype(np.float32) for array in arrays]

    def noise(self, rng, block=7):
        arrays = self.rows(rng)
        for first in range(0, self.parameters.episodes, block):
            yield CountNoise(first, *(array[first : first + block] for array in arrays))

    def levels(self, delta):
        return Levels(2.0, 1.5, 1.0)


def test_the_exponential_is_within_an_ulp_of_arb_s():
    """Seed 8: 3000 logarithms a scale, the ends of every scaling by a power of 2, and what is below them."""
    rng = np.random.default_rng(8)
    halves = (np.arange(1021) + 0.5) * -np.log(2)
    drawn = [-rng.random(3000) * scale for scale in (1e-300, 1e-9, 1e-3, 0.35, 1.0, 30.0, 708.0)]
    edges = [0.0, -0.0, -5e-324, -708.0]
    worst = 0.0
    with ctx.workprec(200):
        for x in np.concatenate([*drawn, halves, np.nextafter(halves, 0), edges]).tolist():
            exact, found = arb(x).exp(), kernels.exponential(x)
            ulp = arb(float(np.spacing(float(exact))))
            worst = max(worst, float(abs(arb(found) - exact) / ulp))
    assert worst < 1.0
    assert [kernels.exponential(x) for x in (0.0, -708.0001, -1e300, -np.inf)] == [1.0, 0.0, 0.0, 0.0]


def random_mdp(seed, S=3, A=2, H=3):
    rng = np.random.default_rng(seed)
    return TabularMDP(rng.dirichlet(np.full(S, 0.6), (S, A)), rng.random((S, A)), H)


def bonuses(constants, S, A, H, K, visits, h, policy):
    """Beta of Algorithm 1 (policy) or 2, for the released N~, straight from Lemmas 3.1 and 4.1; h from 0."""
    T, d = K * H, constants.delta
    Lc = constants.width * np.sqrt(2 * np.log(4 * S * A * T / d))
    Lp = constants.width * np.sqrt(4 * S * np.log(6 * S * A * T / d))
    n = np.maximum(1, visits + constants.shift * 2.0)
    steps = H - 1 - h if constants.remaining else H
    errors = 3 * 2.0 + steps * (S * 1.0 + 2 * 2.0)
    width = Lc + steps * (Lp if policy else Lc)
    return n, width / np.sqrt(n) + constants.error * errors / n


def plain(environment, drawn, constants, rng, policy):
    """Algorithms 1 and 2 in numpy, all counts summed anew in every episode; returns trajectories, values."""
    p = drawn.parameters
    S, A, H, K = p.states, p.actions, p.horizon, p.episodes
    draws, noises = rng.spawn(2)
    zN, zC, zP = drawn.rows(noises)
    episodes, values = [], []
    pi = np.full((H, S, A), 1 / A)
    eta = constants.learning_rate * np.sqrt(2 * np.log(A) / (H**2 * K))
    for k in range(K):
        N, C, P = (np.zeros(z.shape[1:]) for z in (zN, zC, zP))
        for episode in episodes:
            for h, (s, a, c, t) in enumerate(episode):
                g = 0 if p.pooled else h
                N[g, s, a] += 1
                C[g, s, a] += c
                P[g, s, a, t] += 1
        if k > 0:
            N, C, P = N + zN[k], C + zC[k], P + zP[k]
        Q, V = np.zeros((H, S, A)), np.zeros((H + 1, S))
        for h in reversed(range(H)):
            g = 0 if p.pooled else h
            n, beta = bonuses(constants, S, A, H, K, N[g], h, policy)
            q = C[g] / n
            for t in range(S):
                q = q + P[g, :, :, t] / n * V[h + 1, t]
            Q[h] = np.minimum(H - h, np.maximum(0, q - beta))
            V[h] = (Q[h] * pi[h]).sum(axis=1) if policy else Q[h].min(axis=1)
        chances = pi.copy() if policy else np.eye(A)[Q.argmin(axis=2)]
        values.append(environment.policy_values(chances)[0, environment.start])
        s, episode = environment.start, []
        for h in range(H):
            a = int(np.searchsorted(np.cumsum(chances[h, s])[:-1], draws.random(), "right")) if policy else 0
            a = a if policy else int(chances[h, s].argmax())
            u, possible = draws.random(), np.flatnonzero(environment.transitions[s, a])
            sums = environment.transitions[s, a, possible].cumsum()
            t = int(possible[min(np.searchsorted(sums, u, "right"), len(possible) - 1)])
            episode.append((s, a, 1 - environment.rewards[s, a], t))
            s = t
        episodes.append(episode)
        pi = pi * np.exp(-eta * Q)
        pi /= pi.sum(axis=2, keepdims=True)
    return episodes, np.array(values)


SMALL = Constants(width=0.05, error=0.02, shift=0.5, learning_rate=5.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "constants", tiered([THEORY, SMALL, TUNED], fast=1), ids=["theory", "small", "tuned"]
)
@rows("pooled", [False, True])
@rows("sizes", [(4, 3, 5), (3, 1, 1)], ids=["S4-A3-H5", "S3-A1-H1"])
@rows("learner", [PrivateUCBVI, PrivateUCBPO])
def test_a_run_is_the_algorithm_fed_with_the_same_noise_and_draws(learner, sizes, pooled, constants):
    """Sizes that all differ: an index made with the wrong one of them is another index."""
    environment, drawn = random_mdp(3, *sizes), Drawn(*sizes, 60, pooled)
    run = learner(drawn, constants).run(environment, np.random.default_rng(11), keep=True)
    slow, values = plain(environment, drawn, constants, np.random.default_rng(11), learner is PrivateUCBPO)
    assert run.states[:, :-1].tolist() == [[step[0] for step in episode] for episode in slow]
    assert run.actions.tolist() == [[step[1] for step in episode] for episode in slow]
    best = environment.optimal_values()[0, environment.start]
    np.testing.assert_allclose(run.regrets, best - values, rtol=0, atol=1e-9)


@pytest.mark.parametrize("learner", [PrivateUCBVI, PrivateUCBPO])
def test_exact_counts_are_noise_of_zero(learner):
    environment = random_mdp(5)
    for pooled in (False, True):
        silent = Drawn(3, 2, 3, 80, pooled, scale=0.0)
        constants = Constants(width=0.05, error=0.0, shift=0.0)
        runs = [
            learner(counts, constants).run(environment, np.random.default_rng(2), keep=True)
            for counts in (silent, silent.parameters)
        ]
        assert runs[0].states.tobytes() == runs[1].states.tobytes()
        assert runs[0].regrets.tobytes() == runs[1].regrets.tobytes()


@pytest.mark.parametrize("projection", list(Projection))
def test_without_noise_the_projections_change_nothing_but_the_margin(projection):
    environment = random_mdp(6)
    plainly = Constants(width=0.05, error=0.0, shift=0.0)
    projected = Constants(width=0.05, error=0.0, shift=0.0, projection=projection)
    exact = ExactCounts(3, 2, 3, 200)
    runs = [
        PrivateUCBVI(exact, c).run(environment, np.random.default_rng(1), keep=True)
        for c in (plainly, projected)
    ]
    assert runs[0].states.tobytes() == runs[1].states.tobytes()


@pytest.mark.slow
def test_everything_learns_on_exact_counts_and_the_theory_s_constants_explore():
    swim, rng = river_swim(), np.random.default_rng
    exact = ExactCounts(6, 2, 20, 3000, pooled=True)
    never = swim.optimal_values()[0, 0] * 3000
    for learner, constants in (
        (PrivateUCBVI, TUNED),
        (PrivateUCBVI, CONSISTENT),
        (PrivateUCBVI, SPARSE),
        (PrivateUCBPO, TUNED),
        (DPUCBVI, QIAO_WANG_TUNED),
    ):
        assert learner(exact, constants).run(swim, rng(0)).total_regret < 0.1 * never
    for learner, constants in ((PrivateUCBVI, THEORY), (DPUCBVI, VarianceConstants())):
        assert learner(exact, constants).run(swim, rng(0)).total_regret > 0.5 * never


def test_equal_seeds_give_equal_bytes_whatever_the_number_of_workers():
    drawn, environment = Drawn(3, 2, 3, 50, False), random_mdp(1)
    learner = PrivateUCBVI(drawn, SMALL)
    alone = learner.run_many(environment, 4, 4, keep=True)
    with ThreadPoolExecutor(3) as pool:
        together = learner.run_many(environment, 4, 4, pool, keep=True)
    for one, other in zip(alone, together, strict=True):
        assert one.regrets.tobytes() == other.regrets.tobytes()
        assert one.states.tobytes() == other.states.tobytes()
    assert len({run.states.tobytes() for run in alone}) == 4


class Bits(np.random.PCG64):
    """A bit generator that can be referred to weakly."""


class Watched(np.random.Generator):
    """A generator whose children's bit generators are watched."""

    def spawn(self, n_children):
        made = [Bits(seed) for seed in range(n_children)]
        self.seen = [weakref.ref(bits) for bits in made]
        return [np.random.Generator(bits) for bits in made]


def generators_left(learner):
    """How many bit generators of a run outlive it."""
    rng = Watched(np.random.PCG64(0))
    learner.run(random_mdp(1), rng)
    gc.collect()
    assert len(rng.seen) == 2
    return sum(seen() is not None for seen in rng.seen)


@pytest.mark.slow
def test_no_generator_outlives_its_run(monkeypatch):
    drawn = Drawn(3, 2, 3, 20, False)
    for learner in (PrivateUCBVI(drawn, SMALL), PrivateUCBPO(drawn, SMALL), DPUCBVI(drawn, QIAO_WANG_TUNED)):
        assert generators_left(learner) == 0
    monkeypatch.setattr(kernels, "loop", kernels.block)  # it has no reference counts
    assert generators_left(PrivateUCBVI(drawn, SMALL)) == 1


def test_it_runs_with_the_paper_s_privatizer():
    from dpproof.mechanisms.rl.private_ucb.privatizers_paper import CentralPrivatizer

    counts = CentralPrivatizer(CentralCountsParameters(6, 2, 20, 300, printed_epsilon=1.0))
    regrets = PrivateUCBVI(counts).run(river_swim(), np.random.default_rng(0)).regrets
    assert regrets.shape == (300,)
    assert (regrets >= -1e-12).all()


def test_bad_input_is_refused_by_name():
    exact = ExactCounts(3, 2, 3, 10)
    with pytest.raises(ValueError, match=r"states \(6\) must be 3, as in the parameters of the privatizer"):
        PrivateUCBVI(exact).run(river_swim(), np.random.default_rng(0))
    for fields, message in (
        ({"delta": 0.0}, r"delta \(0.0\)"),
        ({"width": -1.0}, r"width \(-1.0\)"),
        ({"error": np.inf}, r"error \(inf\)"),
    ):
        with pytest.raises(ValueError, match=message):
            Constants(**fields)
    with pytest.raises(ValueError, match=r"beta \(2\)"):
        VarianceConstants(beta=2)
    with pytest.raises(ValueError, match="counts without noise are not private"):
        exact.account(Adjacency.REPLACE)


@pytest.mark.parametrize(("A", "scale", "eta"), [(20, 1.7e308, "inf"), (2, 1.7e308, r"6\.\d+e\+307")])
def test_a_learning_rate_that_overflows_is_refused_before_any_work(A, scale, eta):
    """Either eta itself is infinite, or the K sums of it are, by which every action would be lost."""
    environment, K = random_mdp(1, 2, A, 1), 1 if A == 20 else 10
    learner = PrivateUCBPO(ExactCounts(2, A, 1, K), Constants(learning_rate=scale))
    rng = np.random.default_rng(0)
    with pytest.raises(
        ValueError, match=rf"learning_rate \(1\.7e\+308\) is too large\. It gives eta \({eta}\)"
    ):
        learner.run(environment, rng)
    assert rng.spawn(1)[0].random() == np.random.default_rng(0).spawn(1)[0].random()
    most = PrivateUCBPO(ExactCounts(2, A, 1, K), Constants(learning_rate=1e307)).run(environment, rng)
    assert np.isfinite(most.regrets).all()
    with pytest.raises(ValueError, match=r"learning_rate \(inf\)"):
        Constants(learning_rate=np.inf)
