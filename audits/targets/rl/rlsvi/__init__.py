"""The audit of RLSVI."""
