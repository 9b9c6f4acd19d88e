"""Theorems that hold for every mechanism: composition, group privacy, privacy filters."""
