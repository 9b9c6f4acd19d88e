"""Untrusted search for proofs and counterexamples; nothing here can make a false claim pass."""

from dpproof.proofs_check.provers.search import prove, refute

__all__ = ["prove", "refute"]
