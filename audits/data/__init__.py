"""Inputs and outputs of an audit: pairs of neighbouring inputs, and outputs of any type as comparable values."""
