"""The topics of NIST SP 800-226 on a label: what the card states, and what no card can state.

NIST SP 800-226 (Guidelines for Evaluating Differential Privacy Guarantees, 2025) puts the parts of a guarantee in a
pyramid, from the parameters at its top to the protection of the raw data at its bottom, and names hazards at each
level. The topics here follow that order. Their names are this project's.
"""

from __future__ import annotations

from collections.abc import Iterator

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.labels.card import Row
from dpproof.labels.numbers import Numbers, most

STATED, OPEN, OUTSIDE = "stated", "open", "outside this card"


def hazards(result: PrivacyResult | None, numbers: Numbers) -> tuple[Row, ...]:
    """Return one row for each topic. ``result`` is None if only a promise is known."""
    return (*_parameters(numbers), *_subject(result), *_algorithm(result), *_below())


def _parameters(numbers: Numbers) -> Iterator[Row]:
    gain = (
        f"The true positive rate of an attack is at most {most(numbers.advantage.upper)} above its false one."
    )
    yield Row("size of epsilon", STATED, gain)
    if numbers.worst is None:
        yield Row(
            "meaning of delta",
            STATED,
            "The privacy loss may exceed epsilon. The row on belief says how often.",
        )
    else:
        yield Row("meaning of delta", STATED, "The guarantee has a finite epsilon at delta 0.")


def _subject(result: PrivacyResult | None) -> Iterator[Row]:
    named = result is not None and result.unit != "record"
    told = "The card names the unit." if named else "Nobody named the unit. Check that it is a person."
    yield Row("unit of privacy", STATED if named else OPEN, told)
    known = result is not None and result.adjacency is not Adjacency.BY_SENSITIVITY
    told = "The card names the relation." if known else "The relation is not stated, or was not checked."
    yield Row("neighbouring relation", STATED if known else OPEN, told)
    yield Row("bounded contributions", OPEN, "Check that nobody adds more units than the card assumes.")


def _algorithm(result: PrivacyResult | None) -> Iterator[Row]:
    sensitivity = None if result is None else result.sensitivity
    if sensitivity is not None and result is not None and result.adjacency is not Adjacency.BY_SENSITIVITY:
        yield Row("sensitivity", STATED, f"{sensitivity.exact} ({sensitivity.norm}): {sensitivity.rule}.")
    elif sensitivity is not None or result is None:
        yield Row(
            "sensitivity", OPEN, "Nobody showed that the data have the sensitivity that the noise assumes."
        )
    yield Row(
        "composition", OPEN, "The card covers this run alone. Other releases from the same data add to it."
    )
    yield Row(
        "choices made on the data", OPEN, "Tuning and cleaning on the raw data are not part of this run."
    )
    exact = result is not None and result.covers_released_bits
    told = (
        "The named sampler draws every released bit exactly."
        if exact
        else "The low bits of doubles may leak."
    )
    yield Row("floating-point arithmetic", STATED if exact else OPEN, told)
    yield Row("correct implementation", OPEN, "The card ran no audit. dpproof audit tests the code.")


def _below() -> Iterator[Row]:
    yield Row("side channels", OUTSIDE, "Running time, memory and error messages are not covered.")
    yield Row(
        "trust and access to raw data", OUTSIDE, "The trust model is assumed. Access control is not checked."
    )
    yield Row(
        "accuracy and fairness", OUTSIDE, "Noise may hurt small groups most. The card measures no error."
    )
