"""Faults and sound mechanisms for `dpproof.compare_runs`, and a table of the answers beside dp-recorder's."""
