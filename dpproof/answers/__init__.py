"""Answers to questions about a mechanism, a statement, a claim or a paper, as data."""
