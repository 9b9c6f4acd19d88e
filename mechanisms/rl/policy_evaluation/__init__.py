"""Private policy evaluation with smooth sensitivity."""
