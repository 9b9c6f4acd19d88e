"""Flags of a mechanism whose name is an argument, as in ``dpproof audit laplace --scale 1``."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from dpproof.accountant.catalogue import CATALOGUE, accountant_for
from dpproof.accountant.claims.spelling import nearest
from dpproof.cli.options import flag_of, read_text


class TakesFlags(click.Command):
    """A command for which the shell also completes the flags of the audited mechanism.

    If the first argument is ``sweep``, the command `audit_sweep` gets the other arguments.
    """

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of the command, or of the sweep."""
        if args[:1] == ["sweep"]:
            from dpproof.cli.sweep import audit_sweep

            return audit_sweep.make_context(f"{info_name} sweep", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the completions of ``incomplete``: the command's own flags, then the mechanism's flags."""
        target = ctx.params.get("target") or ""
        fields = accountant_for(target).parameters.fields() if target in CATALOGUE else ()
        own = [flag for flag in map(flag_of, fields) if incomplete[:1] == "-" and flag.startswith(incomplete)]
        return [*super().shell_complete(ctx, incomplete), *map(CompletionItem, own)]


def values_of(name: str, flags: list[str]) -> dict[str, Any]:
    """Return the parameters of the mechanism ``name`` from flags ``--name value`` or ``--name=value``."""
    known = {flag_of(field): field for field in accountant_for(name).parameters.fields()}
    values: dict[str, Any] = {}
    words = [word for flag in flags for word in (flag.split("=", 1) if flag.startswith("--") else [flag])]
    while words:
        flag = words.pop(0)
        if flag not in known:
            listed = f"{', '.join(known)}{nearest(flag, known)}"
            rule = f"is neither an option of `dpproof audit` nor a parameter of {name}. The parameters are"
            raise ValueError(f"option ({flag!r}) {rule}: {listed}")
        if not words:
            raise ValueError(f"option ({flag!r}) has no value. It must be {known[flag].metadata['domain']}.")
        values[known[flag].name] = read_text(known[flag], words.pop(0))
    return values
