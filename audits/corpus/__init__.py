"""Mechanisms with known answers: correct ones, and faulty ones that an audit must refute."""

__all__: list[str] = []
