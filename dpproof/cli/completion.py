"""``dpproof --install-completion`` and ``--show-completion``: completion of names and flags by the shell."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import click
from click.shell_completion import get_completion_class

FILES = {
    "bash": ("~/.bash_completions/dpproof.sh", "~/.bashrc", "source {file}"),
    "zsh": ("~/.zfunc/dpproof.zsh", "~/.zshrc", "autoload -Uz compinit && compinit; source {file}"),
    "fish": ("~/.config/fish/completions/dpproof.fish", None, ""),
}
"""Shells, each with its completion file, its start-up file, and the line that the start-up file needs."""


def source(shell: str) -> str:
    """Return the script with which a shell completes the names and flags of dpproof."""
    found = get_completion_class(shell)
    assert found is not None  # FILES names only shells that click knows
    return found(click.Group("dpproof"), {}, "dpproof", "_DPPROOF_COMPLETE").source()


def install(shell: str) -> Path:
    """Install the completion for new shells, and return its file. A second call changes nothing."""
    place, started, line = FILES[shell]
    file = Path(place).expanduser()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source(shell), encoding="utf-8")
    if started is not None:
        start, needed = Path(started).expanduser(), line.format(file=file)
        known = start.read_text(encoding="utf-8") if start.exists() else ""
        if needed not in known.splitlines():
            start.write_text(f"{known.rstrip()}\n{needed}\n".lstrip(), encoding="utf-8")
    return file


def _chosen(given: str) -> str:
    """Return the shell that is named, or the one in use.

    Raises:
        ValueError: for a shell without completion.
    """
    shell = given or Path(os.environ.get("SHELL", "")).name
    if shell not in FILES:
        raise ValueError(
            f"shell ({shell!r}) must be one of: {', '.join(FILES)}. "
            "Write its name directly after --install-completion or --show-completion."
        )
    return shell


def _show(context: click.Context, _parameter: click.Parameter, given: str | None) -> None:
    if given is not None and not context.resilient_parsing:
        click.echo(source(_chosen(given)))
        context.exit()


def _install(context: click.Context, _parameter: click.Parameter, given: str | None) -> None:
    if given is not None and not context.resilient_parsing:
        shell = _chosen(given)
        click.echo(f"{shell} completes dpproof in new shells: {install(shell)}")
        context.exit()


def _option(
    name: str, callback: Callable[[click.Context, click.Parameter, str | None], None], text: str
) -> click.Option:
    """Return an option that may be given without a value and is processed first."""
    return click.Option(
        [name],
        is_flag=False,
        flag_value="",
        metavar=f"[{'|'.join(FILES)}]",
        is_eager=True,
        expose_value=False,
        callback=callback,
        help=text,
    )


INSTALL = _option("--install-completion", _install, "Let new shells complete names and flags.")
SHOW = _option("--show-completion", _show, "Print the completion of the shell.")
