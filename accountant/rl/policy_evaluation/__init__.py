"""The accountant of private policy evaluation (DP-LSW and DP-LSL), with noise scaled by smooth bounds."""
