"""The papers' experiments: one package for each paper, and the table of them in `experiments`."""
