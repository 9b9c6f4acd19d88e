"""Passports: files with an agent's policy and its guarantee, which may be published.

A passport is an npz file with two arrays. ``policy`` is the float32 array (H, S, A) of action probabilities, or the
numbers of a network. ``passport`` is a JSON text. It holds no user's data and no seed. Whoever reads it can compute the
guarantee again from its fields, and compare the policy with its hash. Who wrote it cannot be checked: a passport that
is made up consistently is accepted. Sign the file if that matters.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.noise.gaussian import GaussianParameters
from dpproof.accountant.numbers.enclosures import exact
from dpproof.mechanisms.agents.agent import Agent
from dpproof.mechanisms.agents.algorithms import MECHANISMS
from dpproof.mechanisms.agents.boxes import BoxSpace
from dpproof.mechanisms.agents.gradient_constants import GradientConstants
from dpproof.mechanisms.agents.gradient_sums import SENSITIVITY
from dpproof.mechanisms.agents.learner import Weights
from dpproof.mechanisms.agents.network import Network, hidden_of
from dpproof.mechanisms.agents.plans import GRAINS
from dpproof.mechanisms.agents.policy import Policy
from dpproof.mechanisms.agents.promise import weakest
from dpproof.mechanisms.agents.spaces import FiniteSpace
from dpproof.mechanisms.rl.sdp_pe.constants import TUNED
from dpproof.mechanisms.rl.sdp_pe.stream import planned_sizes

SCHEMA = 1
VERSION = metadata.version("dpproof")
"""The version of dpproof, which passports and journals name."""
_PARTS = ["passport.npy", "policy.npy"]
_LARGEST = 1 << 31
"""The largest part of a passport in bytes, before compression."""
DELTAS = ("0", "1e-9", "1e-7", "1e-6", "1e-5", "1e-3")
"""The deltas at which a passport says epsilon, besides the one that was asked for."""
UNIT = "user: one episode"
_FIELDS = {
    "schema", "dpproof", "algorithm", "mechanism", "releases", "adjacency", "unit", "trust", "released",
    "statement", "joint_statement", "sampler", "notes", "asked", "epsilon", "users", "episodes", "horizon",
    "reward_range", "observations", "actions", "policy", "hidden",
}  # fmt: skip


class PassportError(ValueError):
    """Raised for a file that is no passport, or whose parts contradict each other."""


@dataclass(frozen=True, eq=False)
class Passport:
    """A policy with its guarantee, read from a file and checked.

    Attributes:
        policy: the policy.
        result: the guarantee, computed again from the fields. It is None for a simulation, which has none.
        told: the fields of the file.
    """

    policy: Policy
    result: PrivacyResult | None
    told: dict[str, Any]

    @property
    def simulated(self) -> bool:
        """Whether the noise came from a seed, so that no guarantee holds."""
        return self.result is None

    def act(self, observation: Any, step: int = 0) -> Any:
        """Return an action of the policy. See `Policy.act`."""
        return self.policy.act(observation, step)

    def __repr__(self) -> str:
        asked = self.told["asked"]
        words = (
            "simulation, no guarantee"
            if self.simulated
            else (f"epsilon {asked['epsilon']} at delta {asked['delta']}, {self.told['adjacency']}")
        )
        return f"<agent {self.told['algorithm']} from a passport: {self.told['users']} users seen; {words}>"


def write(agent: Agent, path: str | FilePath) -> None:
    """Write an agent's passport. The file is complete or not there at all.

    Raises:
        ValueError: the name of the file does not end in ``.npz``.
    """
    target = FilePath(path)
    if target.suffix != ".npz":
        raise ValueError(f"path ({str(path)!r}) must end in .npz")
    part = target.with_name(target.name + ".part")
    part.write_bytes(agent.passport())
    os.replace(part, target)


def packed(agent: Agent) -> bytes:
    """Return the content of an agent's passport."""
    weights = np.asarray(agent.policy.weights, np.float32, order="C")
    held = io.BytesIO()
    np.savez_compressed(
        held, policy=weights, passport=np.array(json.dumps(_told(agent, weights), sort_keys=True))
    )
    return held.getvalue()


