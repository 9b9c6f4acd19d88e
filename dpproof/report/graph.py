"""A drawing in SVG that shows which statements rest on others. The same statements give the same bytes.

A statement is drawn to the right of everything that it rests on. A part of a statement is drawn as a box of its own
only if another statement rests on it. Statements without any link are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from dpproof.proofs_check.registry import lookup, statement_ids
from dpproof.proofs_check.verdict import Verdict

Edges = Mapping[str, Sequence[str]]
"""Maps each statement to the statements that it rests on."""
WIDTH, HEIGHT, ACROSS, DOWN, MARGIN = 190, 24, 60, 10, 12
SWEEPS = 6


def edges(prefix: str) -> dict[str, list[str]]:
    """Return, for each statement of a paper, the statements on which it rests directly.

    The ids of the paper's statements begin with ``prefix``. A part of a statement is merged with the whole
    statement if nothing rests on the part, or only other merged parts of the same statement do.
    """
    own = statement_ids(f"{prefix}.")
    inside = _drawn_in(own)
    graph: dict[str, list[str]] = {}
    for name in own:
        entry, box = lookup(name), _box(name, inside)
        below = (_box(x, inside) for x in (*entry.rests_on, *entry.parts))
        graph.setdefault(box, []).extend(x for x in below if x != box)
    return {name: list(dict.fromkeys(below)) for name, below in graph.items()}


def _drawn_in(own: Sequence[str]) -> dict[str, str]:
    """Map parts to their whole, if only other merged parts of the same whole rest on them."""
    needed = [(x, name) for name in own for x in lookup(name).rests_on]
    inside = {part: name for name in own for part in lookup(name).parts if part.startswith(f"{name}.")}
    while beside := {x for x, name in needed if x in inside and inside.get(name) != inside[x]}:
        inside = {part: whole for part, whole in inside.items() if part not in beside}
    return inside


def names(graph: Edges) -> list[str]:
    """Return every statement of a graph."""
    return list(dict.fromkeys([*graph, *(x for below in graph.values() for x in below)]))


def _box(name: str, inside: Mapping[str, str]) -> str:
    while name in inside:
        name = inside[name]
    return name


def layers(graph: Edges) -> list[list[str]]:
    """Return the columns of the drawing, from left to right, each with its statements from top to bottom.

    Each statement is to the right of all statements on which it rests. The order in a column avoids crossing lines.

    >>> layers({"c": ["b"], "b": ["a"], "alone": []})
    [['a'], ['b'], ['c']]
    """
    linked = {name for name, below in graph.items() if below} | {x for below in graph.values() for x in below}
    depth: dict[str, int] = {}
    for name in graph:
        _depth(name, graph, depth, ())
    columns: list[list[str]] = [[] for _ in range(max((depth[x] + 1 for x in linked), default=0))]
    for name in depth:
        if name in linked:
            columns[depth[name]].append(name)
    return _untangled(columns, graph)


def _depth(name: str, graph: Edges, known: dict[str, int], path: tuple[str, ...]) -> int:
    if name not in known:
        below = [x for x in graph.get(name, ()) if x not in path]  # merged boxes may close a circle
        known[name] = 1 + max((_depth(x, graph, known, (*path, name)) for x in below), default=-1)
    return known[name]


def _untangled(columns: list[list[str]], graph: Edges) -> list[list[str]]:
    """Sort each column by the mean position of its neighbours, alternating the direction."""
    around: dict[str, list[str]] = {}
    for name, below in graph.items():
        for x in below:
            around.setdefault(name, []).append(x)
            around.setdefault(x, []).append(name)
    for sweep in range(SWEEPS):
        for column in columns if sweep % 2 == 0 else reversed(columns):
            place = {name: i / max(len(c), 1) for c in columns for i, name in enumerate(c)}
            mean = {name: sum(place[x] for x in around[name]) / len(around[name]) for name in column}
            column.sort(key=mean.__getitem__)
    return columns


def svg(graph: Edges, verdicts: Mapping[str, Verdict], prefix: str, linked: Iterable[str] = ()) -> str:
    """Return the drawing of a graph of statements as SVG text. Colours show the verdicts.

    If ``linked`` contains a statement, its box is a link to the section of the page that has the statement's id.
    """
    columns, anchors = layers(graph), frozenset(linked)
    tall = max(map(len, columns), default=0)
    places = {
        name: (MARGIN + i * (WIDTH + ACROSS), MARGIN + j * (HEIGHT + DOWN) + _above(len(column), tall))
        for i, column in enumerate(columns)
        for j, name in enumerate(column)
    }
    width = 2 * MARGIN + len(columns) * (WIDTH + ACROSS) - ACROSS
    height = 2 * MARGIN + tall * (HEIGHT + DOWN) - DOWN
    lines = [_line(places[x], places[name]) for name, below in graph.items() for x in below if x in places]
    boxes = [_boxed(name, at, verdicts[name], prefix, name in anchors) for name, at in places.items()]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="group" aria-label="what rests on what" font-size="11" '
        'font-family="system-ui, sans-serif">',
        "<title>What rests on what: each statement stands to the right of what it rests on</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *lines, *boxes, "</svg>\n",
    ])  # fmt: skip


def _above(few: int, tall: int) -> int:
    """Return the space above a shorter column."""
    return (tall - few) * (HEIGHT + DOWN) // 2


def _line(start: tuple[int, int], end: tuple[int, int]) -> str:
    (x, y), (u, v) = start, end
    x, y, v = x + WIDTH, y + HEIGHT // 2, v + HEIGHT // 2
    bend = max(ACROSS, (u - x) // 2)
    curve = f"M{x} {y} C{x + bend} {y} {u - bend} {v} {u} {v}"
    return f'<path d="{curve}" fill="none" stroke="#7a838e" stroke-width="1"/>'


def _boxed(name: str, at: tuple[int, int], verdict: Verdict, prefix: str, linked: bool) -> str:
    (x, y), own = at, name.startswith(f"{prefix}.")
    label = name.removeprefix(f"{prefix}.") if own else name
    edge = "" if own else ' stroke-dasharray="3 2"'
    inner = (
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="4" fill="{verdict.fill}" '
        f'stroke="#5b6470"{edge}/><text x="{x + WIDTH // 2}" y="{y + 16}" text-anchor="middle" '
        f'fill="#1c1f23">{escape(_short(label))}<title>{escape(name)}: {escape(verdict.value)}</title></text>'
    )
    return f'<a href="#{escape(name)}">{inner}</a>' if linked else f"<g>{inner}</g>"


def _short(label: str) -> str:
    return label if len(label) <= 32 else f"{label[:31]}…"
