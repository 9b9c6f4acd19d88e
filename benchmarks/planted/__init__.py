"""Faults that a user planted into mechanisms of diffprivlib, OpenDP and PyDP, and what an audit says of them."""
