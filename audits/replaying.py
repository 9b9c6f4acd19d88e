"""Replay: a finding is run again from its witness, and must come out the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from audits.evidence import Evidence

__all__ = ["ReplayError", "replay"]

_AUDITS = {
    "rlsvi": ("audits.rlsvi", "audit_rlsvi_again"),
    "policy-evaluation": ("audits.policy_evaluation", "audit_policy_evaluation_again"),
    "expert-release": ("audits.experts", "audit_release_again"),
    "selective-dpsgd": ("audits.experts", "audit_training_again"),
    "corpus": ("audits.named", "audit_case_again"),
    "named": ("audits.named", "audit_named_again"),
    "reward canaries": ("audits.training.reward_canaries", "audit_reward_canaries_again"),
    "primitive": ("audits.primitives", "audit_primitive_again"),
    "dp-sgd": ("audits.training.views", "audit_dp_sgd_again"),
    "opacus": ("audits.training.opacus_engine", "audit_opacus_again"),
    "expert training": ("audits.training.experts", "audit_expert_training_again"),
    "expert canaries": ("audits.training.expert_runs", "audit_expert_canaries_again"),
}
"""From the name under which a witness says what was audited to the function that does it again."""
STATED = ("claim", "verdict", "seed", "alpha", "delta")
"""What comes out the same although the mechanism has randomness of its own."""


class ReplayError(ValueError):
    """Raised when a witness cannot be replayed, or does not come out the same; names what differs.

    Attributes:
        found: what the audit found this time; None where it did not run.
        different: the keys of the witness that came out differently.
    """

    def __init__(self, text: str, found: Evidence | None = None, different: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.found, self.different = found, tuple(different)


def replay(
    witness: Mapping[str, Any], run: Callable[[Mapping[str, Any]], Evidence] | None = None
) -> Evidence:
    """Run the audit of a witness again and check that everything in the witness comes out the same.

    Of a mechanism with randomness of its own, which no seed determines, only the verdict and what was asked
    (`STATED`) are compared; by bad luck a weak finding may then come out differently.

    Args:
        witness: the value under ``"witness"`` of `Evidence.as_json`, perhaps read back from a file.
        run: does the audit again, for mechanisms that this project has no name for; it takes seed, delta,
            alpha and ``witness["replay"]["budget"]`` from the witness.

    Raises:
        ReplayError: nothing says how, or the new witness differs.
    """
    again = _find(witness) if run is None else run
    evidence = again(witness)
    given, found = _plain(witness), _plain(evidence.witness())
    seeded = given.get("replay", {}).get("seeded", True)
    compared = given.keys() | found.keys() if seeded else STATED
    different = sorted(key for key in compared if given.get(key) != found.get(key))
    if different:
        key = different[0]
        raise ReplayError(
            f"witness: {', '.join(different)} came out differently: "
            f"{key} is {found.get(key)!r}, not {given.get(key)!r}",
            evidence,
            different,
        )
    return evidence


def _find(witness: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Evidence]:
    name = witness.get("replay", {}).get("audit")
    if name not in _AUDITS:
        raise ReplayError(f"witness: audit ({name!r}) must be one of {sorted(_AUDITS)}, or `run` be given")
    module, function = _AUDITS[name]
    found: Callable[[Mapping[str, Any]], Evidence] = getattr(import_module(module), function)
    return found


def _plain(witness: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(witness))
    return plain
