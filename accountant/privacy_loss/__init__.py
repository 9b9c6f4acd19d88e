"""Composition of dominating pairs: certified privacy profiles by moment-generating functions or on a grid."""
