"""The badges of the README: small pictures with a label and a computed value."""

from __future__ import annotations

import tomllib
from html import escape
from pathlib import Path

from dpproof.answers.coverage import Share
from dpproof.version import __version__

_PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
_LETTER = 6.6
"""Width of a letter of the badges' font, in pixels; a little wider than the mean of DejaVu Sans at 11 pixels."""


def badges(all_papers: Share) -> dict[str, str]:
    """Return all badges as SVG text, by their paths below ``docs``.

    Args:
        all_papers: how many statements all papers have together, and how many of them are decided or refuted.
    """
    project = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]
    refuted = sum(number for words, number in all_papers.verdicts.items() if words.startswith("REFUTED"))
    decided = f"{len(all_papers.decided)} of {all_papers.statements} decided, {refuted} refuted"
    values = {
        "version": ("version", __version__),
        "python": ("Python", project["requires-python"].replace(">=", "\N{GREATER-THAN OR EQUAL TO} ")),
        "licence": ("licence", project["license"]),
        "statements": ("statements of papers", decided),
    }
    return {f"assets/badge-{name}.svg": badge(*value) for name, value in values.items()}


def badge(label: str, value: str) -> str:
    """Return a badge with this label and value as SVG text.

    >>> 'aria-label="version: 0.2.0"' in badge("version", "0.2.0")
    True
    """
    left, right = (round(_LETTER * len(text) + 12) for text in (label, value))
    said = escape(f"{label}: {value}", quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{said}">'
        f'<title>{said}</title><rect width="{left}" height="20" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="#1f5f8b"/>'
        '<g fill="#fff" text-anchor="middle" font-family="DejaVu Sans,Verdana,sans-serif" font-size="11">'
        f'<text x="{left / 2:g}" y="14">{escape(label)}</text>'
        f'<text x="{left + right / 2:g}" y="14">{escape(value)}</text></g></svg>\n'
    )
