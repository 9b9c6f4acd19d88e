"""Interfaces to other libraries: dp-accounting's events and accountant, Opacus's accountant, and OpenDP."""
