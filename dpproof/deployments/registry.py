"""The records of the deployments registry: reads a checkout, and writes a record from a claim.

The registry, https://github.com/opendp/deployments-registry-data, keeps one file in YAML for each deployment. A
newer checkout replaces the published numbers of the bundled rows. What the bundled rows know beyond the records,
such as a configuration, still applies.
"""

from __future__ import annotations

import datetime
import importlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import Claim
from dpproof.accountant.claims.trust import TrustModel
from dpproof.deployments.records import Deployment
from dpproof.version import __version__
from dpproof.yaml_text import yaml_text

SCHEMA = "schemas/deployments-schema.yaml"
_NUMBERS = ("epsilon", "delta", "rho")
_TRUST = {"Local": "local", "Shuffle": "shuffle"}


def read_registry(folder: Path, known: Sequence[Deployment]) -> tuple[list[Deployment], list[str]]:
    """Return the rows of a checkout of the registry, and what is wrong with its records.

    Args:
        folder: the checkout, or a folder with records.
        known: bundled rows. They give the methods of recomputation for the records that they know.

    Raises:
        ValueError: the folder has no records, or PyYAML is not installed.
    """
    files = sorted((folder / "deployments").glob("*.yaml")) or sorted(folder.glob("*.yaml"))
    if not files:
        raise ValueError(f"folder ({folder}) must hold records of the registry, files that end in .yaml.")
    found = [read_record(path, folder / SCHEMA, known) for path in files]
    return [row for rows, _ in found for row in rows], [told for _, wrong in found for told in wrong]


def read_record(path: Path, schema: Path, known: Sequence[Deployment]) -> tuple[list[Deployment], list[str]]:
    """Return the rows of one record of the registry, and what is wrong with it.

    A record without the parts that name the deployment has no rows.

    Args:
        path: the record, a file in YAML.
        schema: the schema of the registry. If there is no such file, only the main rules are checked.
        known: bundled rows, as for `read_registry`.

    Raises:
        ValueError: PyYAML is not installed.
    """
    library = _yaml()
    try:
        record = library.safe_load(path.read_text("utf-8"))
    except (library.YAMLError, UnicodeError, ValueError, RecursionError) as error:
        return [], [f"{path.stem}: it is no YAML: {' '.join(str(error).split())}"]
    if not isinstance(record, Mapping):
        return [], [f"{path.stem}: it must be a map with the key 'deployment'"]
    wrong = [f"{path.stem}: {told}" for told in problems(record, schema)]
    try:
        faults = _faults(_stated(record))
        if faults:
            return [], [*wrong, *(f"{path.stem}: {told}" for told in faults)]
        return list(rows_of(path.stem, record, known)), wrong
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return [], wrong or [f"{path.stem}: it cannot be read: {error!r}"]


def rows_of(name: str, record: Mapping[str, Any], known: Sequence[Deployment]) -> Iterator[Deployment]:
    """Yield the rows of one record: the bundled ones with today's numbers, or a new one."""
    numbers, mine = _published(record), [row for row in known if row.record == name]
    if not mine:
        yield _new(name, record, numbers)
    for row in mine:
        alone = len(mine) == 1
        yield replace(row, published={**row.published, **numbers}) if alone else row


def _stated(record: Mapping[str, Any]) -> Mapping[str, Any]:
    return record["deployment"].get("privacy_loss", {}).get("privacy_parameters") or {}


def _published(record: Mapping[str, Any]) -> dict[str, str]:
    stated = _stated(record)
    return {name: text for name in _NUMBERS if name in stated and _is_number(text := _text(stated[name]))}


def _faults(stated: Mapping[str, Any]) -> list[str]:
    """Return why numbers of a record cannot be those of a guarantee. A formula, as text, is no fault."""
    largest = {"epsilon": _LARGEST, "rho": _LARGEST, "delta": 1.0}
    return [
        f"{name} ({stated[name]!r}) must be a number from 0 to {largest[name]:g}"
        for name in _NUMBERS
        if stated.get(name) is not None
        and (_is_number(_text(stated[name])) or not isinstance(stated[name], str))
        and (isinstance(stated[name], bool | list | dict) or not 0 <= float(stated[name]) <= largest[name])
    ]


