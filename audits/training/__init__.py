"""Audits of learning algorithms: canaries in one run, every step of DP-SGD, whole traces, final models."""
