"""Claims about a deployment, and the answers of an accountant."""
