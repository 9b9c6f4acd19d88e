"""The audit of RLSVI against its tight Gaussian claim, under rewards-only adjacency.

Sizes are audited as given; there is no smaller stand-in for a big problem.
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
"""What a witness calls the noise of the algorithm as it is published."""
DELTA = 1e-6
NUMBERS = 50_000_000
"""The default budget draws at most about so many numbers."""
FEWEST = 2_000
"""The default budget is at least this."""
WIDEST = 4096
"""Tables of more numbers are big."""
EARLY = 8
"""Scores of big tables look at so many episodes from the first on."""


@dataclass(frozen=True)
class RLSVIAudit:
    """RLSVI, or a variant of it, against the guarantee of RLSVI.

    Source of the claim: cell by cell sum of arXiv:2606.01952v1, Lemma 11, as Gaussian differential privacy.

    Attributes:
        parameters: of any size; samples of big problems are slow, so fewer are drawn by default: 100 000, or
            fewer for tables of more than 500 numbers.
        noise_rule: the name of what is run; see `audits.target.variant`.
        curve: the claim, if not the accountant's guarantee; such an audit does not replay by itself.
    """

    fields: ClassVar[Mapping[str, type]] = {"parameters": dict, "noise_rule": str, **RUN}
    relations: ClassVar[tuple[Adjacency, ...]] = (Adjacency.REWARDS_ONLY,)

    parameters: RLSVIParameters
    noise_rule: str = PUBLISHED
    curve: PrivacyCurve | None = None

    @classmethod
    def of(cls, subject: Subject) -> RLSVIAudit:
        """The mechanism of the catalogue."""
        return cls(cast(RLSVIParameters, subject.parameters), curve=subject.curve)

    def audit(self, plan: AuditPlan) -> Evidence:
        """The evidence; epsilon is stated at 1e-6 unless the plan says where."""
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
        """The audit of a witness."""
        return cls(RLSVIParameters.read(how.table("parameters")), how.text("noise_rule"))


TARGET = RLSVIAudit


def rlsvi_scores(parameters: RLSVIParameters, pair: Neighbours) -> tuple[Score, ...]:
    """The exact likelihood ratio of the published law, and four scores that learn what another law reveals.

    Reused noise makes the second table an affine function of the first, up to user 0's reward, in the cell
    that user 0 visited last; a discriminant that looks there finds the exact statistic at any size. Of big
    tables only the cells that user 0 visited are learned from.
    """
    exact = partial(_ratio, parameters, pair.first, pair.second)
    last = LinearDiscriminant(view=partial(last_cell, users=pair.first))
    view = whole if _width(parameters) <= WIDEST else partial(first_path, users=pair.first)
    sharp, shrunk = LinearDiscriminant(view=view), LinearDiscriminant(ridge=None, view=view)
    return LogLikelihoodRatio(exact), sharp, shrunk, Atoms(view=view), last


def first_path(tables: NDArray[np.float64], users: Users) -> NDArray[np.float64]:
    """The first `EARLY` tables in the cells that user 0 visits under the first: ``(n, episodes, H)``.

    Args:
        tables: the released tables ``(n, K, H, S, A)``.
        users: either of the inputs; user 0 moves alike in both.
    """
    rows, state = np.arange(len(tables)), np.full(len(tables), users.start)
    seen = []
    for h in range(users.horizon):
        action = tables[rows, 0, h, state].argmax(axis=1)
        seen.append(tables[rows, :EARLY, h, state, action])
        state = users.next_states[0, h, state, action]
    return np.stack(seen, axis=-1)


def last_cell(tables: NDArray[np.float64], users: Users) -> NDArray[np.float64]:
    """The last column of `first_path`, ``(n, episodes)``, which contains only reward and noise."""
    return first_path(tables, users)[..., -1]


def _ratio(
    parameters: RLSVIParameters, users: Users, other: Users, tables: NDArray[np.float64]
) -> NDArray[np.float64]:
    return log_likelihood_ratio(parameters, tables, users, other)


def _default_budget(parameters: RLSVIParameters) -> int:
    return max(FEWEST, min(BUDGET, NUMBERS // _width(parameters)))


def _width(parameters: RLSVIParameters) -> int:
    return parameters.episodes * parameters.horizon * parameters.states * parameters.actions
