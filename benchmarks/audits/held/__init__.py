"""Broken functions with a known fault each, one module for each kind of fault; see `benchmarks.audits.held_out`."""
