"""Audits of noise primitives: sums, choices and records."""
