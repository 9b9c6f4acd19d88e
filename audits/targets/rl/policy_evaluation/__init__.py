"""The audit of private policy evaluation."""
