"""The papers' experiments, run again: one package a paper, the table of them in `experiments`."""
