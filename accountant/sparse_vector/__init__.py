"""The sparse vector technique: its exact pure epsilon, its profile at delta > 0, and the attaining pair."""
