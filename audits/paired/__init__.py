"""Replays of a mechanism on a neighbour with the same noise: what differs besides the noise, and where."""
