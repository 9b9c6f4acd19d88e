"""Sampling: how a mechanism is called, and how its outputs are collected."""
