"""Answers: what is found about a mechanism, a statement, a claim or a paper."""
