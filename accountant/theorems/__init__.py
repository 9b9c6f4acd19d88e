"""Theorems that hold for every mechanism: composition, groups, filters."""
