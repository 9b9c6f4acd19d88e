"""Accountants of the reinforcement-learning algorithms, one subpackage for each paper or algorithm."""

__all__: list[str] = []
