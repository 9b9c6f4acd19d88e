"""Samplers that add noise or select a candidate."""
