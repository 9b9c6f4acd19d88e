"""jax-privacy's CanaryScoreAuditor, given the output as the score: for these mechanisms that is optimal."""

from jax_privacy.auditing import CanaryScoreAuditor
from tasks import sample, serve


def answer(task, rng):
    """Clopper-Pearson over all thresholds."""
    n = task["per_side"]
    auditor = CanaryScoreAuditor(sample(task, 1, n, rng), sample(task, 0, n, rng))
    lower = float(auditor.epsilon_clopper_pearson(task["alpha"], task["delta"]))
    return {"epsilon_lower": lower, "refutes": lower > task["claimed"], "samples": 2 * n}


serve(answer, "jax-privacy")
