"""Messages in the shuffle model."""
