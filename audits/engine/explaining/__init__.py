"""Explanations of a violation: a simple event that shows the violation, and a likely cause."""
