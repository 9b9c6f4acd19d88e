"""Answers: the results on a mechanism, a statement, a claim or a paper."""
