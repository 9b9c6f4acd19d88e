"""Command groups that create a sub-command only when it is used."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import click

from dpproof.accountant.claims.spelling import one_of


class Named(click.Group):
    """A command group with one sub-command for each name. `make` creates a sub-command when it is used."""

    def __init__(self, name: str, known: Collection[str], **options: Any) -> None:
        super().__init__(name, no_args_is_help=True, **options)
        self.known = known

    def make(self, name: str) -> click.Command:
        """Return the sub-command with that name."""
        raise NotImplementedError

    def list_commands(self, _context: object) -> list[str]:
        """Return the names of the sub-commands in the order in which they were given."""
        return list(self.known)

    def get_command(self, _context: object, name: str) -> click.Command | None:
        """Return the sub-command with that name, or None."""
        return self.make(name) if name in self.known else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the sub-command with which the arguments begin.

        Raises:
            ValueError: there is no such sub-command. The message names a similar one or lists all.
        """
        if not ctx.resilient_parsing and not args[0].startswith("-") and args[0] not in self.known:
            rule = f"It {one_of(args[0], self.known)}"
            raise ValueError(f"No such command {args[0]!r}. {rule}")
        return super().resolve_command(ctx, args)
