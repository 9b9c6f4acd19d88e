"""Explanations of a violation: a simple event that shows it, and a likely cause that fits fresh outputs."""
