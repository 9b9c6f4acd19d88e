"""Composed privacy loss: certified profiles by inversion of the moment-generating function and on a grid."""
