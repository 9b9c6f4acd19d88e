"""Placeholder while the house is being built."""
__all__: list[str] = []
