"""The check of a passport: does the number follow from its fields, and does the policy match its hash?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from dpproof.answers.verify import verify
from dpproof.mechanisms.agents.passport import Passport, PassportError, load_agent
from dpproof.proofs_check.verdict import Result


@dataclass(frozen=True)
class CheckedPassport:
    """A passport that was read, or the reason why it was refused.

    Attributes:
        path: the file.
        passport: the passport, or None if it was refused.
        refusal: the first contradiction, or None.
        rests: the verdict on the statement that the guarantee rests on; None for a simulation or a refusal.
    """

    path: Path
    passport: Passport | None
    refusal: str | None
    rests: Result | None = None
    not_checked: ClassVar[tuple[str, ...]] = (
        "who wrote the file",
        "that the training ran as the file says, with this code and with noise from entropy",
        "that every person took part once, and that the declared facts (support, range of rewards) are public",
    )
    """What no reader of a passport can check."""

    @property
    def stands(self) -> bool:
        """Whether the number follows from the fields, and a guarantee holds at all."""
        return self.passport is not None and not self.passport.simulated

    @property
    def told(self) -> dict[str, Any]:
        """The fields of the passport; empty after a refusal."""
        return {} if self.passport is None else self.passport.told


def check_passport(path: Path) -> CheckedPassport:
    """Return what follows from a passport.

    Raises:
        ValueError: there is no such file.
    """
    if not path.is_file():
        raise ValueError(f"passport ({path}) must be a file")
    try:
        found = load_agent(path)
    except PassportError as error:
        return CheckedPassport(path, None, str(error))
    if found.result is None:
        return CheckedPassport(path, found, None)
    return CheckedPassport(path, found, None, verify([found.result.statement]).statements[0])
