"""Audits of basic mechanisms: noisy sums, noisy choices and randomised records."""
