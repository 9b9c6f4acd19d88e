"""What a violation looks like: a simple event that shows it, and an explanation that fits fresh outputs."""
