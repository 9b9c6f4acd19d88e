"""Audits of the shuffled counts that the learning algorithm SDP-PE releases."""
