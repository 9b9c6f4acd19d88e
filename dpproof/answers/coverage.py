"""How many of the statements that a paper numbers are decided (proved or refuted).

The file ``proofs_check/papers/ids.txt`` lists the statements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from dpproof.proofs_check.coq.record import CHECKED, claims_checked, recorded
from dpproof.proofs_check.kernel import goal_hash
from dpproof.proofs_check.registry import FORMER, coq_status, lookup
from dpproof.proofs_check.statement import Severity
from dpproof.proofs_check.verdict import Result, Verdict


@dataclass(frozen=True)
class Item:
    """A statement in the list of a paper's statements: id, kind, and other numbers that the paper gives to it."""

    id: str
    kind: str
    aliases: tuple[str, ...] = ()

    @property
    def prefix(self) -> str:
        """The beginning of the id, which stands for the paper."""
        return self.id.split(".")[0]


@dataclass(frozen=True)
class Share:
    """Counts of decided and undecided statements, for one paper or for all papers."""

    statements: int
    """Number of the paper's own statements. Quoted theorems are counted separately."""
    decided: tuple[str, ...]
    """Ids of the statements that are proved or refuted in all parts, also on a subdomain or under assumptions."""
    outright: tuple[str, ...]
    """The ids in ``decided`` whose proof or refutation uses no assumption."""
    undecided: tuple[str, ...]
    """Ids of the statements that are not in ``decided``: open (also in part), assumed or not registered."""
    quoted: int
    """Number of quoted theorems: theorems of other works that the paper uses."""
    quoted_decided: tuple[str, ...]
    """Ids of the quoted theorems that are proved or refuted here."""
    verdicts: Mapping[str, int] = field(default_factory=dict)
    """Number of the paper's own statements with each verdict. Refutations are counted by severity.

    A statement that is refuted in part counts as refuted.
    """
    in_part: tuple[str, ...] = ()
    """The ids in ``undecided`` of statements with a refuted part and an open part."""

    @property
    def open_whole(self) -> tuple[str, ...]:
        """The ids in ``undecided`` of statements of which no part is refuted."""
        return tuple(name for name in self.undecided if name not in self.in_part)


@lru_cache(maxsize=1)
def items() -> tuple[Item, ...]:
    """Return the rows of the list of statements.

    >>> items()[2]
    Item(id='rlsvi.lemma6', kind='statement', aliases=())
    """
    from importlib.resources import files  # opens archives, too, and takes its time

    text = (files("dpproof.proofs_check") / "papers" / "ids.txt").read_text(encoding="utf-8")
    rows = (line.split() for line in text.splitlines())
    return tuple(Item(row[0], row[1], tuple(row[2:])) for row in rows if row and not row[0].startswith("#"))


def identity_of(name: str) -> str:
    """Return the id of the statement with this name.

    ``name`` is the id, a former id, or an id with another number that the paper gives to the statement.

    >>> identity_of("sdp.lemma19")
    'sdp.lemma7'
    """
    others = {f"{item.prefix}.{alias}": item.id for item in items() for alias in item.aliases}
    return {**others, **FORMER}.get(name, name)


def coverage(found: Iterable[Result], prefix: str = "") -> Share:
    """Return the counts for the listed statements whose ids begin with ``prefix``, from the verdicts ``found``."""
    known = {result.id: result for result in found}
    rows = [item for item in items() if item.id.startswith(prefix)]
    statements = [item.id for item in rows if item.kind == "statement"]
    quoted = [item.id for item in rows if item.kind == "quoted"]
    decided = tuple(name for name in statements if _holds(name, known, _decided))
    undecided = tuple(name for name in statements if name not in decided)
    in_part = tuple(name for name in undecided if name in known and known[name].severity)
    return Share(
        len(statements),
        decided,
        tuple(name for name in decided if _holds(name, known, _outright)),
        undecided,
        len(quoted),
        tuple(name for name in quoted if _holds(name, known, _decided)),
        _counted((known[name] for name in statements if name in known), {*undecided} - {*in_part}),
        in_part,
    )


