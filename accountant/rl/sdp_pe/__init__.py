"""Accountants of SDP-PE, an algorithm that learns by policy elimination in the shuffle model."""
