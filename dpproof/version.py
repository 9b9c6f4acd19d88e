"""The version of this project. Every answer includes it."""

__version__ = "0.2.0"
