"""The check of a number certificate: does the kernel accept it, and is it about the deployment that it names?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dpproof.answers.verify import verify
from dpproof.deployments.carried import folder, stated
from dpproof.deployments.records import Deployment, bundled
from dpproof.proofs_check.kernel import Rejected, load
from dpproof.proofs_check.kernel.numbers import Number, check_number
from dpproof.proofs_check.verdict import Result

RESTS_ON = {
    "zcdp": ("classic.zcdp_conversion",),
    "discrete-gaussians": (
        "classic.dominating_composition",
        "classic.log_concave_shifts",
        "classic.loss_split",
    ),
}
"""The statements that turn the arithmetic of a certificate into a guarantee, by the kind of the number."""


@dataclass(frozen=True)
class CheckedNumber:
    """A number certificate that was checked, or the reason why it was rejected.

    Attributes:
        path: the file.
        number: what the certificate proves, or None if it was rejected.
        refusal: why it was rejected, or None.
        row: the deployment that it is about, or None for a certificate of one's own.
        rests: the verdicts on the statements that the number rests on.
    """

    path: Path
    number: Number | None
    refusal: str | None
    row: Deployment | None = None
    rests: tuple[Result, ...] = ()

    @property
    def assumes(self) -> tuple[str, ...]:
        """What is taken for granted, in sentences."""
        if self.number is None:
            return ()
        if self.number.kind == "zcdp":
            first = "the mechanism has this rho, for both orders of each pair of neighbours"
        else:
            first = (
                "the mechanism adds independent discrete Gaussian noise with these parameters to whole numbers, "
                "and neighbours differ in each number by at most one"
            )
        about = "the published configuration is the one that ran" if self.row is not None else ""
        return (first, *([about] if about else []))


def check_certificate(path: Path) -> CheckedNumber:
    """Return what follows from a number certificate. A name without a folder may be that of a bundled one.

    Raises:
        ValueError: there is no such file.
    """
    stored = folder() / path
    place = stored if not path.exists() and path.name == str(path) else path
    if not place.is_file():
        raise ValueError(f"certificate ({path}) must be a file, or the name of a bundled certificate")
    try:
        number = check_number(load(place.read_text(encoding="utf-8")))
        row = _deployment(number)
    except Rejected as reason:
        return CheckedNumber(path, None, str(reason))
    except UnicodeDecodeError:
        return CheckedNumber(path, None, "the file is not text in UTF-8")
    return CheckedNumber(path, number, None, row, verify(RESTS_ON[number.kind]).statements)


def _deployment(number: Number) -> Deployment | None:
    """Return the deployment that an accepted number names. Reject a number that differs from what is published."""
    for row in bundled():
        wanted = stated(row).get(number.id)
        if wanted is not None:
            if not wanted.is_of(number):
                raise Rejected(f"the claim differs from the published facts about {row.name}")
            return row
    return None
