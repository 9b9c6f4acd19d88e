"""Scores: functions that return one number per output. An audit tests whether this number is large or small."""
