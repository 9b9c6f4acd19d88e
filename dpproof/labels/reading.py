"""Labels from files: a claim file, an answer in JSON, or the passport of an agent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpproof.accountant.asking import account
from dpproof.accountant.claims.spelling import one_of
from dpproof.accountant.composing import result_from_json
from dpproof.accountant.numbers.enclosures import exact, typed
from dpproof.answers.claims import check_claims
from dpproof.answers.passport import check_passport
from dpproof.claim_file import read_all
from dpproof.labels.card import Label
from dpproof.labels.making import label_of_claim, label_of_passport, label_of_result, label_of_simulation
from dpproof.labels.numbers import Asked, most

KINDS = (".toml", ".json", ".npz")
_SAME = 1 + 1e-9
"""Two numbers that differ by a smaller factor are the same: JSON keeps parameters as doubles."""


def read_label(path: Path, asked: Asked, claim: str | None = None, outside: bool = False) -> Label:
    """Return the label of what a file holds. The numbers are computed again from the parameters in the file.

    Args:
        path: a claim file in TOML, an answer in JSON (of ``dpproof account`` or ``dpproof simulate`` with ``--json``,
            or of `PrivacyResult.to_json`), or a passport in npz.
        asked: the deltas, kappa and beta of the card.
        claim: the name of the claim, if a claim file has several.
        outside: whether claims may name files outside the project.

    Raises:
        ValueError: there is no such file, its kind is unknown, or its content cannot be read.
    """
    if not path.is_file():
        raise ValueError(f"file ({str(path)!r}) must exist: a claim file, an answer in JSON, or a passport.")
    if path.suffix not in KINDS:
        raise ValueError(f"file ({str(path)!r}) must end in one of: {', '.join(KINDS)}")
    if claim is not None and path.suffix != ".toml":
        raise ValueError(f"claim ({claim!r}) can be given only for a claim file, not for {path.name!r}.")
    source = f"{path.name} (SHA-256 {hashlib.sha256(path.read_bytes()).hexdigest()[:16]})"
    match path.suffix:
        case ".toml":
            return _of_claim_file(path, source, asked, claim, outside)
        case ".npz":
            return label_of_passport(check_passport(path), source, asked)
    return _of_json(path, source, asked)


def _of_claim_file(path: Path, source: str, asked: Asked, name: str | None, outside: bool) -> Label:
    reading = read_all(path, outside=outside)
    if reading.refusals:
        raise ValueError("; ".join(map(str, reading.refusals)))
    names = [one.name for one in reading.claims]
    if name is None and len(names) > 1:
        raise ValueError(f"{path.name} has {len(names)} claims. Choose one with --claim: {', '.join(names)}")
    if name is not None and name not in names:
        raise ValueError(f"claim ({name!r}) {one_of(name, names)}")
    chosen = [one for one in reading.claims if name in (None, one.name)]
    return label_of_claim(check_claims(chosen, reading.budget, audited=False)[0], source, asked)


def _of_json(path: Path, source: str, asked: Asked) -> Label:
    text = path.read_text("utf-8")
    try:
        data = json.loads(text, parse_float=typed)
        if not isinstance(data, dict):
            raise ValueError("it is no object of JSON")
        if "simulated" in data:
            return label_of_simulation(json.loads(text), source)
        if "question" in data:
            result, stated = result_from_json(text), data.get("epsilon", {})
            told = [_compared(result.epsilon(at).upper, at, found) for at, found in stated.items()]
        else:
            result = account(
                data["name"],
                adjacency=data["adjacency"],
                parallel=data.get("parallel", False),
                **data["parameters"],
            )
            told = [_stated(result, data)]
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
        rule = (
            "must be an answer of dpproof account --json or dpproof simulate --json, or the text of to_json"
        )
        raise ValueError(f"{path.name} {rule}: {type(error).__name__}: {error}") from error
    return label_of_result(result, source, asked, [text for text in told if text])


def _stated(result: Any, data: Mapping[str, Any]) -> str:
    """Return a remark if the bound of an answer in JSON does not follow from its parameters."""
    if isinstance(data.get("epsilon"), Mapping):
        return _compared(result.epsilon(exact(data["delta"])).upper, str(data["delta"]), data["epsilon"])
    return _compared(result.delta(exact(data["epsilon"])).upper, str(data["epsilon"]), data["delta"])


def _compared(found: float, at: str, stated: Mapping[str, Any]) -> str:
    upper = float(stated["upper"])
    if found <= upper * _SAME and upper <= found * _SAME:
        return ""
    again = f"Computed again, it is {most(found, 7)}. The card shows the latter."
    return f"The file states at most {upper!r} at {at}. {again}"
