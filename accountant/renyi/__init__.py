"""Renyi DP guarantees of mechanisms, from Renyi divergences that are computed by certified quadrature."""