def _told(agent: Agent, weights: Weights) -> dict[str, Any]:
    promise, task, hidden = agent.promise, agent.task, hidden_of(agent.policy.weights)
    found = None if agent.simulated else promise.result()
    guarantee = {} if found is None else {
        "trust": found.trust.value,
        "released": found.released,
        "statement": found.statement,
        "joint_statement": found.joint_statement,
        "sampler": found.exact_sampler,
        "notes": list(found.notes),
        "epsilon": _epsilons(found, promise.delta),
    }  # fmt: skip
    return {
        **dict.fromkeys(("trust", "released", "statement", "joint_statement", "sampler", "notes", "epsilon")),
        **guarantee,
        "schema": SCHEMA,
        "dpproof": VERSION,
        "algorithm": agent.name,
        "mechanism": promise.mechanism,
        "releases": [one.as_json() for one in promise.releases],
        "adjacency": promise.adjacency.value,
        "unit": UNIT,
        "asked": {"epsilon": str(promise.epsilon), "delta": str(promise.delta)},
        "users": agent.users,
        "episodes": task.episodes,
        "horizon": task.horizon,
        "reward_range": [task.low, task.high],
        "observations": task.observations.as_json(),
        "actions": task.actions.as_json(),
        "policy": digest(weights, hidden),
        "hidden": hidden,
    }


def _epsilons(found: PrivacyResult, asked: Any) -> dict[str, float | None]:
    """Return the upper ends of epsilon by delta; None stands for infinity."""
    values = {text: found.epsilon(text).upper for text in dict.fromkeys([str(asked), *DELTAS])}
    return {text: value if value < float("inf") else None for text, value in values.items()}


def digest(weights: Weights, hidden: Sequence[int] | None = None) -> str:
    """Return the SHA-256 digest of a policy: of its shape and of its bytes in row order, little-endian.

    The shape of a network has the widths of its hidden layers, too. Networks of other widths may have as many numbers.
    """
    table = np.ascontiguousarray(weights, "<f4")
    shape = table.shape if hidden is None else (table.shape, tuple(hidden))
    return hashlib.sha256(repr(shape).encode() + table.tobytes()).hexdigest()


def load_agent(path: str | FilePath) -> Passport:
    """Return the policy and the guarantee of a passport, after checking that its parts agree.

    Args:
        path: the file that `Agent.save` wrote.

    Raises:
        PassportError: the file is no passport, the policy does not match its hash or the sizes, or a number does not
            follow from the fields.
    """
    weights, told = _read(path)
    try:
        return _checked(path, weights, told)
    except PassportError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise PassportError(f"{path}: its fields are not those of a passport: {error}") from error


def _checked(path: str | FilePath, weights: Weights, told: dict[str, Any]) -> Passport:
    _compare(path, "policy (its SHA-256 digest)", told["policy"], digest(weights, told["hidden"]))
    _compare(path, "unit", told["unit"], UNIT)
    _check_fields(path, told)
    policy = _policy(path, weights, told)
    _check_sizes(path, told, policy)
    return Passport(policy, None if told["epsilon"] is None else _derived(path, told), told)


def _check_fields(path: str | FilePath, told: dict[str, Any]) -> None:
    """Check the fields that no number follows from, and that the algorithm releases by this mechanism."""
    for name, least in (("users", 0), ("episodes", 1), ("horizon", 1)):
        if type(told[name]) is not int or not least <= told[name] < 1 << 63:
            raise PassportError(f"{path}: {name} ({told[name]!r:.80}) must be an integer of at least {least}")
    if not 0 <= told["users"] <= told["episodes"]:
        raise PassportError(f"{path}: users ({told['users']}) must be at most episodes ({told['episodes']})")
    low, high = told["reward_range"]
    if not (low < high and math.isfinite(high - low)):
        rule = "must be two finite numbers, the lower one first"
        raise PassportError(f"{path}: reward_range ({low!r:.80}, {high!r:.80}) {rule}")
    if not re.fullmatch(r"\d[\w.+-]{0,40}", told["dpproof"], re.ASCII):
        raise PassportError(f"{path}: dpproof ({told['dpproof']!r:.80}) must be a version")
    if told["mechanism"] not in MECHANISMS[told["algorithm"]]:
        raise PassportError(
            f"{path}: {told['algorithm']} does not release by the mechanism {told['mechanism']!r:.80}"
        )


