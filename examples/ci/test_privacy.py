"""The promises of this project, as tests."""

import neighbours
import pytest
import releases


@pytest.mark.privacy(epsilon=1.0, adjacency="add-remove")
def test_the_count_is_private(privacy):
    """Laplace noise, as the notice says."""
    privacy.audit(releases.count, *neighbours.users())


@pytest.mark.privacy(epsilon=1.0, adjacency="add-remove")
def test_the_total_is_private_also_for_outliers(privacy):
    """A user far outside the range moves the total no further than the range."""
    privacy.audit(releases.total, *neighbours.values())


@pytest.mark.privacy(epsilon=1.5, delta=1e-6, adjacency="by-sensitivity")
def test_the_weekly_report_is_proved_private(privacy):
    """Proved from its parameters, without a sample."""
    privacy.certify("gaussian", sigma=5.0, compositions=2)
