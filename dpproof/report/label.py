"""The label as text, HTML, SVG and YAML. All four show the same rows."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from html import escape
from importlib.resources import files as resources

from dpproof.labels.card import Label, Row
from dpproof.yaml_text import yaml_text

TITLE = "Privacy label"
_WIDTH = 88
"""Characters in a line of the text form."""


def sections(label: Label) -> Iterator[tuple[str, list[Row]]]:
    """Yield the headings of a card with their rows. A row without a value is a sentence."""
    promise = [Row("promise", label.promise)] if label.promise else []
    verdict = [Row("rests on", label.verdict)] if label.verdict else []
    held = {
        "What is protected": [*label.facts, *promise],
        "What follows": [*verdict, *label.figures()],
        "Conditions and notes": [Row("", "", text) for text in label.conditions],
        "Assumed": [Row("", "", text) for text in label.assumed],
        "Topics of NIST SP 800-226": list(label.hazards),
        "How to check the card": [*(Row("", "", text) for text in label.checks), Row("", "", label.made_by)],
    }
    yield from ((heading, rows) for heading, rows in held.items() if rows)


def as_text(label: Label) -> str:
    """Return the card for a terminal."""
    lines = [
        f"{TITLE}: {label.title}",
        *_wrapped(f"{label.standing.value.upper()}. {label.meaning}", ""),
    ]
    for heading, rows in sections(label):
        lines += ["", heading]
        for row in rows:
            named = f"{row.name}: {row.value}" if row.name else ""
            lines += [*_wrapped(named, "  "), *_wrapped(row.note, "    " if named else "  - ")]
    return "\n".join(lines) + "\n"


def _wrapped(text: str, pad: str) -> list[str]:
    below = " " * len(pad) if pad.endswith("- ") else pad + "  " * (pad == "  ")
    return textwrap.wrap(text, _WIDTH, initial_indent=pad, subsequent_indent=below, break_on_hyphens=False)


def as_yaml(label: Label) -> str:
    """Return the card as YAML. Its numbers are the ends themselves, as doubles."""
    return yaml_text(label.as_data())


_LONG = 34
"""A longer value stands below its name."""


def as_html(label: Label) -> str:
    """Return the card as a page of its own, without scripts or other files."""
    body = "".join(
        f"<section><h2>{escape(heading)}</h2>{_rows(rows)}</section>" for heading, rows in sections(label)
    )
    standing, colour = label.standing, label.standing.colour
    css = (resources("dpproof.report") / "label.css").read_text("utf-8")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{TITLE}: {escape(label.title)}</title><style>{css}</style></head><body><article>"
        f"<h1>{TITLE}</h1><p>{escape(label.title)}</p>"
        f'<p class="standing" style="color:{colour}">{escape(standing.value)}</p><p>{escape(label.meaning)}</p>'
        f"{body}</article></body></html>\n"
    )


def _rows(rows: list[Row]) -> str:
    if not rows[0].name:
        return f"<ul>{''.join(f'<li>{escape(row.note)}</li>' for row in rows)}</ul>"
    return f"<dl>{''.join(map(_row, rows))}</dl>"


def _row(row: Row) -> str:
    long = ' class="long"' if len(row.value) > _LONG else ""
    note = f'<dd class="note">{escape(row.note)}</dd>' if row.note else ""
    return f"<div{long}><dt>{escape(row.name)}</dt><dd>{escape(row.value)}</dd>{note}</div>"


_PAPER, _LINE, _MARGIN, _LETTERS = 440, 17, 18, 54
"""Width of the drawing, height of a line, margin, and letters in a line."""
_STYLES: Mapping[str, str] = {
    "title": "font-size:22px;font-weight:700",
    "standing": "font-size:16px;font-weight:700",
    "heading": "font-size:14px;font-weight:700",
    "name": "font-size:12.5px;font-weight:600",
    "value": "font-size:12.5px",
    "note": "font-size:11.5px;fill:#565f6b",
}


def as_svg(label: Label) -> str:
    """Return the card as a drawing that is as narrow as a telephone's screen."""
    parts, y = list[str](), _MARGIN + 14.0
    for kind, text, side in _svg_lines(label):
        y += {"heading": 8, "name": 4, "standing": 8}.get(kind, 0)
        if kind == "heading":
            parts.append(
                f'<path d="M{_MARGIN} {y - 12:g}H{_PAPER - _MARGIN}" stroke="#1c1f23" stroke-width="3"/>'
            )
            y += 6
        colour = f' style="fill:{label.standing.colour}"' if kind == "standing" else ""
        parts.append(f'<text class="{kind}" x="{_MARGIN}" y="{y:g}"{colour}>{escape(text)}</text>')
        if side:
            right = f'x="{_PAPER - _MARGIN}" y="{y:g}" text-anchor="end"'
            parts.append(f'<text class="value" {right}>{escape(side)}</text>')
        y += _LINE + (6 if kind == "title" else 0)
    height = round(y + 4)
    style = "".join(f".{name}{{{rule}}}" for name, rule in _STYLES.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_PAPER} {height}" width="{_PAPER}" height="{height}"'
        f' style="max-width:100%;height:auto" role="img" aria-label="{escape(f"{TITLE}: {label.title}")}">'
        f"<style>text{{font-family:system-ui,Arial,sans-serif;fill:#1c1f23}}{style}</style>"
        f'<rect x="2" y="2" width="{_PAPER - 4}" height="{height - 4}" rx="8" fill="#fff" stroke="#1c1f23"'
        ' stroke-width="2"/>'
        f"{''.join(parts)}</svg>\n"
    )


def _svg_lines(label: Label) -> Iterator[tuple[str, str, str]]:
    """Yield the lines of the drawing: the kind of a line, its text, and a text at its right end."""
    yield "title", TITLE, ""
    yield from (("value", line, "") for line in textwrap.wrap(label.title, _LETTERS))
    yield "standing", label.standing.value, ""
    yield from (("note", line, "") for line in textwrap.wrap(label.meaning, _LETTERS + 6))
    for heading, rows in sections(label):
        yield "heading", heading, ""
        for row in rows:
            yield from _svg_row(row)


def _svg_row(row: Row) -> Iterator[tuple[str, str, str]]:
    if row.name and len(row.name) + len(row.value) + 3 <= _LETTERS:
        yield "name", row.name, row.value
    elif row.name:
        yield from (("name", line, "") for line in textwrap.wrap(row.name, _LETTERS))
        yield from (("value", line, "") for line in textwrap.wrap(row.value, _LETTERS))
    mark = "" if row.name else "\N{BULLET} "
    yield from (
        ("note", line, "") for line in textwrap.wrap(f"{mark}{row.note}" if row.note else "", _LETTERS + 6)
    )


def _printable(form: Callable[[Label], str]) -> Callable[[Label], str]:
    """Return a form without control characters, which a file could send to the terminal or into a drawing."""

    def shown(label: Label) -> str:
        return "".join(
            one if one.isprintable() or one == "\n" else "\N{REPLACEMENT CHARACTER}" for one in form(label)
        )

    return shown


FORMS = {
    ending: _printable(form)
    for ending, form in ((".txt", as_text), (".html", as_html), (".svg", as_svg), (".yaml", as_yaml))
}
"""The forms of a card by the ending of a file."""
