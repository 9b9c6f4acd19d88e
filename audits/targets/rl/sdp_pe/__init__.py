"""Audits of the shuffled releases of SDP-PE."""
