"""The experiments of the papers, run again. There is one package for each paper, and `experiments` lists them."""