def _read(path: str | FilePath) -> tuple[Weights, dict[str, Any]]:
    try:
        with zipfile.ZipFile(path) as parts:
            _check_parts(parts)
        with np.load(path, allow_pickle=False) as held:
            weights, text = held["policy"], str(held["passport"])
        told = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except FileNotFoundError:
        raise
    except (
        OSError,
        LookupError,
        ValueError,
        RecursionError,
        MemoryError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise PassportError(f"{path} is no passport of an agent: {error}") from error
    if not isinstance(told, dict) or set(told) != _FIELDS or repr(told["schema"]) != repr(SCHEMA):
        raise PassportError(f"{path} must have the fields of a passport with schema {SCHEMA}")
    return weights, told


def _check_parts(parts: zipfile.ZipFile) -> None:
    """Check the parts of the file before anything is unpacked, so that a small file cannot fill the memory."""
    infos = parts.infolist()
    if sorted(info.filename for info in infos) != _PARTS:
        raise ValueError(f"it must have the parts {_PARTS}, each once")
    if any(info.file_size > _LARGEST for info in infos):
        raise ValueError(f"its parts must have at most {_LARGEST} bytes")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object as a dictionary, and refuse a name that occurs twice: readers could see different values."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice in the JSON text")
    return found


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def _policy(path: str | FilePath, weights: NDArray[Any], told: dict[str, Any]) -> Policy:
    """Return the policy: a network if the passport says the widths of its hidden layers, otherwise a table."""
    found = _table(path, weights, told) if told["hidden"] is None else _network(path, weights, told)
    if (told["algorithm"] == "policy-gradient") == (told["hidden"] is None):
        raise PassportError(f"{path}: hidden ({told['hidden']!r:.80}) does not belong to {told['algorithm']}")
    return found


def _network(path: str | FilePath, numbers: NDArray[Any], told: dict[str, Any]) -> Policy:
    if numbers.dtype != np.float32 or not np.isfinite(numbers).all():
        raise PassportError(f"{path}: the network must be of finite float32 numbers")
    spaces = BoxSpace.from_json(told["observations"]), FiniteSpace.from_json("action", told["actions"])
    constants = GradientConstants(hidden=tuple(told["hidden"]))
    widths = constants.widths(spaces[0].size, spaces[1].size)
    return Policy(*spaces, Network(widths, numbers, told["horizon"]))


def _table(path: str | FilePath, weights: NDArray[Any], told: dict[str, Any]) -> Policy:
    for name, size in zip(("observations", "actions"), weights.shape[1:], strict=True):
        _compare(
            path, f"the number of {name}", told[name] if type(told[name]) is int else len(told[name]), size
        )
    spaces = [FiniteSpace.from_json(name, told[f"{name}s"]) for name in ("observation", "action")]
    shape = (told["horizon"], *(space.size for space in spaces))
    if weights.dtype != np.float32 or weights.shape != shape:
        raise PassportError(
            f"{path}: the shape of policy {weights.shape} must be {shape}, of float32 numbers"
        )
    if not ((weights >= 0).all() and (np.abs(weights.sum(axis=2) - 1) < 1e-3).all()):
        raise PassportError(f"{path}: every row of policy must be probabilities")
    return Policy(spaces[0], spaces[1], weights)


