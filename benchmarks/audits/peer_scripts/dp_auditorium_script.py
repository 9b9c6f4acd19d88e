"""dp_auditorium's hockey-stick tester with its default model: it rejects (epsilon, delta) or does not."""

import numpy as np
from dp_auditorium.configs import privacy_property, property_tester_config
from dp_auditorium.testers import hockey_stick_tester
from tasks import sample, serve


def answer(task, rng):
    """Train on half, bound on the other half; both orders of the inputs share the failure probability."""
    n = task["per_side"]
    claim = privacy_property.ApproximateDp(epsilon=task["claimed"], delta=task["delta"])
    config = property_tester_config.HockeyStickPropertyTesterConfig(
        training_config=hockey_stick_tester.make_default_hs_training_config(), approximate_dp=claim
    )
    tester = hockey_stick_tester.HockeyStickPropertyTester(
        config=config, base_model=hockey_stick_tester.make_default_hs_base_model()
    )
    drawn = [sample(task, label, n, rng).astype(np.float32) for label in (0, 1)]
    bounds = [tester.estimate_lower_bound(*pair, task["alpha"] / 2) for pair in (drawn, drawn[::-1])]
    return {
        "epsilon_lower": None,
        "delta_lower": float(max(bounds)),
        "refutes": any(tester.reject_property(bound) for bound in bounds),
        "samples": 2 * n,
    }


serve(answer, "dp-auditorium")
