"""Mechanisms with known answers: those that an audit must pass and those that it must refute."""

__all__: list[str] = []
