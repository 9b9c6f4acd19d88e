"""Audits of expert-level offline learning."""
