"""``dpproof label``: one card that says what a claim, a result or a passport promises."""

from __future__ import annotations

from pathlib import Path

import click
from click.exceptions import Exit

from dpproof.accountant.numbers.written import write_whole
from dpproof.answers import as_json
from dpproof.cli import show
from dpproof.cli.importing import import_from
from dpproof.cli.options import JSON, PATH, check_file, or_file
from dpproof.labels.numbers import Asked
from dpproof.labels.reading import read_label

_FORMS = (".txt", ".html", ".svg", ".yaml")
_SHOWN = Asked()


@click.command()
@click.argument("file", type=PATH, shell_complete=or_file())
@click.option("--claim", help="Name of the claim, if the claim file has several.")
@click.option("--out", type=PATH, help=f"Write the card to a file that ends in {', '.join(_FORMS)}.")
@click.option(
    "--delta",
    "deltas",
    multiple=True,
    default=_SHOWN.deltas,
    show_default=True,
    help="Give epsilon at this delta; may be repeated.",
)
@click.option(
    "--kappa",
    default=_SHOWN.kappa,
    show_default=True,
    help="Error in delta that the Gaussian summary may have.",
)
@click.option(
    "--beta",
    default=_SHOWN.beta,
    show_default=True,
    help="Probability with which the stated belief may be exceeded.",
)
@click.option("--allow-outside/--no-allow-outside", help="Claims may name files outside the project.")
@JSON
def label(
    file: Path,
    claim: str | None,
    out: Path | None,
    deltas: tuple[str, ...],
    kappa: str,
    beta: str,
    allow_outside: bool,
    json: bool,
) -> None:
    """Print the privacy label of a claim, a result or a passport.

    FILE is a claim file, an answer of dpproof account --json, the text of a result's to_json, or an agent's passport.
    Each number is computed again and rounded to the safe side.
    """
    check_file("out", out, _FORMS)
    import_from(file.parent)
    made = read_label(file, Asked(deltas, kappa, beta), claim, allow_outside)
    from dpproof.report.label import FORMS  # the forms are needed after the numbers

    if out is not None:
        write_whole(out, FORMS[out.suffix](made))
    shown = FORMS[".txt"](made)
    show.answer(as_json.envelope(made.as_data()), json, lambda _console: click.echo(shown, nl=False))
    raise Exit(made.standing.exit_code)
