"""Mechanisms with known answers: what an audit must pass and what it must refuse."""

__all__: list[str] = []