def _parts(name: str, known: Mapping[str, Result]) -> list[Result]:
    """Return the results for an id and its parts as the paper states them, without our corrections."""
    rows = {item.id for item in items()}
    below = (x for key, x in known.items() if key.startswith(f"{name}.") and key not in rows)
    own = [known[name]] if name in known else []
    return [*own, *(x for x in below if x.kind in ("statement", "quoted"))]


def _holds(name: str, known: Mapping[str, Result], test: Callable[[Result], bool]) -> bool:
    parts = _parts(name, known)
    return bool(parts) and all(test(x) for x in parts)


def _decided(result: Result) -> bool:
    """Return whether a result is decided and none of its conjuncts is open."""
    return result.verdict.decided and all(part.verdict is not Verdict.OPEN for part in result.conjuncts)


def _counted(found: Iterable[Result], undecided: Iterable[str]) -> dict[str, int]:
    """Count each verdict, with refutations by severity. A result of ``undecided`` counts as open."""
    undecided = set(undecided)
    return dict(Counter("OPEN" if result.id in undecided else _word(result) for result in found))


def _word(result: Result) -> str:
    return f"{result.verdict.value} {result.severity.value}" if result.severity else result.verdict.value


def _outright(result: Result) -> bool:
    """Return whether a result is decided without any assumption."""
    return _decided(result) and not result.assumptions


def line(share: Share) -> str:
    """Return the counts of decided statements and quoted theorems as a text of one line.

    >>> line(Share(4, ("a", "b", "c"), ("a",), ("d",), 2, ("q",)))
    '3 of 4 statements decided (75%), 1 without assumptions (25%); 1 of 2 quoted theorems decided'
    """
    decided, outright = len(share.decided), len(share.outright)
    return (
        f"{decided} of {share.statements} statements decided ({_percent(decided, share.statements)}), "
        f"{outright} without assumptions ({_percent(outright, share.statements)}); "
        f"{len(share.quoted_decided)} of {share.quoted} quoted theorems decided"
    )


def strength(found: Iterable[Result]) -> str:
    """Return in one line how much the kernel and Coq have checked, and how much people must read."""
    every = tuple(found)
    proved = sum(x.verdict is Verdict.PROVED for x in every)
    most = max(every, key=lambda x: len(x.readings))
    hashes = {goal_hash(y.goal) for x in every for y in lookup(x.id).obligations}
    own = sum(claims_checked(lookup(x.id)) for x in every)
    whole = sum(coq_status(x) == CHECKED for x in every)
    texts = (
        f"{proved} of {len(every)} statements proved from end to end without a reading",
        f"at most {len(most.readings)} readings below one statement ({most.id})",
        f"Coq has checked {len(hashes & recorded().keys())} of {len(hashes)} claims",
        f"all claims of {own} statements, and {whole} statements with all they rest on",
    )
    return f"{texts[0]}; {texts[1]}; {texts[2]}, {texts[3]}"


def counts(share: Share) -> str:
    """Return the number of statements with each verdict as a text of one line.

    >>> counts(Share(3, (), (), (), 0, (), {"STEPS PROVED": 2, "REFUTED slip": 1}))
    '2 STEPS PROVED, 1 REFUTED (slip)'
    """
    order = [x.value for x in Verdict] + [f"REFUTED {x.value}" for x in Severity]
    words = sorted(share.verdicts, key=order.index)
    told = [f"{share.verdicts[word]} {_bracketed(word)}" for word in words]
    if share.in_part:
        told.append(f"{len(share.in_part)} of the refuted only in part: the rest is open")
    return ", ".join(told)


def left_open(share: Share) -> list[tuple[str, tuple[str, ...]]]:
    """Return the ids of the undecided statements in groups, each with a heading.

    >>> left_open(Share(2, (), (), ("a", "b"), 0, (), {}, ("b",)))
    [('Open', ('a',)), ('Refuted in part, the rest is open', ('b',))]
    """
    held = (("Open", share.open_whole), ("Refuted in part, the rest is open", share.in_part))
    return [(words, names) for words, names in held if names]


def _bracketed(word: str) -> str:
    """Return a verdict with its severity in brackets."""
    return f"REFUTED ({word.removeprefix('REFUTED ')})" if word.startswith("REFUTED ") else word


def _percent(part: int, whole: int) -> str:
    return f"{100 * part // whole}%" if whole else "-"
