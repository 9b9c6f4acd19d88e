"""What a deployment promises, and what an accountant answers."""
