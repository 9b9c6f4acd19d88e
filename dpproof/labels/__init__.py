"""The privacy label: one card that says what a guarantee promises, what it rests on, and what it leaves open."""
