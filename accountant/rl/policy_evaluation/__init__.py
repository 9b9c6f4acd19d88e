"""The accountant of private policy evaluation (DP-LSW and DP-LSL), whose noise follows a smooth sensitivity."""
