"""dp-recorder on the same cases: its annotations on the two primitives, and its three checks.

dp-recorder is not a dependency. Put its ``src`` folder on the path to fill its columns.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import io
from contextlib import redirect_stdout
from typing import Any

import numpy as np

from benchmarks.paired_runs.case import Case, Primitives, noise

SAMPLES = 10_000
ROUNDED = 0.1
"""dp-recorder's epsilon is an estimate from samples. It is a finding if it exceeds the claim by more than this."""


def _library() -> Any:
    return importlib.import_module("dp_recorder.auditing.audit_primitives")


def installed() -> bool:
    """Return whether dp-recorder can be imported."""
    return importlib.util.find_spec("dp_recorder") is not None


def _distance(order: int) -> Any:
    def distance(one: Any, other: Any) -> float:
        if np.shape(one) != np.shape(other):
            return float("inf")
        found = float(np.linalg.norm(np.ravel(one) - np.ravel(other), ord=order))
        return float("inf") if np.isnan(found) else found

    return distance


def _annotated(library: Any) -> dict[str, Any]:
    """Return the two primitives with dp-recorder's annotations, and its check of equality."""

    def of(kind: str, name: str, order: int) -> Any:
        return library.audit_spec(
            kind=kind, input_arg="values", sensitivity_arg="sensitivity", metric_fn=_distance(order)
        )(getattr(Primitives, name))

    return {
        "laplace": of("Laplace", "laplace", 1),
        "gaussian": of("Gaussian", "gaussian", 2),
        "public": lambda **values: library.ensure_equality(**values),
    }


def answer(case: Case) -> str:
    """Return what dp-recorder reports: a structural check, an estimate, nothing; or that it saw no primitive."""
    library = _library()
    auditor = library.Auditor()
    vars(noise).update(_annotated(library))
    try:
        with redirect_stdout(io.StringIO()):
            return _checked(auditor, case)
    finally:
        vars(noise).clear()


def _checked(auditor: Any, case: Case) -> str:
    np.random.seed(0)
    try:
        with auditor:
            case.mechanism(copy.deepcopy(case.first))
        if not auditor.log:
            return "no annotated primitive"
        auditor.set_replay()
        with auditor:
            case.mechanism(copy.deepcopy(case.second))
        auditor.validate_records()
    except (AssertionError, RuntimeError) as error:
        return f"found ({str(error).split(' @')[0].split(':')[0][:40]})"
    except Exception as error:
        return f"raised {type(error).__name__}"
    return _estimated(auditor, case)


def _estimated(auditor: Any, case: Case) -> str:
    try:
        auditor.run_distributional_audit(n_samples=SAMPLES, alpha=0.95)
        auditor.compute_overall_pld()
        found = float(auditor.get_overall_current_guarantee(delta=max(case.delta, 1e-5)))
    except Exception as error:
        return f"nothing; estimate raised {type(error).__name__}"
    return (
        f"found (estimate {found:.2f})"
        if found > case.epsilon + ROUNDED
        else f"nothing (estimate {found:.2f})"
    )
