"""Releases on a grid: their type says whether a guarantee holds, and nobody can change them afterwards.

Reference: the Python operations that make one object of another (copy, pickle, replace, setting of fields).
"""

import copy
import dataclasses
import pickle
import warnings

import numpy as np
import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.accountant.rl.thompson.thompson import ThompsonParameters
from dpproof.mechanisms.randomness import Randomness, SimulationError
from dpproof.mechanisms.rl.policy_evaluation.estimator import DPLSW
from dpproof.mechanisms.rl.rlsvi.release import RLSVIRelease, RLSVIStream
from dpproof.mechanisms.rl.thompson.thompson import Thompson

PARAMETERS = RLSVIParameters(states=2, actions=2, horizon=1, episodes=2)
RELATION = {"dp-lsw": Adjacency.REPLACE}


def stream(seed=None):
    found = RLSVIStream(PARAMETERS, seed)
    found.table()
    return found


def estimated(seed=None):
    batch = Episodes(np.zeros(9, int), np.zeros(9, int), np.full(9, 0.5), np.ones(9, int), np.arange(9))
    model = DPLSW(states=1, discount=0.5, epsilon=1.0, delta=1e-6, return_bound=1.0, random_state=seed)
    with warnings.catch_warnings(action="ignore"):  # nine users are too few for an estimate
        return model.fit(batch).released_


DRAWN = {
    "rlsvi": lambda seed=None: stream(seed).release(),
    "thompson": lambda seed=None: Thompson(ThompsonParameters(1, 2)).publish([[0.5], [1.0]], seed),
    "dp-lsw": estimated,
}


@pytest.mark.parametrize("name", DRAWN)
def test_no_copy_or_change_gives_a_simulation_a_guarantee(name):
    found, relation = DRAWN[name](7), RELATION.get(name, Adjacency.REWARDS_ONLY)
    for change in ("simulated", "integers", "parameters", "mechanism", "guarantee"):
        with pytest.raises(AttributeError):
            setattr(found, change, False)
    with pytest.raises(AttributeError):
        object.__setattr__(found, "simulated", False)
    with pytest.raises(AttributeError):
        found.__class__ = type(DRAWN[name]())
    with pytest.raises((TypeError, ValueError), match=r"simulated|randomness"):
        dataclasses.replace(found, simulated=False)
    with pytest.raises(ValueError, match="must come from a seed or a generator"):
        dataclasses.replace(found, randomness=Randomness.of(None))
    saved = pickle.dumps(found).replace(b"simulated\x88", b"simulated\x89")
    for other in (found, copy.copy(found), copy.deepcopy(found), pickle.loads(saved)):
        assert other.simulated
        assert not other.as_json()["covers_released_bits"]
        with pytest.raises(SimulationError, match="no guarantee"):
            other.account(relation)


@pytest.mark.parametrize("name", DRAWN)
def test_a_release_keeps_its_guarantee_and_cannot_be_made_of_a_seed(name):
    found, relation = DRAWN[name](), RELATION.get(name, Adjacency.REWARDS_ONLY)
    for other in (found, copy.copy(found), pickle.loads(pickle.dumps(found))):
        assert not other.simulated
        assert other == found
        assert other.account(relation).covers_released_bits
    with pytest.raises(ValueError, match="must come from entropy"):
        type(found)(found.parameters, found.integers, found.exponent, Randomness.of(7))


def test_what_a_stream_released_is_the_same_whatever_is_done_with_it():
    source = stream()
    first, table = source.release(), source.table()
    with pytest.raises(TypeError):
        first.integers[0][0][0][0] = 10**9
    with pytest.raises(AttributeError):
        first.integers.append(())
    first.as_json()["integers"][0][0][0][0] = 10**9
    first.tables[:] = 1e9
    source.table()[:] = 1e9
    assert np.array_equal(source.table(), table)
    assert np.array_equal(first.tables[0], table)
    source.see([0, 1], [1], [1.0])
    source.table()
    assert source.release().integers[:1] == first.integers
    assert len(first.integers) == 1


def test_a_stream_is_a_simulation_by_what_draws_its_tables():
    source = stream(3)
    with pytest.raises(AttributeError):
        source.simulated = False
    with pytest.raises(TypeError, match="must not be pickled"):
        copy.copy(source)
    with pytest.raises(SimulationError, match="no guarantee"):
        source.account(Adjacency.REWARDS_ONLY)
    assert type(source.release()) is not RLSVIRelease
    assert type(stream().release()) is RLSVIRelease
