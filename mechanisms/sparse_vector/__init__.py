"""The sparse-vector technique."""
