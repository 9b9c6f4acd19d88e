"""The audit of a function with parameters: every setting of the parameters is audited in turn.

Each setting has an equal share of the error probability alpha and of the budget. So the whole audit raises a false
alarm with probability at most alpha (docs/notes/audit_pairs.md, Theorem 5). Within a setting, the audit searches for
the worst pair of neighbouring inputs as usual.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any, cast

from dpproof.audits.data.extremes import Extremes
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.data.schema import Allowed, Between
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.engine.sampling.callables import Auditable, Mechanism, MechanismError, as_mechanism_with
from dpproof.audits.engine.worst_pair import EachOf, WorstOf, called_with, shared
from dpproof.audits.plan import AuditPlan
from dpproof.audits.recording.evidence import Evidence

FEWEST = 1000
"""The smallest number of samples for each setting of the parameters."""
Pairs = Neighbours | WorstOf | EachOf | Extremes
Claimed = PrivacyCurve | Callable[..., PrivacyCurve]
"""A guarantee, or a function that returns the guarantee for the parameters, which it takes as keywords."""
Run = Callable[[Pairs, PrivacyCurve, Mechanism, AuditPlan], Evidence]


@dataclass(frozen=True)
class Varied:
    """Neighbouring inputs, and parameters of the audited function of which every combination is audited.

    Attributes:
        inputs: the neighbouring inputs of every audit.
        vary: for each parameter a list of its values, or a range `Between`, of which the audit tries the two ends and
            the middle.
        options: ``failures``, ``nan`` and ``seeded``, as for `dpproof.audit`.

    Raises:
        ValueError: there is no parameter, or a parameter has no values; or the inputs are not pairs of neighbours.

    >>> pair = Neighbours([0], [1], "replace", "0 or 1")
    >>> [*Varied(pair, {"scale": [1, 2], "clip": Between(0, 4)}).settings()][0]
    {'scale': 1, 'clip': 0}
    """

    inputs: Pairs
    vary: Mapping[str, Allowed]
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that every parameter has values, and that the inputs are pairs."""
        if not isinstance(self.inputs, Pairs):
            raise ValueError(
                f"vary must be left out for {type(self.inputs).__name__}. It needs data, or pairs of neighbours."
            )
        if not isinstance(self.vary, Mapping) or not self.vary:
            raise ValueError(f"vary ({self.vary!r:.60}) must map at least one parameter to its values")
        for name, values in self.vary.items():
            if not isinstance(values, Between) and (not isinstance(values, list | tuple) or not values):
                raise ValueError(
                    f"vary ({name!r}: {values!r:.60}) must give a list of values, or a range Between(low, high)"
                )

    def settings(self) -> Iterator[dict[str, Any]]:
        """Generate every combination of the values of the parameters."""
        grids = (one.grid if isinstance(one, Between) else one for one in self.vary.values())
        return (dict(zip(self.vary, values, strict=True)) for values in product(*grids))


def claimed_for(curve: Claimed, values: Mapping[str, Any]) -> PrivacyCurve:
    """Return the claimed guarantee for one setting of the parameters.

    Raises:
        ValueError: ``curve`` is neither a guarantee nor a function that returns one for the parameters.
    """
    given: Any = curve
    if hasattr(given, "delta"):
        return cast(PrivacyCurve, given)
    rule = f"guarantee ({given!r:.60}) must be a guarantee, or a function of {', '.join(values)} that returns one"
    try:
        found = given(**values)
    except Exception as wrong:  # whatever the user's function does
        raise ValueError(f"{rule}. For {values!r} it raised {type(wrong).__name__}: {wrong}") from wrong
    if not hasattr(found, "delta"):
        raise ValueError(f"{rule}. For {values!r} it returned {found!r:.60}. Return dpproof.PureDP(epsilon).")
    return cast(PrivacyCurve, found)


def audit_varied(curve: Claimed, sampler: Auditable, varied: Varied, plan: AuditPlan, run: Run) -> Evidence:
    """Return the evidence from audits of all settings, which end at the first violation.

    Args:
        curve: the claimed guarantee, or a function that returns it for the parameters.
        sampler: the audited function, which takes the parameters as keywords.
        varied: the inputs and the parameters.
        plan: the settings of the whole audit.
        run: the function that audits one setting.

    Returns:
        The evidence on the setting with the strongest evidence against its claim. Its ``pair`` names the pair and the
        parameters. ``epsilon_lower`` applies to this setting. The other fields are those of `audit_each`.

    Raises:
        MechanismError: the function fails; the message names the parameters.
        ValueError: as for `dpproof.audit`, or if the budget is too small for so many settings.
    """
    count = math.prod(3 if isinstance(one, Between) else len(one) for one in varied.vary.values())
    if plan.drawn < FEWEST * count:
        raise ValueError(
            f"budget ({plan.drawn}) must be at least {FEWEST} samples for each of the {count} settings of the"
            f" parameters. Use a budget of {FEWEST * count}, or fewer values."
        )
    settings = list(varied.settings())
    called: dict[str, object] = {"curve": curve, "sampler": sampler, "varied": varied, "scores": plan.scores}
    called |= {"power": plan.power, "known_ratio": plan.known_ratio}
    how = called_with("audit_varied", plan.replay, called)
    found: dict[str, float] = {}

    def audited(values: Mapping[str, Any], here: AuditPlan) -> Evidence:
        one = _audited(curve, sampler, varied, values, here, run)
        found[one.pair] = one.epsilon_lower
        return one

    jobs = [partial(audited, values) for values in settings]
    whole = shared(jobs, replace(plan, searched=None), how)
    again = {**whole.replay, **plan.spent, "settings": len(settings)}
    return replace(whole, epsilon_lower=found[whole.pair], replay=again)


def _audited(
    curve: Claimed, sampler: Auditable, varied: Varied, values: Mapping[str, Any], plan: AuditPlan, run: Run
) -> Evidence:
    """Return the evidence on one setting of the parameters, whose descriptions of pairs name the parameters."""
    said = f" (parameters: {', '.join(f'{name} = {value!r}' for name, value in values.items())})"
    if isinstance(sampler, Mechanism):
        raise ValueError("vary must be left out for a Mechanism. Give the function itself, and its options.")
    function: Any = getattr(sampler, "sample", sampler)
    try:
        made = as_mechanism_with(partial(function, **values), varied.options)
        found = run(varied.inputs, claimed_for(curve, values), made, plan)
    except MechanismError as failure:
        raise MechanismError(f"{failure}{said}") from failure
    pairs = tuple({**pair, "description": pair["description"] + said} for pair in found.pairs)
    replay = {**found.replay, "parameters": {name: _plain(value) for name, value in values.items()}}
    others = f"values of the parameters {', '.join(values)} that were not given"
    return replace(
        found, pair=found.pair + said, pairs=pairs, replay=replay, not_covered=(*found.not_covered, others)
    )


def _plain(value: object) -> object:
    """Return a parameter as JSON data: a finite number, a text or a truth value; any other value as a text."""
    usual = (
        value is None
        or isinstance(value, bool | int | str)
        or (isinstance(value, float) and math.isfinite(value))
    )
    return value if usual else repr(value)
