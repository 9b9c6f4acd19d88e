"""The fixture's method `compare`: what passes, what fails and with which words."""

import numpy as np
import pytest

from dpproof.accountant.claims.claim import Claim
from dpproof.privacy_tests import Privacy

MORE, LESS = [0.9, 0.2, 0.7], [0.9, 0.2]


def privacy(strict=False, adjacency="add-remove", **promise):
    from dpproof.accountant.claims.adjacency import Adjacency

    claim = Claim("test_it", "the:test", {}, Adjacency.of(adjacency), promise or {"epsilon": 1.0})
    return Privacy(claim, 0.001, 0, strict=strict)


def bounded_sum(data, rng):
    return np.clip(data, 0, 1).sum() + rng.laplace(0, 1)


def test_a_sound_sum_passes():
    held = privacy()
    held.compare(bounded_sum, MORE, LESS)
    assert held.checks == 1
    assert held.properties == [("privacy", "no difference found, 1 draws")]


def test_a_difference_fails_with_file_and_line():
    with pytest.raises(pytest.fail.Exception, match=r"test_privacy_compare.py:\d+: The scale of the Laplace"):
        privacy().compare(lambda data, rng: bounded_sum(data, rng) / len(data), MORE, LESS)


def test_an_undecided_comparison_fails_a_strict_test_only():
    def two_sided(data, rng):
        return len(data) + rng.geometric(0.6) - rng.geometric(0.6)

    privacy().compare(two_sided, MORE, LESS)
    with pytest.raises(pytest.fail.Exception, match="undecided"):
        privacy(strict=True).compare(two_sided, MORE, LESS)


def test_what_cannot_be_compared_is_one_line():
    with pytest.raises(pytest.fail.Exception, match="must be an epsilon"):
        privacy(rho=0.5).compare(bounded_sum, MORE, LESS)
    with pytest.raises(pytest.fail.Exception, match="not a pair of neighbours"):
        privacy(adjacency="replace").compare(bounded_sum, MORE, LESS)
