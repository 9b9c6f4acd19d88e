"""Audits of the noise primitives of the catalogue, each against its accountant's own guarantee.

One table says for every name which pair of inputs is hard and which score suits it. What runs is the code of
`mechanisms`, floating-point noise included: Gaussian and Laplace noise is numpy's, and the audit looks at the
values of what is released, not at their lowest bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.guarantees.notions import ApproxDP
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.engine.runner import BUDGET, audit
from dpproof.audits.engine.sampling.callables import Mechanism
from dpproof.audits.engine.scores import (
    LinearDiscriminant,
    LogLikelihoodRatio,
    Score,
    logistic,
    tokens,
    trees,
)
from dpproof.audits.engine.unaudited import NoAuditError
from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.targets import primitive_pairs as pairs
from dpproof.audits.targets import primitive_ratios as ratios
from dpproof.audits.targets.rl import private_counts as counts
from dpproof.audits.targets.rl import shuffled_batches as batches
from dpproof.audits.targets.rl.thompson import first_user
from dpproof.mechanisms.primitives import Primitive
from dpproof.mechanisms.rl.thompson.thompson import log_likelihood_ratio

__all__ = ["SETTINGS", "Setting", "audit_primitive", "audit_primitive_again", "setting_of"]

DELTA = 1e-6
NUMBERS = 50_000_000
"""The default budget draws at most about so many numbers."""
FEWEST = 2_000
"""The default budget is at least this."""
ABSENT = {
    "compositions": "nothing is released",
    "steps": "nothing is released",
    "sensitivity": "nothing moves",
}
"""Parameters that leave nothing to audit where they are 0, and why."""


def _always(_parameters: Any) -> bool:
    return True


@dataclass(frozen=True)
class Setting:
    """How a primitive is audited.

    Attributes:
        pair: the hard pair, from parameters and relation.
        ratio: the log-likelihood ratio of the stated law, ``ratio(outputs, parameters, first, second)``.
        learned: scores besides it, for outputs of more than one number; where there is no ratio, all of
            them, and ``None`` for those of the engine.
        has_ratio: whether the law of outputs with these parameters is the ratio's; else scores are learned.
        samples: the default budget, at most.
    """

    pair: Callable[[Any, Adjacency], Neighbours]
    ratio: Callable[..., Any] | None = None
    learned: tuple[Score, ...] | None = (LinearDiscriminant(ridge=None),)
    has_ratio: Callable[[Any], bool] = _always
    samples: int = BUDGET

    def known(self, parameters: Any) -> bool:
        """Whether the likelihood ratio of the outputs is known."""
        return self.ratio is not None and self.has_ratio(parameters)

    def scores(self, parameters: Any, pair: Neighbours, width: int) -> tuple[Score, ...] | None:
        """The scores for outputs of ``width`` numbers."""
        if self.ratio is None or not self.known(parameters):
            return self.learned
        exact = partial(
            _applied, ratio=self.ratio, parameters=parameters, first=pair.first, second=pair.second
        )
        return LogLikelihoodRatio(exact), *((self.learned or ()) if width > 1 else ())


def _applied(
    outputs: Any, *, ratio: Callable[..., Any], parameters: Any, first: Any, second: Any
) -> NDArray[np.float64]:
    """The ratio in single precision: its rounding errors would be a view of the lowest bits of the outputs.

    With them, floating-point Laplace noise is refuted within a thousand samples.
    """
    return np.asarray(ratio(outputs, parameters, first, second), np.float32).astype(np.float64)


def _smooth(log_density: Callable[..., Any]) -> Setting:
    return Setting(pairs.smooth_answers, partial(ratios.smooth, log_density=log_density))


def _shuffled(outputs: Any, parameters: Any, first: int, second: int) -> Any:
    """Printed sums are told apart by the message that one input alone can have, bits by their number."""
    if parameters.encoding == "bits":
        return ratios.shuffled(outputs, parameters, first, second)
    return -outputs[:, 0].astype(np.float64)


_AT_NODES = (LinearDiscriminant(ridge=None, view=counts.node_ends),)

SETTINGS: Mapping[str, Setting] = {
    "gaussian": Setting(pairs.answers, ratios.gaussian),
    "laplace": Setting(pairs.answers, ratios.laplace),
    "geometric": Setting(pairs.answers, ratios.laplace),
    "discrete-gaussian": Setting(pairs.answers, ratios.gaussian),
    "binomial": Setting(pairs.counts, ratios.binomial),
    "randomised-response": Setting(pairs.responses, ratios.response),
    "exponential": Setting(pairs.choices, ratios.choice),
    "permute-and-flip": Setting(partial(pairs.choices, tied=True), ratios.choice),
    "tree": Setting(pairs.tree_streams, ratios.gaussian_tree),
    "laplace-tree": Setting(pairs.tree_streams, ratios.laplace_tree),
    "matrix-counting": Setting(pairs.streams, ratios.matrix),
    "sparse-vector": Setting(pairs.queries, None, (tokens(), trees(), logistic())),
    "dp-sgd": Setting(pairs.training, ratios.training),
    "smooth-gaussian": _smooth(ratios.smooth_gaussian),
    "smooth-laplace": _smooth(ratios.smooth_laplace),
    "smooth-cauchy": _smooth(ratios.smooth_cauchy),
    "smooth-student": _smooth(ratios.smooth_student),
    "smooth-log-normal": _smooth(ratios.smooth_log_normal),
    "shuffled-count": Setting(pairs.shuffled_bits, _shuffled, samples=5_000_000),
    "shuffled-batch": Setting(batches.batch_users, batches.batch_ratio),
    "central-counts": Setting(counts.central_users, counts.central_ratio, _AT_NODES, counts.has_ratio),
    "local-counts": Setting(counts.local_users, counts.local_ratio, _AT_NODES),
    "batched-counts": Setting(counts.batched_users, counts.batched_ratio),
    "thompson": Setting(first_user, log_likelihood_ratio),
}
"""Command-line name -> how it is audited."""


def audit_primitive(
    name: str,
    parameters: Any,
    adjacency: Adjacency,
    *,
    seed: int,
    delta: float | None = None,
    alpha: float = 0.01,
    budget: int | None = None,
    sharpen: bool = False,
    executor: Executor | None = None,
    claim: str | None = None,
    curve: PrivacyCurve | None = None,
    replay: Mapping[str, Any] | None = None,
) -> Evidence:
    """Audit a primitive of this project against its accountant's guarantee, or against ``curve``.

    Where the guarantee has no finite epsilon at ``delta`` but a paper prints one, that is the claim.

    Args:
        name: one of `SETTINGS`.
        parameters: of its accountant.
        adjacency: the relation that the claim speaks of.
        seed, alpha, sharpen, executor: as for `audit`.
        delta: where epsilon is stated; unless given, 0 for a pure guarantee and 1e-6 for any other.
        budget: the most samples; by default the setting's, or fewer where an output has many numbers.
        claim: the name in the evidence; that of the primitive unless given.
        curve: the claim, if it is not the accountant's guarantee; then ``replay`` must say what it is.
        replay: JSON data that the witness carries instead of what `dpproof.replay` would need.

    Raises:
        NoAuditError: no audit is known, or the parameters leave nothing to tell apart.
        ValueError: an argument is outside its range, or nothing is proved under this relation.

    >>> from dpproof.accountant.noise.laplace import LaplaceParameters
    >>> once = LaplaceParameters(scale=1.0)
    >>> audit_primitive("laplace", once, Adjacency.BY_SENSITIVITY, seed=0, budget=2000).verdict.value
    'consistent'
    """
    setting, mechanism = setting_of(name, parameters), Primitive(name, parameters)
    claimed = _claimed(mechanism.account(adjacency), delta) if curve is None else curve
    pair = setting.pair(parameters, adjacency)
    width = mechanism.sample(pair.first, 1, np.random.default_rng(0)).size
    again = {"audit": "primitive", "name": name, "parameters": parameters.as_json()}
    again["adjacency"] = adjacency.value
    return audit(
        name if claim is None else claim,
        claimed,
        Mechanism(mechanism.sample),
        pair,
        setting.scores(parameters, pair, width),
        seed=seed,
        delta=_stated(claimed) if delta is None else delta,
        alpha=alpha,
        budget=max(FEWEST, min(setting.samples, NUMBERS // width)) if budget is None else budget,
        sharpen=sharpen,
        executor=executor,
        replay=again if curve is None else replay,
        known_ratio=setting.known(parameters),
    )


def _claimed(found: PrivacyResult, delta: float | None) -> PrivacyCurve:
    """The guarantee; the printed claim where only that promises anything at delta."""
    stated = _stated(found.guarantee) if delta is None else delta
    if found.published is None or math.isfinite(found.guarantee.epsilon(stated).upper):
        return found.guarantee
    printed = found.published.epsilon(stated).upper
    return ApproxDP(printed, stated) if math.isfinite(printed) else found.guarantee


def _stated(claimed: PrivacyCurve) -> float:
    """Where epsilon is stated unless somebody asks elsewhere."""
    return 0.0 if math.isfinite(claimed.epsilon(0.0).upper) else DELTA


def setting_of(name: str, parameters: Any) -> Setting:
    """How a primitive of these parameters is audited.

    Raises:
        NoAuditError: there is no audit of that name, or nothing to audit.
    """
    if name not in SETTINGS:
        raise NoAuditError(f"mechanism ({name!r}): an audit is known of {', '.join(SETTINGS)} only")
    for field, why in ABSENT.items():
        if getattr(parameters, field, 1) == 0:
            raise NoAuditError(f"{field} (0) must be above 0 for an audit of {name}: {why}")
    return SETTINGS[name]


def audit_primitive_again(witness: Mapping[str, Any]) -> Evidence:
    """Run the audit that a witness describes; see `dpproof.replay`."""
    how = witness["replay"]
    return audit_primitive(
        how["name"],
        accountant_for(how["name"]).parameters.read(how["parameters"]),
        Adjacency.of(how["adjacency"]),
        seed=witness["seed"],
        delta=witness["delta"],
        alpha=witness["alpha"],
        budget=how["budget"],
        sharpen=how["sharpen"],
        claim=witness["claim"],
    )
