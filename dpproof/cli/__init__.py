"""The command line: exit code 0 if every claim stands, 1 refuted or violated, 2 bad input, 3 otherwise.

The module of a verb is imported only when the verb is used, so the list of verbs appears quickly.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import click
from click.exceptions import NoArgsIsHelpError

from dpproof.cli.completion import INSTALL, SHOW
from dpproof.cli.groups import Named
from dpproof.cli.importing import import_from
from dpproof.version import __version__

__all__ = ["app", "main"]

VERBS: Mapping[str, tuple[str, str]] = {
    "account": ("account", "Certified epsilon or delta, beside the published one."),
    "calibrate": ("account", "The smallest noise that meets a target, and why."),
    "simulate": ("simulate", "Epsilon of private training by simulation, with a stated confidence."),
    "verify": ("verify", "Re-check the certificates and print the verdicts."),
    "audit": ("audit", "Run an implementation on neighbouring data and look for a violation of its claim."),
    "check": ("check", "Account, verify and audit, and write one self-contained report."),
    "label": ("label", "Print one card that says what a claim, a result or a passport promises."),
    "reproduce": ("reproduce", "Run a paper's experiment again, and write its tables, plots and page."),
    "benchmark": ("benchmark", "Run every private learner on the same problems, at certified epsilons."),
    "explain": ("explain", "Say what a statement, a mechanism or a word means, and why."),
    "init": ("explain", "Write a commented claim file, and its schema for editors."),
}
"""Verbs, each with its module and its line in the list of verbs."""


class _Verbs(Named):
    """The group of verbs. The module of a verb is imported when the verb is used."""

    def make(self, name: str) -> click.Command:
        """Return the command for a verb, such as ``audit``."""
        found: click.Command = getattr(importlib.import_module(f"dpproof.cli.{VERBS[name][0]}"), name)
        return found

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs without importing the modules of their commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in VERBS.items()])


app = _Verbs(
    "dpproof",
    VERBS,
    help="Is this algorithm as private as it says?",
    params=[INSTALL, SHOW],
    context_settings={"max_content_width": 110},
)
click.version_option(__version__, message="dpproof %(version)s")(app)


def main() -> None:
    """Run the command line. A bad input gives one line, and an internal error is reported as such."""
    gc.set_threshold(50_000)  # pages and formulas are many, and none of them is garbage in a circle
    sys.path.insert(0, "")  # callables of the project one stands in
    import_from(Path.cwd())
    if sys.argv[1:2] in (["account"], ["calibrate"]):
        # These verbs multiply no large matrices. The threads of numpy's BLAS would only start, and wait.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        sys.exit(app(prog_name="dpproof", standalone_mode=False))
    except NoArgsIsHelpError as error:
        click.echo(error.format_message())
        sys.exit(2)
    except (click.UsageError, ValueError, OSError) as error:
        message = error.format_message() if isinstance(error, click.UsageError) else str(error)
        print(f"dpproof: {message}", file=sys.stderr)
        sys.exit(2)
    except Exception as error:
        if os.environ.get("DPPROOF_TRACEBACK"):
            raise
        kind = type(error).__name__
        said = f"The answer could not be certified: {kind}: {error}"
        print(f"dpproof: {said} (Set DPPROOF_TRACEBACK=1 to see where.)", file=sys.stderr)
        sys.exit(3)
