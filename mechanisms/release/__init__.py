"""Exact samplers. Their guarantee covers every bit of a release."""
