"""Programs as mechanisms, with a request on standard input and one output per line on standard output.

The protocol, version 1. For each request dpproof starts the program, in the current folder, with the environment of
the caller. The program receives one line of JSON,

    {"data": ..., "n": 64, "seed": 4503599627370495}

and then the end of its input. It writes ``n`` lines and exits with 0. Each line is one JSON value: one output. If the
program fails, dpproof shows its standard error. ``seed`` is an integer in [0, 2^53). Equal requests must have equal
answers, and the answers to requests with different seeds must be independent. A program that draws randomness of its
own is declared with ``seeded=False`` and receives no seed. The program must then make its outputs independent by
itself, and a replay compares verdicts, not counts.

Arrays of numbers are sent as nested lists. Dataclasses, such as `Episodes` and `Users`, are sent as objects with a
key for each field. In the output, ``NaN``, ``Infinity`` and ``-Infinity`` are also allowed.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from dpproof.audits.engine.sampling.callables import Mechanism, MechanismError
from dpproof.audits.time_budget import OutOfTimeError, time_left

TIMEOUT = 60.0
TOGETHER = 64
"""The smallest number of outputs in one request, because starting a program takes long."""
SHOWN = 500
"""The number of characters of standard error, or of an invalid line, that an error message shows."""


class CommandError(MechanismError):
    """Raised when a command cannot be started, takes too long, fails, or does not keep to the protocol.

    Attributes:
        token: the output that represents this error in an audit with ``failures="token"``.
    """

    def __init__(self, argv: Sequence[str], why: str, token: str) -> None:
        self.token = token
        super().__init__(f"command ({' '.join(argv)}) {why}")


@dataclass(frozen=True)
class Command:
    """A program that is called like a function ``(data, n, rng)``; the module docstring describes the protocol.

    A request is also stopped when the time budget (`dpproof.audits.time_budget`) is spent.

    Attributes:
        argv: the program and its arguments, which are not interpreted by a shell.
        timeout: the largest number of seconds for one request, above 0.
        seeded: whether the request contains a seed.

    Raises:
        ValueError: ``argv`` is empty or not all text, or ``timeout`` is not above 0.
    """

    argv: tuple[str, ...]
    timeout: float = TIMEOUT
    seeded: bool = True

    def __post_init__(self) -> None:
        if not self.argv or not all(isinstance(word, str) for word in self.argv):
            raise ValueError(
                f"command ({self.argv!r}) must be a list of texts. The first text names a program."
            )
        if not 0 < self.timeout < float("inf"):
            raise ValueError(f"timeout ({self.timeout!r}) must be a number of seconds above 0")

    def __call__(self, data: object, n: int, rng: np.random.Generator) -> list[Any]:
        """Run the program once, and return its ``n`` outputs.

        Raises:
            CommandError: the program fails or breaks the protocol; the message names the reason.
        """
        seed = {"seed": int(rng.integers(2**53))} if self.seeded else {}
        answer = self._run(json.dumps({"data": data, "n": n, **seed}, default=_plain))
        lines = answer.removesuffix("\n").split("\n") if answer else []
        if len(lines) != n:
            raise self._error(
                f"wrote {len(lines)} lines instead of {n}. It must write one line for each output", "lines"
            )
        return [self._read(place, line) for place, line in enumerate(lines, 1)]

    def _run(self, request: str) -> str:
        pipe, left = subprocess.PIPE, time_left()
        try:
            started = subprocess.Popen(
                self.argv, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
            )
        except OSError as error:
            raise self._error(f"cannot be started: {error}", "start") from error
        with started:
            try:
                written, said = started.communicate(f"{request}\n".encode(), min(self.timeout, left))
            except subprocess.TimeoutExpired as late:
                _end(started)
                if left < self.timeout:
                    raise OutOfTimeError from late
                raise self._error(
                    f"took longer than {self.timeout:g} s. Use a larger timeout", "timeout"
                ) from late
            except BaseException:
                _end(started)
                raise
        if started.returncode:
            code, end = started.returncode, said.decode(errors="replace").strip()[-SHOWN:]
            raise self._error(
                f"ended with exit code {code}. Its error output: {end or '(empty)'}", f"exit code {code}"
            )
        return written.decode(errors="replace")

    def _read(self, place: int, line: str) -> Any:
        try:
            return json.loads(line)
        except ValueError as error:
            raise self._error(
                f"wrote line {place} ({line[:SHOWN]!r}), which is not JSON: {error}", "JSON"
            ) from error

    def _error(self, why: str, token: str) -> CommandError:
        return CommandError(self.argv, why, token)


def _end(started: subprocess.Popen[bytes]) -> None:
    """Stop the program and all running processes that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(started.pid, signal.SIGKILL)
    started.wait()


def _plain(value: object) -> Any:
    """Convert what JSON cannot hold: arrays and numbers of numpy, and dataclasses."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    raise CommandError(
        (), f"cannot receive an input of type {type(value).__name__}, which JSON cannot represent", "input"
    )


def command(
    argv: Sequence[str],
    *,
    timeout: float = TIMEOUT,
    seeded: bool = True,
    failures: str = "error",
    nan: str = "error",
) -> Mechanism:
    """Return a program as a mechanism; `dpproof.audits.engine.sampling.commands` describes the protocol.

    With ``failures="token"`` the program is started once for each output.

    Args:
        argv: the program and its arguments, such as ``["./run", "--epsilon", "1"]``.
        timeout: the largest number of seconds for one request.
        seeded: whether the program takes its seed from the request; False if the program has randomness of its own.
        failures, nan: as for `Mechanism`.

    >>> echo = command(["sh", "-c", "read request; echo 1; echo '[2, null]'"])
    >>> echo({"any": "data"}, 2, np.random.default_rng(0))
    [1, [2, None]]
    """
    made = Command((argv,) if isinstance(argv, str) else tuple(argv), timeout, seeded)
    together = TOGETHER if failures == "error" else 1
    return Mechanism(made, failures=failures, nan=nan, seeded=seeded, together=together)
