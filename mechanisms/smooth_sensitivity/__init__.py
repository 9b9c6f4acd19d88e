"""Noise for smooth sensitivity."""
