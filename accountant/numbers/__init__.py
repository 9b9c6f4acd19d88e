"""Certified numbers: enclosures, bounds, roots, the normal and the binomial distribution."""
