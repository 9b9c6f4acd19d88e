"""Replay: a finding is run again from its witness, and must come out the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.recording.written import read
from dpproof.audits.time_budget import ending_where

__all__ = ["AUDITS", "ReplayError", "audit_called_again", "replay"]

RUN = {"budget": int, "sharpen": bool}
AUDITS: Mapping[str, tuple[str, str, Mapping[str, type]]] = {
    "rlsvi": (
        "dpproof.audits.targets.rl.rlsvi",
        "audit_rlsvi_again",
        {"parameters": dict, "noise_rule": str, **RUN},
    ),
    "policy-evaluation": (
        "dpproof.audits.targets.rl.policy_evaluation",
        "audit_policy_evaluation_again",
        {"parameters": dict, "adjacency": str, **RUN},
    ),
    "expert-release": (
        "dpproof.audits.targets.rl.expert",
        "audit_release_again",
        {"parameters": dict, **RUN},
    ),
    "selective-dpsgd": (
        "dpproof.audits.targets.rl.expert",
        "audit_training_again",
        {"parameters": dict, **RUN},
    ),
    "corpus": ("dpproof.audits.named", "audit_case_again", {"case": str, "budget": int}),
    "named": (
        "dpproof.audits.named",
        "audit_named_again",
        {"promise": dict, "adjacency": str, "neighbours": str, "options": dict, "budget": int},
    ),
    "reward canaries": (
        "dpproof.audits.training.cases",
        "audit_reward_canaries_again",
        {"parameters": dict, "noise_rule": str, "runs": int},
    ),
    "primitive": (
        "dpproof.audits.targets.primitives",
        "audit_primitive_again",
        {"name": str, "parameters": dict, "adjacency": str, **RUN},
    ),
    "dp-sgd": (
        "dpproof.audits.training.views",
        "audit_dp_sgd_again",
        {"settings": dict, "view": str, "steps": int, **RUN},
    ),
    "opacus": ("dpproof.audits.training.opacus_cases", "audit_opacus_again", {"settings": dict, **RUN}),
    "expert training": (
        "dpproof.audits.training.experts",
        "audit_expert_training_again",
        {"settings": dict, "view": str, **RUN},
    ),
    "expert canaries": (
        "dpproof.audits.training.expert_runs",
        "audit_expert_canaries_again",
        {"settings": dict, "runs": int},
    ),
    "call": (
        "dpproof.audits.recording.replaying",
        "audit_called_again",
        {"function": str, "arguments": dict},
    ),
}
"""What was audited -> the module and the function that does it again, and the fields it reads, by type."""
CALLED = {
    "audit": "dpproof.audits.engine.runner",
    "audit_each": "dpproof.audits.engine.worst_pair",
    "audit_one_run": "dpproof.audits.training.one_run_audit",
    "audit_steps": "dpproof.audits.training.steps",
    "audit_worst": "dpproof.audits.engine.worst_pair",
}
"""The audits of anything that Python can name -> their modules."""
STATED = ("claim", "verdict", "seed", "alpha", "delta")
"""What comes out the same although the mechanism has randomness of its own."""

UNCONFIRMED = ("verdict", "unconfirmed")
"""What a replay with more time may settle: a suspicion that there was no time to confirm."""


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
    again, last = _find(witness) if run is None else run, witness.get("replay", {}).get("last")
    if type(last) not in (int, type(None)):
        raise ReplayError(f"witness: last ({last!r}) must be a number of samples")
    with ending_where(last):
        evidence = again(witness)
    given, found = _plain(witness), _plain(evidence.witness())
    seeded = given.get("replay", {}).get("seeded", True)
    compared = given.keys() | found.keys() if seeded else STATED
    open_ = UNCONFIRMED if given.get("unconfirmed") else ()
    different = sorted(key for key in compared if given.get(key) != found.get(key) and key not in open_)
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
    if name not in AUDITS:
        raise ReplayError(f"witness: audit ({name!r}) must be one of {sorted(AUDITS)}, or `run` be given")
    module, function, _ = AUDITS[name]
    found: Callable[[Mapping[str, Any]], Evidence] = getattr(import_module(module), function)
    return found


def audit_called_again(witness: Mapping[str, Any]) -> Evidence:
    """Call the audit of a witness with the arguments that it holds; see `dpproof.audits.recording.written`."""
    how = witness["replay"]
    if how["function"] not in CALLED:
        raise ReplayError(f"witness: function ({how['function']!r}) must be one of {sorted(CALLED)}")
    called = getattr(import_module(CALLED[how["function"]]), how["function"])
    given = {name: read(value) for name, value in how["arguments"].items()}
    run = {name: how[name] for name in ("budget", "sharpen", "runs", "shares") if name in how}
    if run.get("shares") is not None:
        run["shares"] = tuple(run["shares"])
    stated = {name: witness[name] for name in ("seed", "alpha", "delta", "claim")}
    found: Evidence = called(**given, **run, **stated)
    return found


def _plain(witness: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(witness))
    return plain
