"""Untrusted search for proofs and counterexamples; nothing here can make a false claim pass."""
