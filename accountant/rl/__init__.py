"""Accountants of the reinforcement-learning algorithms, one module each."""

__all__: list[str] = []
