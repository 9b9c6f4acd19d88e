"""Thompson sampling with Gaussian rewards."""
