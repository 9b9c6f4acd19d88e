"""The audit of the learning algorithm RLSVI against its Gaussian DP guarantee, under rewards-only adjacency.

The audit runs a problem at its given size; it does not replace a big problem by a smaller one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters, account
from dpproof.audits.data.pairs import Neighbours, rlsvi_pair
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.engine.runner import audit_pair
from dpproof.audits.engine.scores.atoms import Atoms
from dpproof.audits.engine.scores.linear import LinearDiscriminant
from dpproof.audits.engine.scores.protocol import LogLikelihoodRatio, Score, whole
from dpproof.audits.plan import BUDGET, AuditPlan
from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.target import RUN, Subject, Told, variant
from dpproof.mechanisms.rl.rlsvi.rlsvi import RLSVI, log_likelihood_ratio
from dpproof.mechanisms.rl.rlsvi.users import Users

KIND = "rlsvi"
PUBLISHED = "CORRECT"
"""The name in the record of an audit for the noise of the published algorithm."""
DELTA = 1e-6
NUMBERS = 50_000_000
"""With the default budget, an audit draws about this many random numbers at most."""
FEWEST = 2_000
"""The smallest default budget."""
WIDEST = 4096
"""Tables with more numbers than this count as big."""
EARLY = 8
"""The number of first episodes that the scores of big tables use."""


@dataclass(frozen=True)
class RLSVIAudit:
    """The audit of RLSVI, or of a variant of it, against the guarantee of RLSVI.

    Source of the claim: arXiv:2606.01952v1, Lemma 11, applied to each cell (a step, a state and an action) and
    summed, as Gaussian differential privacy.

    Attributes:
        parameters: the parameters of the accountant, for a problem of any size. Samples of big problems are slow, so
            the default budget is 100 000 samples, or fewer for tables of more than 500 numbers.
        noise_rule: the name of the variant that is run; see `audits.target.variant`.
        curve: the claimed guarantee; None for the accountant's guarantee. With a given curve, the plan's ``replay``
            takes the place of the usual replay data, which do not describe the curve.
    """

    fields: ClassVar[Mapping[str, type]] = {"parameters": dict, "noise_rule": str, **RUN}
    relations: ClassVar[tuple[Adjacency, ...]] = (Adjacency.REWARDS_ONLY,)

    parameters: RLSVIParameters
    noise_rule: str = PUBLISHED
    curve: PrivacyCurve | None = None

    @classmethod
    def of(cls, subject: Subject) -> RLSVIAudit:
        """Return the audit of the mechanism that ``subject`` describes."""
        return cls(cast(RLSVIParameters, subject.parameters), curve=subject.curve)

    def audit(self, plan: AuditPlan) -> Evidence:
        """Run the audit, and return the evidence. The default delta is 1e-6."""
        parameters, pair = self.parameters, rlsvi_pair(self.parameters)
        claimed = account(parameters, Adjacency.REWARDS_ONLY).notion if self.curve is None else self.curve
        again = {"audit": KIND, "parameters": parameters.as_json(), "noise_rule": self.noise_rule}
        asked = replace(
            plan.filled(KIND, DELTA, _default_budget(parameters)),
            scores=rlsvi_scores(parameters, pair),
            replay=again if self.curve is None else plan.replay,
            known_ratio=True,
        )
        run = variant(RLSVI, self.noise_rule, PUBLISHED)
        return audit_pair(claimed, run(parameters).sample, pair, asked)

    @classmethod
    def read(cls, how: Told) -> RLSVIAudit:
        """Return the audit that ``how``, the record of an earlier audit, describes."""
        return cls(RLSVIParameters.read(how.table("parameters")), how.text("noise_rule"))


TARGET = RLSVIAudit


def rlsvi_scores(parameters: RLSVIParameters, pair: Neighbours) -> tuple[Score, ...]:
    """Return the scores: the exact likelihood ratio of the published algorithm, and four learned scores.

    The learned scores find faults in variants of the algorithm. A cell is a step, a state and an action. One fault is
    that a variant reuses its noise. Then the entries of the cell that user 0 visited last are related: the entry in
    the second table is an affine function of the entry in the first table and of user 0's reward. A linear score on
    this cell finds this function at any size. For big tables the other scores use only the cells that user 0 visited.
    """
    exact = partial(_ratio, parameters, pair.first, pair.second)
    last = LinearDiscriminant(view=partial(last_cell, users=pair.first))
    view = whole if _width(parameters) <= WIDEST else partial(first_path, users=pair.first)
    sharp, shrunk = LinearDiscriminant(view=view), LinearDiscriminant(ridge=None, view=view)
    return LogLikelihoodRatio(exact), sharp, shrunk, Atoms(view=view), last


def first_path(tables: NDArray[np.float64], users: Users) -> NDArray[np.float64]:
    """Return the entries of the first `EARLY` tables in the cells that user 0 visits.

    The result is an array ``(n, episodes, H)``. A table belongs to an episode, and user 0 acts by the first table.

    Args:
        tables: the released tables of n runs: an array of K episodes, H steps, S states and A actions
            ``(n, K, H, S, A)``.
        users: one of the two inputs; user 0 has the same next states in both.
    """
    rows, state = np.arange(len(tables)), np.full(len(tables), users.start)
    seen = []
    for h in range(users.horizon):
        action = tables[rows, 0, h, state].argmax(axis=1)
        seen.append(tables[rows, :EARLY, h, state, action])
        state = users.next_states[0, h, state, action]
    return np.stack(seen, axis=-1)


def last_cell(tables: NDArray[np.float64], users: Users) -> NDArray[np.float64]:
    """Return the entries of `first_path` at the last step, which contain only rewards and noise.

    The result is an array ``(n, episodes)``.
    """
    return first_path(tables, users)[..., -1]


def _ratio(
    parameters: RLSVIParameters, users: Users, other: Users, tables: NDArray[np.float64]
) -> NDArray[np.float64]:
    return log_likelihood_ratio(parameters, tables, users, other)


def _default_budget(parameters: RLSVIParameters) -> int:
    return max(FEWEST, min(BUDGET, NUMBERS // _width(parameters)))


def _width(parameters: RLSVIParameters) -> int:
    return parameters.episodes * parameters.horizon * parameters.states * parameters.actions
