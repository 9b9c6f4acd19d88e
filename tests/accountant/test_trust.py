"""Trust models: the billboard lemma speaks of a billboard and of nothing else."""

import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.trust import BILLBOARD, TrustModel, billboard


def test_a_central_billboard_gives_joint_privacy():
    assert billboard(TrustModel.CENTRAL) is TrustModel.JOINT
    assert BILLBOARD.statement == "rlsvi.lemma9"


@pytest.mark.parametrize("model", [model for model in TrustModel if model is not TrustModel.CENTRAL])
def test_other_models_are_refused(model):
    with pytest.raises(ValueError, match=rf"\('{model.value}'\) must be 'central'"):
        billboard(model)


@pytest.mark.parametrize("name", ["", "rewards_only", "REPLACE", "swap"])
def test_an_unknown_adjacency_is_refused_with_the_known_ones(name):
    with pytest.raises(ValueError, match=r"must be one of: add-remove, replace, rewards-only, expert"):
        Adjacency.of(name)
