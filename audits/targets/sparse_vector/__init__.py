"""The audit of the sparse vector technique."""
