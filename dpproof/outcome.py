"""Outcomes: the result of a check of a claim or of a paper, with its words, colours and exit codes."""

from __future__ import annotations

from enum import Enum

from dpproof.audits.recording.evidence import Finding


class Level(Enum):
    """A class of outcomes, which decides how SARIF files, JUnit files and Markdown summaries show them."""

    _value_: str
    mark: str
    """The sign of the outcome in Markdown."""
    kind: str
    """The outcome's kind of result in SARIF."""
    severity: str
    """The outcome's level in SARIF; ``none`` unless the outcome is a failure or an error."""

    def __new__(cls, word: str, mark: str, kind: str, severity: str) -> Level:
        """Make a member whose value is the word."""
        made = object.__new__(cls)
        made._value_, made.mark, made.kind, made.severity = word, mark, kind, severity
        return made

    PASS = "pass", "\u2713", "pass", "none"
    """A certified guarantee implies the promise."""
    TOLERATED = "tolerated", "\u2013", "open", "none"
    """Only floating-point bits refute a promise that is about real arithmetic."""
    NOTHING = "nothing found", "\u2013", "open", "none"
    """An audit found nothing against the promise, which is no proof of it."""
    RECORDED = "as recorded", "=", "informational", "none"
    """What is known of a paper came out again. This says nothing of whether the paper is right."""
    FAILURE = "failure", "\u2717", "fail", "error"
    """A promise is refuted."""
    ERROR = "error", "?", "fail", "warning"
    """It could not be checked, or not be certified."""


class Outcome(Enum):
    """The result of checking one claim of a claim file, or one paper."""

    _value_: str
    level: Level
    exit_code: int
    colour: str
    """On a terminal."""
    rule: str
    """What must hold, as other tools show it."""
    meaning: str

    def __new__(
        cls, word: str, level: Level, exit_code: int, colour: str, rule: str, meaning: str
    ) -> Outcome:
        """Make a member whose value is the word."""
        made = object.__new__(cls)
        made._value_, made.level, made.exit_code = word, level, exit_code
        made.colour, made.rule, made.meaning = colour, rule, meaning
        return made

    KEPT = (
        "kept",
        Level.PASS,
        0,
        "green",
        "A certified guarantee implies the promise; the message says what it rests on.",
        "The certified guarantee implies the promise. The answer names the statement that it rests on, and "
        "its verdict.",
    )
    CONSISTENT = (
        Finding.CONSISTENT.value,
        Level.NOTHING,
        0,
        Finding.CONSISTENT.colour,
        "An audit found nothing on its pair; it sees twice the promise there, in the classes it names.",
        Finding.CONSISTENT.meaning,
    )
    INCONCLUSIVE = (
        Finding.INCONCLUSIVE.value,
        Level.NOTHING,
        0,
        Finding.INCONCLUSIVE.colour,
        "An audit found nothing; it might not have seen twice the promise.",
        Finding.INCONCLUSIVE.meaning,
    )
    BROKEN = (
        "broken",
        Level.FAILURE,
        1,
        "red",
        "A promise must hold: no pair of neighbours and no audit may refute it.",
        "A pair of neighbours, or an audit, refutes the promise.",
    )
    FLOATING_POINT = (
        "broken (floating point only)",
        Level.FAILURE,
        1,
        "red",
        "Released floating-point numbers must keep a promise, unless it is about real arithmetic.",
        "The low bits of floating-point numbers refute the promise, and nothing else does; a claim that "
        'promises no more than real arithmetic says arithmetic = "real".',
    )
    TOLERATED = (
        "tolerated (floating point only)",
        Level.TOLERATED,
        0,
        "yellow",
        "Only floating-point bits refute the promise, which is about real arithmetic.",
        "Only the low bits of floating-point numbers refute the promise, which is about real arithmetic. The "
        "exit code is that of what is known without the bits.",
    )
    TOO_WEAK = (
        "too weak",
        Level.FAILURE,
        1,
        "yellow",
        "Under --strict an audit must be able to see twice the promise.",
        "Under --strict: an audit that could not have seen twice the promised epsilon; give it a larger "
        "budget.",
    )
    NOT_CERTIFIED = (
        "not certified",
        Level.ERROR,
        3,
        "yellow",
        "A promise about a mechanism of this project must follow from its certified guarantee.",
        "A mechanism of this project whose certified guarantee does not imply the promise, or rests on a "
        "statement that is open.",
    )
    OUT_OF_TIME = (
        "out of time",
        Level.ERROR,
        3,
        "yellow",
        "The time budget must suffice for claims that only an audit speaks for.",
        "Only an audit could speak for the claim, and the seconds of the file's budget were spent before it "
        "ended. A refutation that there was no time to confirm is said beside it. Exit code 3.",
    )
    REFUSED = (
        "refused",
        Level.ERROR,
        2,
        "red",
        "A claim must be one that can be checked.",
        "A claim that cannot be checked: it is written wrongly, or what it names does not exist or fails. The "
        "line beside it says the value and the rule; the other claims are checked. Exit code 2.",
    )
    RECORDED = (
        "as recorded",
        Level.RECORDED,
        0,
        "green",
        "The recorded verdicts came out again, refuted ones included.",
        "All verdicts on a paper's statements came out as last recorded, refuted ones included.",
    )
    NOT_RECORDED = (
        "not as recorded",
        Level.FAILURE,
        1,
        "red",
        "The recorded verdicts must come out again.",
        "A verdict on a paper's statement, or an audit of the corpus, that was another once.",
    )
