"""Theorems that hold of any mechanism: composition, groups, filters."""
