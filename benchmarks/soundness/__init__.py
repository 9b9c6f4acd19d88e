"""The soundness campaign: bounds at random parameters against references that share no code with them."""
