"""Pieces of the report's page: links in texts, ids of drawings, the glossary of the page, lists of what is assumed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache

from markupsafe import Markup, escape

from dpproof.answers.papers import ExpectedAudit
from dpproof.glossary import GLOSSARY
from dpproof.proofs_check.registry import lookup, papers
from dpproof.proofs_check.verdict import Result

_NAMED = re.compile(r"""(\bid="|href="#|url\(#)([^")]*)(["\)])""")
_ID = re.compile(r"\b[a-z]+\.[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*")


def linked(text: str, places: Collection[str]) -> Markup:
    """Return a text as HTML, in which the ids of statements on the page are links.

    >>> linked("corrected by ucb.one. See <ucb.two>", {"ucb.one"})
    Markup('corrected by <a href="#ucb.one"><code>ucb.one</code></a>. See &lt;ucb.two&gt;')
    """
    made, end = Markup(), 0
    for found in _ID.finditer(text):
        if found[0] in places:
            link = Markup('<a href="#{0}"><code>{0}</code></a>').format(found[0])
            made, end = made + escape(text[end : found.start()]) + link, found.end()
    return made + escape(text[end:])


def with_own_ids(page: str) -> str:
    """Return the page after adding a prefix to the ids in each drawing, so that no two drawings share an id.

    >>> with_own_ids('<svg><g id="a"/></svg><svg><g id="a"/><use href="#a"/></svg>')
    '<svg><g id="d1-a"/></svg><svg><g id="d2-a"/><use href="#d2-a"/></svg>'
    """
    first, *others = page.split("<svg")
    return "<svg".join([first, *(_prefixed(text, f"d{number}-") for number, text in enumerate(others, 1))])


def _prefixed(text: str, prefix: str) -> str:
    """Return a text that begins inside a drawing, with a prefix for the ids that the drawing defines."""
    drawing, end, rest = text.partition("</svg>")
    own = set(re.findall(r'\bid="([^"]*)"', drawing))

    def renamed(found: re.Match[str]) -> str:
        return f"{found[1]}{prefix}{found[2]}{found[3]}" if found[2] in own else found[0]

    return f"{_NAMED.sub(renamed, drawing)}{end}{rest}"


def words_in(page: str) -> list[tuple[str, Markup]]:
    """Return the words of the glossary that a page uses, with their meanings.

    >>> [word for word, _ in words_in("<p class='pair'>Two neighbours.</p>")]
    ['neighbours']
    """
    text = re.sub(r"(?s)<svg.*?</svg>|<math.*?</math>|<[^>]*>", " ", page).lower()
    return [(word, _with_code(meaning)) for word, meaning in GLOSSARY.items() if _used(word, text)]


def _with_code(meaning: str) -> Markup:
    """Return a text of the glossary as HTML. Backticks mark code in it."""
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", escape(meaning)))


def _used(word: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b", text) is not None


Grouped = list[tuple[str, list[tuple[str, str]]]]
"""Titles of papers, each with texts and the statement to which each text belongs."""


def by_paper(owners: Mapping[str, str]) -> Grouped:
    """Return texts in groups, one for each paper. ``owners`` maps each text to the id of its statement."""
    titles = {paper.prefix: paper.title for paper in papers().values()}
    held: dict[str, list[tuple[str, str]]] = {}
    for text, name in sorted(owners.items(), key=lambda one: (one[1], one[0])):
        held.setdefault(name.partition(".")[0], []).append((text, name))
    return [(title, held[prefix]) for prefix, title in titles.items() if prefix in held]


def assumed_by(found: Iterable[Result]) -> dict[str, str]:
    """Return, for each assumption, the id of the statement that makes it, or else of the first that needs it."""
    owners: dict[str, str] = {}
    for entry in found:
        for text in entry.assumptions:
            if text not in owners or text in _own(entry.id):
                owners[text] = entry.id
    return owners


@cache
def _own(name: str) -> frozenset[str]:
    statement = lookup(name)
    return frozenset({*statement.rules, *([statement.reason] if statement.reason else [])})


Kinds = list[tuple[str, list[ExpectedAudit]]]


def kinds_of(audits: Iterable[ExpectedAudit]) -> Kinds:
    """Return the audits by kind: implementations, algorithms as printed, and planted faults.

    If an audit is expected to find no violation, its kind is "implementations". If it is expected to find one, its
    kind depends on its name and its reason. If one of them contains the word "printed", the kind is "algorithms as
    printed". Otherwise it is "planted faults".
    """
    held: dict[str, list[ExpectedAudit]] = {"Implementations": [], "Algorithms as printed": [], PLANTED: []}
    for known in audits:
        printed = "printed" in f"{known.evidence.claim} {known.reason}"
        faulty = PLANTED if not printed else "Algorithms as printed"
        held[faulty if known.expected.violated else "Implementations"].append(known)
    return [(kind, found) for kind, found in held.items() if found]


PLANTED = "Planted faults"


def pill_of(known: ExpectedAudit, kind: str) -> tuple[str, str]:
    """Return the word and the colour for the result of an audit. A planted fault is green if the audit found it."""
    verdict = known.evidence.verdict
    if kind != PLANTED:
        return verdict.value, verdict.colour
    return ("found", "green") if verdict is known.expected else ("not found", "red")
