"""Private agents that learn from users: any Gymnasium environment with finitely many observations and actions."""
