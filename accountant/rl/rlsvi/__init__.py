"""RLSVI, whose exploration noise makes it jointly private."""
