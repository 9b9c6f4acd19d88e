"""Theorems that the papers and this project build on."""

from dpproof.proofs_check.papers.paper import Paper

PAPER = Paper(
    place=6,
    name="classic",
    prefix="classic",
    title="The theorems that the papers and this project build on",
    citation="Quoted or proved here; each with its source",
)
