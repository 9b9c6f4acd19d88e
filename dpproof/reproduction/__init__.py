"""The papers' experiments, with one package for each paper. `experiments` lists them."""
