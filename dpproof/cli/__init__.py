"""The command line: exit code 0 if every claim stands, 1 refuted or violated, 2 bad input, 3 otherwise."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, cast

import typer

from dpproof.claim_file import import_from
from dpproof.cli import account, audit, check, explain, reproduce, verify
from dpproof.version import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    help="Is this algorithm as private as it says?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"dpproof {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Is this algorithm as private as it says?"""


app.add_typer(account.account, name="account", help="Certified epsilon or delta, beside the published one.")
app.add_typer(account.calibrate, name="calibrate", help="The smallest noise that meets a target, and why.")
app.command("verify")(verify.verify)
_FLAGS = {"allow_extra_args": True, "ignore_unknown_options": True}
app.command("audit", context_settings=_FLAGS)(audit.audit)
app.command("check")(check.check)
app.command("reproduce")(reproduce.reproduce)
app.command("explain")(explain.explain)
app.command("init")(explain.init)


# Unknown commands and missing options raise it; typer has no public name for it.
_UsageError = cast("type[typer.BadParameter]", typer.BadParameter.__bases__[0])


def main() -> None:
    """Run the command line; a bad input is one line, an internal error says so."""
    sys.path.insert(0, "")  # callables of the project one stands in
    import_from(Path.cwd())
    try:
        sys.exit(app(standalone_mode=False))
    except (_UsageError, ValueError, OSError) as error:
        message = error.format_message() if isinstance(error, _UsageError) else str(error)
        if message:  # no line where the help was asked for by giving nothing
            print(f"dpproof: {message}", file=sys.stderr)
        sys.exit(2)
    except Exception as error:
        if os.environ.get("DPPROOF_TRACEBACK"):
            raise
        kind = type(error).__name__
        print(f"dpproof: not certified: {kind}: {error} (DPPROOF_TRACEBACK=1 shows where)", file=sys.stderr)
        sys.exit(3)
