"""The audit of Gaussian Thompson sampling."""
