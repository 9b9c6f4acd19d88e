"""Checkpoints of a training run. A run can resume after an interruption, and its privacy budget is spent only once.

A run first writes how many steps it is going to start (`spent.json`), then takes the steps, then writes its state. A
run that resumes from an older state repeats the steps in between with the same data and the same randomness, so these
steps reveal nothing new. The configuration holds everything that could change these steps: settings, data, key,
versions of torch and numpy, and the machine. A folder with another configuration is refused.

The folder must stay with the holders of the data. Its files `PRIVATE-configuration.json` and `PRIVATE-state.npz`
hold the key, from which the noise can be computed, and the state. The file that `publish` writes may be published.
It has the network's parameters and the accounted parameters, but neither key nor state.
"""

from __future__ import annotations

import json
import platform
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dpproof.accountant.numbers.written import replacing, write_whole
from dpproof.mechanisms import _checks
from dpproof.mechanisms.randomness import how_drawn
from dpproof.mechanisms.rl.expert.offline.training import Training

_FORMAT = 4
"""Format number. It changes with the file contents, and with any change in the results of a step."""
_ARRAYS = ("theta", "target", "slots")
"""Arrays in the stored state of a training, besides its step."""
_NAMES = _CONFIGURATION, _RECORD, _STATE = "PRIVATE-configuration.json", "spent.json", "PRIVATE-state.npz"
_NOTICE = "private working file, never to be published: whoever reads it can subtract the noise"
Progress = Callable[[int, int], None]
"""Type of a function that is called between steps, with the number of steps done and that of all steps."""


def configuration(training: Training) -> dict[str, Any]:
    """Return everything on which the result of a training step depends, as JSON data."""
    return {
        "notice": _NOTICE,
        "format": _FORMAT,
        "training": f"{type(training).__module__}.{type(training).__qualname__}",
        "settings": repr(training.settings),
        "simulated": training.simulated,
        "key": str(training._key),
        "private": "none" if training.private is None else training.private.digest,
        "released": "none" if training.released is None else training.released.digest,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "threads": torch.get_num_threads(),
        "machine": f"{platform.machine()} {platform.processor()}",
    }


def steps_begun(folder: Path) -> int:
    """Return the number of steps that a run in this folder has started. All of them count as spent.

    Raises:
        ValueError: nothing is written down there, or it cannot be read.
    """
    try:
        found = json.loads((folder / _RECORD).read_text(encoding="utf-8"))["steps"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{folder.name}: spent.json must be a file that holds the number of started steps"
        ) from error
    return _checks.at_least("steps in spent.json", found, 0)


def train(training: Training, folder: Path, every: int = 1000, progress: Progress | None = None) -> Training:
    """Take all steps of a training run, with checkpoints. If `folder` holds an interrupted run, continue it.

    Args:
        training: a run at its beginning. If it has no seed, it continues with the key that the folder holds.
        folder: the folder of the checkpoints. It is made if it is missing.
        every: number of steps between two checkpoints.
        progress: function that is called after each checkpoint with two numbers: of the steps done, and of all steps.

    Returns:
        The object `training`, which has done all steps.

    Raises:
        ValueError: the folder belongs to a run with another configuration. Or a file of the checkpoint is missing,
            cannot be read, or contradicts another one.
    """
    _checks.at_least("every", every, 1)
    folder.mkdir(parents=True, exist_ok=True)
    steps = training.settings.budget.steps
    _go_on(folder, training)
    _claim(folder, configuration(training))
    _restore(folder, training)
    while training.step < steps:
        end = min(training.step + every, steps)
        write_whole(folder / _RECORD, json.dumps({"steps": max(end, steps_begun(folder))}), private=True)
        training.advance(end - training.step)
        _save(folder, training)
        if progress is not None:
            progress(training.step, steps)
    return training


def publish(training: Training, path: Path) -> None:
    """Write the trained model to a file: the network's parameters and the parameters of its guarantee.

    The file of a simulation is marked as such and has no guarantee.
    """
    spent = training.settings.spent(training.step)
    told = {
        "training": f"{type(training).__module__}.{type(training).__qualname__}",
        "mechanism": "selective-dpsgd",
        "accounted": None if training.simulated else spent.as_json(),
        "covers_released_bits": False,
        "released_bits": how_drawn(training.simulated),
        "simulated": training.simulated,
        "sizes": list(training.settings.layers.sizes),
    }
    with replacing(path) as stream:
        np.savez(stream, theta=training.theta.numpy(), about=np.array(json.dumps(told)))


def _go_on(folder: Path, training: Training) -> None:
    """Give a run without a seed the key with which it started in the folder.

    A run with another configuration keeps its own key, because equal noise on other data could be subtracted.
    """
    path = folder / _CONFIGURATION
    if training.simulated or training.step or not path.exists():
        return
    found = _read(path)
    same = configuration(training) == {**found, "key": str(training._key)}
    if same and str(found.get("key")).isdecimal():
        training._begin(int(found["key"]))


def _read(path: Path) -> dict[str, Any]:
    try:
        return {**json.loads(path.read_text(encoding="utf-8"))}
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path.parent.name}: {path.name} cannot be read: {error}") from error


def _claim(folder: Path, wanted: dict[str, Any]) -> None:
    """Write this configuration into an empty folder. Raise ValueError if the folder has another one."""
    path, record, state = (folder / name for name in _NAMES)
    if not path.exists():
        if (record.exists() and steps_begun(folder)) or state.exists():
            raise ValueError(
                f"{folder.name}: {_CONFIGURATION} is missing beside a checkpoint. Restore it or use an empty folder."
            )
        # The record goes first: a configuration without it is of a run that has lost it.
        write_whole(record, json.dumps({"steps": 0}), private=True)
        write_whole(path, json.dumps(wanted), private=True)
    found = _read(path)
    for name in sorted({**wanted, **found}, key="key".__eq__):  # the key last: it differs with all else
        if found.get(name) != wanted.get(name):
            said = "differs" if name == "key" else f"({found.get(name)!r}) must be {wanted.get(name)!r}"
            raise ValueError(f"{folder.name}: the checkpoint has another configuration. {name} {said}")


def _restore(folder: Path, training: Training) -> None:
    begun, path = steps_begun(folder), folder / _STATE
    if not path.exists():
        return
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{folder.name}: {_STATE} must be an NPZ archive")
    with np.load(path, allow_pickle=False) as stored:
        if missing := {"step", *_ARRAYS} - set(stored):
            raise ValueError(f"{folder.name}: {_STATE} must hold {', '.join(sorted(missing))}")
        step = int(stored["step"])
        if step > begun:
            raise ValueError(
                f"{folder.name}: spent.json counts {begun} steps, fewer than the {step} steps in {_STATE}. "
                "Restore the latest spent.json of this run."
            )
        for name in _ARRAYS:
            setattr(training, name, torch.from_numpy(stored[name]))
        training._step = step


def _save(folder: Path, training: Training) -> None:
    arrays = {name: getattr(training, name).numpy() for name in _ARRAYS}
    with replacing(folder / _STATE, private=True) as stream:
        np.savez(stream, step=training.step, **arrays)
