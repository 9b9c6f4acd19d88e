"""Untrusted search for proofs and counterexamples; nothing here can make a false claim pass."""

from dpproof.proofs_check.search.provers import prove, refute

__all__ = ["prove", "refute"]
