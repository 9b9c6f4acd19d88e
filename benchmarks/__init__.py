"""Benchmarks: what is measured, never what is tested."""
