"""dp-recorder: the noise call is annotated, so its input, its sensitivity and its scale are known to the tool.

Two runs are compared first. Then the loss of the call is taken from dp-accounting ("trusted noise"), or it is bounded
from samples of the call.
"""

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_recorder.auditing.audit_primitives import Auditor, audit_spec
from tasks import serve

ROUNDED = 1e-3
"""Losses of dp-accounting are rounded up on a grid, so only a loss that exceeds the claim by more counts as a find."""


def annotated(task):
    """Return the mechanism's noise call with dp-recorder's annotation."""
    laplace, trusted = task["mechanism"] == "laplace", "trusted" in task["peer"]
    law = pld.from_laplace_mechanism if laplace else pld.from_gaussian_mechanism

    @audit_spec(
        kind=task["mechanism"],
        input_arg="values",
        sensitivity_arg="sensitivity",
        metric_fn=lambda one, other: float(np.abs(one - other).sum()),
        accountant=(lambda scale, sensitivity: law(scale, sensitivity=sensitivity)) if trusted else None,
    )
    def noisy(values, scale, sensitivity):
        noise = np.random.laplace if laplace else np.random.normal
        return values + noise(0, scale, values.shape)

    return noisy


def found(task, auditor):
    """Return what two runs show: the reason of the tool, or nothing."""
    noisy = annotated(task)
    try:
        for label in (0.0, 1.0):
            if label:
                auditor.set_replay()
            with auditor:
                noisy(np.array([label]), task["scale"], 1.0)
        auditor.validate_records()
    except AssertionError as error:
        return str(error)
    return ""


def answer(task, rng):
    """The tool's lower bound on epsilon at the claim's delta, or at delta 0 for a pure claim on sampled noise."""
    np.random.seed(rng.integers(2**32))  # noqa: NPY002  (the noise call uses this generator)
    auditor, trusted, n = Auditor(), "trusted" in task["peer"], task["per_side"]
    seen = found(task, auditor)
    auditor.run_distributional_audit(n_samples=2 * n, alpha=task["alpha"])
    auditor.compute_overall_pld()
    if trusted or task["delta"]:
        bound = float(auditor.get_overall_current_guarantee(delta=task["delta"]))
    else:
        bound = float(auditor.log[0].empirical_epsilon_lb)
    refutes = bool(seen) or bound > task["claimed"] + ROUNDED * trusted
    return {"epsilon_lower": bound, "refutes": refutes, "seen": seen, "samples": 2 if trusted else 2 * n}


serve(answer, "dp-recorder", "commit 85d189e")
