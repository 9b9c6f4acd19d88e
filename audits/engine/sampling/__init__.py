"""How a mechanism is called, and its outputs collected."""
