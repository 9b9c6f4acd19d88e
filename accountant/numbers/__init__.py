"""Certified numbers: enclosures, bounds, root searches, and the normal and binomial distributions."""
