"""Entropy and simulations. References: counts with a stated alpha; what pickle writes."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters, LocalCountsParameters
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.accountant.rl.thompson.thompson import ThompsonParameters
from dpproof.mechanisms.environments.bandit import bandit
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.noise.geometric import geometric_noise
from dpproof.mechanisms.primitives import sampler_for
from dpproof.mechanisms.randomness import Entropy, Randomness, SimulationError, guaranteed
from dpproof.mechanisms.rl.private_ucb.agents import PrivateUCBPO, PrivateUCBVI
from dpproof.mechanisms.rl.private_ucb.dp_ucbvi import DPUCBVI
from dpproof.mechanisms.rl.private_ucb.private_counts import PrivateCounts, SimulatedNoise, local_report
from dpproof.mechanisms.rl.private_ucb.privatizers import ExactCounts
from dpproof.mechanisms.rl.private_ucb.privatizers_paper import CentralPrivatizer
from dpproof.mechanisms.rl.rlsvi.release import RLSVIStream
from dpproof.mechanisms.rl.rlsvi.rlsvi import RLSVI
from dpproof.mechanisms.rl.sdp_pe.agent import SDPPE
from dpproof.mechanisms.rl.sdp_pe.bandit import PrivateBanditUCB
from dpproof.mechanisms.rl.sdp_pe.privatizer import NoPrivacy
from dpproof.mechanisms.rl.thompson.thompson import Thompson
from tests.rows import rows, tiered

ALPHA = 1e-9


@pytest.mark.parametrize(
    "source", [0, [1, 2], np.random.SeedSequence(3), np.random.default_rng(4), np.int64(5)]
)
def test_a_seed_or_a_generator_makes_a_simulation(source):
    found = Randomness.of(source)
    assert found.simulated
    with pytest.raises(SimulationError, match="no guarantee"):
        guaranteed(found.simulated, lambda: pytest.fail("the guarantee was computed"))


def test_without_a_seed_entropy_is_drawn_and_the_guarantee_stands():
    found = Randomness.of(None)
    assert not found.simulated
    assert guaranteed(found.simulated, lambda: "it") == "it"
    assert Randomness.of(found) is found
    assert not Randomness.of(found.generator).simulated


def test_no_other_generator_passes_for_entropy():
    class Mine(Entropy):
        def integers(self, *_arguments, **_options):
            return 4

    assert Randomness.of(Mine()).simulated
    assert Randomness(np.random.default_rng(0)).simulated


@pytest.mark.parametrize("source", [-1, "x", 0.5, {}])
def test_a_seed_that_is_none_is_refused(source):
    with pytest.raises(ValueError, match=r"seed .* must be an integer of at least 0"):
        Randomness.of(source)


@pytest.mark.parametrize("rng", [Entropy(), Randomness.of(None).spawn(2)[1].generator])
@pytest.mark.parametrize(
    ("low", "high"), [(0, 2), (-(2**63), 2**63), (-3, 4), (0, 1 << 62), (5, 6), (0, 3 * (1 << 60))]
)
def test_entropys_integers_are_uniform(rng, low, high):
    drawn = rng.integers(low, high, 60_000)
    assert drawn.dtype == np.int64
    assert low <= drawn.min() <= drawn.max() < high
    parts = min(high - low, 50)
    cells = np.array([(int(x) - low) * parts // (high - low) for x in drawn])
    if parts > 1:
        assert stats.chisquare(np.bincount(cells, minlength=parts)).pvalue > ALPHA


def test_every_bit_of_a_word_is_fair():
    words = Entropy().integers(0, 1 << 62, 20_000)
    for bit in range(62):
        assert stats.binomtest(int((words >> bit & 1).sum()), len(words)).pvalue > ALPHA / 62


def test_entropys_integers_have_the_forms_of_numpys():
    rng, numpys = Entropy(), np.random.default_rng(0)
    forms = (3,), (0, 3), (0, 3, 4), (0, 3, (2, 5)), (0, 3, 0), (np.array([2, 3]),), (0, 2**64, 9, np.uint64)
    for arguments in (*forms, (0, 3, 4, np.uint8), (0, 255, 9, np.uint8, True), (0, 3, None, int)):
        one, other = rng.integers(*arguments), numpys.integers(*arguments)
        assert np.shape(one) == np.shape(other)
        assert np.asarray(one).dtype == np.asarray(other).dtype
    with pytest.raises(ValueError, match="low >= high"):
        rng.integers(3, 3)


def test_exact_samplers_read_the_operating_systems_entropy_only(monkeypatch):
    """Two generators with the same key still differ: their integers come from elsewhere."""
    monkeypatch.setattr("dpproof.mechanisms.randomness.secrets.randbits", lambda _bits: 7)
    same = [Entropy() for _ in range(2)]
    assert same[0].random() == same[1].random()
    first, second = (geometric_noise(Fraction(1000), 50, rng) for rng in same)
    assert (first != second).any()


def test_two_sources_of_entropy_differ_and_none_is_saved():
    one, other = (Randomness.of(None).generator for _ in range(2))
    assert one.random() != other.random()
    for held in (one, Randomness.of(None), Randomness.of(0)):
        with pytest.raises(TypeError, match="must not be saved"):
            pickle.dumps(held)


SWIM = river_swim(4, 5)
SIZES = {"states": 4, "actions": 2, "horizon": 5, "episodes": 12}
CENTRAL = CentralPrivatizer(CentralCountsParameters(**SIZES, scale=30.0))
LEARNERS = {
    "rlsvi": RLSVI(RLSVIParameters(**SIZES)),
    "value iteration": PrivateUCBVI(CENTRAL),
    "policy optimisation": PrivateUCBPO(CENTRAL),
    "by variance": DPUCBVI(CENTRAL),
    "elimination": SDPPE(NoPrivacy(), episodes=12),
}


@pytest.mark.parametrize("name", tiered(list(LEARNERS), fast=2))
def test_every_learner_runs_from_entropy_and_says_when_it_is_a_simulation(name):
    learner = LEARNERS[name]
    free = learner.run(SWIM), learner.run_many(SWIM, None, 1)[0]
    fixed = learner.run(SWIM, 0), learner.run(SWIM, np.random.default_rng(0)), learner.run_many(SWIM, 0, 1)[0]
    assert [run.simulated for run in (*free, *fixed)] == [False] * 2 + [True] * 3
    assert all("drawn from entropy, in real arithmetic" in repr(run) for run in free)
    assert all("simulation" in repr(run) for run in fixed)
    assert np.array_equal(fixed[0].regrets, fixed[1].regrets)


def test_thompson_and_bandits_run_from_entropy():
    thompson = Thompson(ThompsonParameters(arms=2, rounds=9))
    assert not thompson.learn([0.1, 0.9], 2).simulated
    assert "simulation" in repr(thompson.learn([0.1, 0.9], 2, 0))
    learner = PrivateBanditUCB(ExactCounts(states=1, actions=2, horizon=1, episodes=9))
    assert not learner.run(bandit([0.1, 0.9])).simulated
    assert learner.run(bandit([0.1, 0.9]), 3).simulated


def test_a_stream_of_simulated_noise_has_no_guarantee():
    parameters = CentralCountsParameters(**SIZES, scale=3.0)
    counts = PrivateCounts(parameters, SimulatedNoise(np.random.default_rng(0)))
    with pytest.raises(SimulationError, match="no guarantee"):
        counts.account(Adjacency.REPLACE)


@pytest.mark.parametrize("name", ["parameters", "exponent", "simulated"])
def test_what_a_stream_draws_with_cannot_be_changed_under_its_guarantee(name):
    stream = RLSVIStream(RLSVIParameters(states=2, actions=2, horizon=1, episodes=2))
    stream.table()
    with pytest.raises(AttributeError):
        setattr(stream, name, RLSVIParameters(states=2, actions=2, horizon=1, episodes=2, beta_scale=100.0))


def test_private_counts_keep_their_parameters_and_are_not_copied():
    counts = PrivateCounts(CentralCountsParameters(**SIZES, scale=3.0), _Unmarked())
    with pytest.raises(AttributeError):
        counts.parameters = CentralCountsParameters(**SIZES, scale=3000.0)
    for again in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="drawn twice"):
            again(counts)


def test_noise_that_does_not_say_what_draws_it_has_no_guarantee():
    class Claiming(_Unmarked):
        simulated = False

    for noise in (_Unmarked(), Claiming()):
        counts = PrivateCounts(CentralCountsParameters(**SIZES, scale=3.0), noise)
        with pytest.raises(SimulationError, match="no guarantee"):
            counts.account(Adjacency.REPLACE)
        with pytest.raises(AttributeError):
            counts.simulated = False


@pytest.mark.parametrize("other", [0.0, np.float64(0), np.float32(0), False])
@pytest.mark.parametrize("name", ["geometric", "discrete-gaussian"])
def test_a_whole_answer_is_not_rounded_because_another_is_a_double(name, other):
    """2^60 + 129 beside 0.0 would become 2^60 + 256: answers one apart would be released 256 apart."""
    scale = {"geometric": "scale", "discrete-gaussian": "sigma"}[name]
    parameters = accountant_for(name).parameters.read({scale: 1e-6, "compositions": 2})
    for answer in (2**60 + 129, 2**62, -(2**62), np.int64(2**62 - 1)):
        found = sampler_for(name)(parameters, [answer, other], 3, Entropy())
        assert found.tolist() == [[answer, 0]] * 3


@rows("answer", [2**62 + 1, 2**63 - 1, -(2**63), 2**63, 2**70, 0.5, np.nan, np.inf, "3", None, 1j])
@rows("name", ["geometric", "discrete-gaussian", "randomised-response"])
def test_an_answer_that_64_bits_may_not_hold_with_its_noise_is_refused_before_any_draw(name, answer):
    given = {"geometric": {"scale": 1.0}, "discrete-gaussian": {"sigma": 1.0},
             "randomised-response": {"randomness": 0.5}}[name]  # fmt: skip
    parameters = accountant_for(name).parameters.read(given)
    with pytest.raises(ValueError, match=r"must be whole numbers in \[-2\^62, 2\^62\]"):
        sampler_for(name)(parameters, [answer], 1, None)  # no generator: nothing can be drawn


@pytest.mark.parametrize("scale", [1e-3, 1e-19, 1e-30, 1e-150, 5e-324])
def test_noise_of_the_smallest_scales_is_drawn(scale):
    for name, of in (("geometric", "scale"), ("discrete-gaussian", "sigma")):
        parameters = accountant_for(name).parameters.read({of: scale})
        assert (sampler_for(name)(parameters, [3], 20, Entropy()) == 3).all()


class _Unmarked:
    integer = False

    def __call__(self, law, scale):
        return np.zeros


class _NoNoise:
    integer = True

    def __call__(self, law, scale):
        return np.zeros


def test_whole_costs_are_never_rounded_on_their_way_to_the_noise():
    """At most 2^53 grains are summed: beyond, users one grain apart would be several apart."""
    grains = 2**53 // (9 * 10**4)
    sizes = {"states": 1, "actions": 1, "horizon": 10**4, "episodes": 9}
    given = {**sizes, "scale": 1.0, "noise": "discrete-laplace"}
    found = []
    for last in (1.0, 1.0 - 1 / grains):
        counts = PrivateCounts(CentralCountsParameters(**given, grains=grains, pooled=True), _NoNoise())
        for k in range(8):
            counts.update(k, [0] * 10001, [0] * 10000, [1.0] * 9999 + [last if k == 0 else 0.3])
        found.append(int(counts._trees["costs"].release(8)[0]))
    assert found[0] - found[1] == 1
    finer = CentralCountsParameters(**given, grains=grains + 1, pooled=True)
    with pytest.raises(ValueError, match=r"grains .* must be at most 2\^53 / 90000"):
        PrivateCounts(finer, _NoNoise())
    alone = LocalCountsParameters(**given, grains=2**53 // 10**4 + 1)
    with pytest.raises(ValueError, match=r"grains .* must be at most 2\^53 / 10000"):
        local_report(alone, _NoNoise(), [0] * 10001, [0] * 10000, [1.0] * 10000)
