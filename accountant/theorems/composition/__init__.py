"""Adaptive composition: what several releases about the same data reveal together, one theorem a function.

The exact theorems add the parameters of a notion (``sums``); approximate differential privacy has more
than one answer: its parameters add, the classical bounds trade delta for epsilon (``advanced``), and the
optimum is the composition of randomised responses (``optimal``). docs/notes/composition.md compares them.
"""
