"""Statements, verdicts and certificates: the public names of ``proofs_check``."""

from proofs_check import *
