"""RLSVI: its exploration noise makes it jointly private."""