_LARGEST = 1e5
"""A larger epsilon or rho is taken for a slip of the pen."""


def _is_number(text: str) -> bool:
    """Whether a text is a number. YAML reads 1e-5, without a point, as text."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _text(value: object) -> str:
    """Return a number of YAML with all its digits, and 1e-5 for 1e-05."""
    return re.sub(r"e-0(?=\d)", "e-", str(value))


def _new(name: str, record: Mapping[str, Any], numbers: dict[str, str]) -> Deployment:
    """Return the row of a record that the bundled table does not know. A stated rho can still be converted."""
    deployment = record["deployment"]
    basic, loss = deployment["basic"], deployment.get("privacy_loss", {})
    relation, stated = _drafted(deployment)
    convertible = numbers.keys() >= {"rho", "epsilon", "delta"}
    needed = {
        "the neighbouring relation": relation,
        "the parameters of the mechanism": stated,
        "epsilon": "epsilon" in numbers,
    }
    missing = tuple(name for name, held in needed.items() if not held)
    return Deployment(
        name,
        basic["name"],
        ", ".join(basic["data_curators"]),
        int(str(basic["publication_date"])[:4]),
        "the given folder of the registry",
        numbers,
        unit=str(loss.get("privacy_unit", "")).strip(),
        relation=relation,
        trust=_TRUST.get(deployment.get("deployment_model", {}).get("model_name", ""), "central"),
        record=name,
        missing=missing,
        recompute={"by": "rho"} if convertible else {} if missing else stated,
    )


_RELATION, _MECHANISM = "Neighbouring relation: {}.", "{}. Parameters: {}."
"""The sentences of a draft that hold the parts of its claim. They are read again as they were written."""


def _drafted(deployment: Mapping[str, Any]) -> tuple[str, Mapping[str, str]]:
    """Return the relation and the recomputation that a draft of `record_of` states. Each is empty if it states none."""
    loss, code = deployment.get("privacy_loss", {}), deployment.get("implementation", {})
    (relation,) = _between(_RELATION, loss.get("privacy_unit_details")) or ("",)
    mechanism, given = _between(_MECHANISM, code.get("mechanisms")) or ("", "none")
    pairs = [] if given == "none" else [part.partition(" ")[::2] for part in given.split(", ")]
    found = {"by": "account", "mechanism": mechanism, **dict(pairs)}
    clear = len(found) == len(pairs) + 2 and not _NO_PARAMETERS & found.keys()
    known = relation in {one.value for one in Adjacency}
    return relation if known else "", found if mechanism and clear else {}


_NO_PARAMETERS = {"adjacency", "unit", "parallel"}
"""Names that are arguments of `dpproof.account`, but no parameters of a mechanism."""


def _between(sentence: str, text: object) -> tuple[str, ...]:
    """Return what stands at the gaps of a sentence in a text that consists of it, or nothing."""
    found = re.fullmatch(re.escape(sentence).replace(r"\{\}", "(.+?)"), str(text).strip())
    return found.groups() if found else ()


def problems(record: Mapping[str, Any], schema: Path) -> list[str]:
    """Return what is wrong with a record, by the schema of the registry if it is there, else by its main rules."""
    if not schema.is_file():
        return _main_rules(record)
    try:
        validator = importlib.import_module("jsonschema").Draft7Validator
    except ModuleNotFoundError:
        return _main_rules(record)
    found = validator(_yaml().safe_load(schema.read_text("utf-8"))).iter_errors(record)
    return [f"{'.'.join(map(str, one.path))}: {one.message}" for one in found]


_BASIC = (
    "name", "data_curators", "description", "intended_use", "data_product_type", "data_product_region",
    "publication_date",
)  # fmt: skip


def _main_rules(record: Mapping[str, Any]) -> list[str]:
    lacking = [key for key in ("url_slug", "status", "tier", "deployment") if key not in record]
    deployment = record.get("deployment")
    basic = deployment.get("basic") if isinstance(deployment, Mapping) else None
    basic = basic if isinstance(basic, Mapping) else {}
    return [f"{key} is missing" for key in [*lacking, *(key for key in _BASIC if key not in basic)]]


def slug_of(name: str, curators: Sequence[str], year: str) -> str:
    """Return the address of a record, by the rule of the registry.

    >>> slug_of("Ward data", ["A hospital"], "2026")
    'ward-data-a-hospital-2026'
    """
    parts = (re.sub(r"\W+", "_", part.lower()) for part in (name, "-".join(curators), year))
    return "_".join(parts).replace("_", "-")


def record_of(claim: Claim, certified: str = "") -> str:
    """Return a draft of a registry record for a claim, as YAML that the registry's own check accepts.

    What a claim does not know, such as the curator, is a placeholder. The notes of the record list these fields.

    Args:
        certified: a sentence on what was certified for the claim, for the details of the privacy loss.
    """
    return yaml_text(_record(claim, certified), bare=("url_slug", "status"))


_PLACEHOLDER = "To be filled in"


def _record(claim: Claim, certified: str) -> Mapping[str, Any]:
    today = _today()
    curators = [_PLACEHOLDER]
    variant = {"rho": "Zero-concentrated DP", "mu": "Custom"}.get(
        next(iter(claim.promise)), "Approximate DP" if claim.promise.get("delta") else "Pure DP"
    )
    trained = claim.mechanism == "dp-sgd"
    given = ", ".join(f"{name} {_parameter(value)}" for name, value in claim.parameters.items())
    return {
        "url_slug": slug_of(claim.name, curators, today[:4]),
        "status": "Draft",
        "tier": 2,
        "deployment": {
            "basic": {
                "name": claim.name,
                "data_curators": curators,
                "intended_use": _PLACEHOLDER,
                "data_product_type": "Machine learning model" if trained else "Summary statistics",
                "data_product_region": _PLACEHOLDER,
                "description": _PLACEHOLDER,
                "publication_date": today,
            },
            "dp_variant": {"variant_name": variant},
            "privacy_loss": {
                "privacy_unit": "User-level",
                "privacy_unit_details": _RELATION.format(claim.adjacency.value),
                "privacy_parameters": {
                    name: float(value) for name, value in claim.promise.items() if name in _NUMBERS
                },
                "privacy_parameters_details": certified or f"Claimed: {dict(claim.promise)}.",
            },
            "deployment_model": {
                "model_name": {TrustModel.LOCAL: "Local", TrustModel.SHUFFLE: "Shuffle"}.get(
                    claim.trust, "Central"
                ),
                "model_name_details": f"Trust model of the claim: {claim.trust.value}.",
            },
            "implementation": {"mechanisms": _MECHANISM.format(claim.mechanism, given or "none")},
            "administrative": {
                "sources": claim.source or _PLACEHOLDER,
                "notes": f"Draft written by dpproof {__version__}. Fields that say '{_PLACEHOLDER}', the type of the"
                " product and the unit are for the curator.",
                "registry_authors": [f"dpproof {__version__}"],
            },
        },
    }


def _parameter(value: object) -> str:
    """Return a parameter as the command line reads it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _today() -> str:
    """Return the date of SOURCE_DATE_EPOCH, or today's."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.datetime.now(datetime.UTC)
    return (
        (now if epoch is None else datetime.datetime.fromtimestamp(int(epoch), datetime.UTC))
        .date()
        .isoformat()
    )


def _yaml() -> Any:
    try:
        return importlib.import_module("yaml")
    except ModuleNotFoundError as error:
        raise ValueError(
            "Records of the registry are in YAML. Install PyYAML to read them: pip install pyyaml"
        ) from error
