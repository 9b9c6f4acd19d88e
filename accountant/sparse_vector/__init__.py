"""The sparse vector technique: its exact pure epsilon, its guarantee at delta > 0, and the worst neighbours."""
