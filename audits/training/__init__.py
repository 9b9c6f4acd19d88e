"""Audits of learning algorithms: canaries in one run, single steps of DP-SGD, whole traces, and final models."""