def _check_sizes(path: str | FilePath, told: dict[str, Any], policy: Policy) -> None:
    """Compare the sizes that the accountant used with those of the policy."""
    if told["algorithm"] == "policy-gradient":
        _compare(path, "releases", *_gradients(told))
        return
    end = told["mechanism"] != "batched-counts"  # the end of an episode is one more state elsewhere
    starts = told["algorithm"] == "sdp-pe" and told["releases"][0]["states"] == policy.observations.size + 2
    sizes = {
        "states": policy.observations.size + end + starts,
        "actions": policy.actions.size,
        "arms": policy.actions.size,
        "horizon": policy.horizon + starts,
        "episodes": told["episodes"],
        "rounds": told["episodes"],
        "grains": GRAINS,
    }
    parameters = accountant_for(told["mechanism"]).parameters
    for release in told["releases"]:
        _compare(
            path,
            "releases",
            repr(sorted(release.items())),
            repr(sorted(parameters.read(release).as_json().items())),
        )
        for name in sizes.keys() & release.keys():
            _compare(path, name, release[name], sizes[name])
    if told["algorithm"] == "sdp-pe":
        _compare(path, "releases", *_batches(told, sizes))


def _gradients(told: dict[str, Any]) -> tuple[str, str]:
    """Return the releases of policy gradients, as the passport says and as the relation and the noise imply."""
    sigma = float(told["releases"][0]["sigma"])
    wanted = GaussianParameters(sigma=sigma, sensitivity=SENSITIVITY[Adjacency.of(told["adjacency"])])
    held, implied = ([sorted(one.items()) for one in all_] for all_ in (told["releases"], [wanted.as_json()]))
    return repr(held), repr(implied)


def _batches(told: dict[str, Any], sizes: Mapping[str, int]) -> tuple[list[Any], list[Any]]:
    """Return the kinds and sizes of SDP-PE's batches, as the passport says and as the schedule plans them."""
    planned = planned_sizes(
        told["episodes"], sizes["horizon"], sizes["states"], sizes["actions"], TUNED.first
    )
    wanted = [("fine" if shape.rewards else "crude", users) for shape, users in planned]
    held = [(release.get("release", "fine"), release["users"]) for release in told["releases"]]
    return sorted(held), sorted(wanted)


def _derived(path: str | FilePath, told: dict[str, Any]) -> PrivacyResult:
    """Compute the guarantee from the fields, and compare everything that the passport says of it."""
    found = weakest(told["mechanism"], told["releases"], told["adjacency"])
    for name, value in (
        ("trust", found.trust.value), ("released", found.released), ("statement", found.statement),
        ("joint_statement", found.joint_statement), ("sampler", found.exact_sampler), ("notes", list(found.notes)),
    ):  # fmt: skip
        _compare(path, name, told[name], value)
    asked = told["asked"]
    numbers = _epsilons(found, asked["delta"])
    _compare(path, "the deltas of epsilon", sorted(told["epsilon"]), sorted(numbers))
    for delta, number in numbers.items():
        _compare_number(path, delta, told["epsilon"].get(delta), number)
    reached = found.epsilon(asked["delta"]).upper
    if not reached <= exact(asked["epsilon"]):
        raise PassportError(
            f"{path}: epsilon ({asked['epsilon']}) must be at least {reached}, which it reaches"
        )
    return found


def _compare_number(path: str | FilePath, delta: str, told: float | None, found: float | None) -> None:
    """Refuse an epsilon that is below the certified one, or far above it. Last digits depend on the machine."""
    near = told is not None and found is not None and found * (1 - 1e-9) <= told <= found * (1 + 1e-6)
    if not near and told is not found:
        raise PassportError(f"{path}: epsilon at delta {delta} ({told!r}) must be {found!r}, which follows")


def _compare(path: str | FilePath, name: str, told: Any, found: Any) -> None:
    if told != found:
        raise PassportError(
            f"{path}: {name} ({told!r:.200}) must be {found!r:.200}, which follows from its fields"
        )
