"""Renyi divergences in closed form or by certified quadrature, as guarantees."""
