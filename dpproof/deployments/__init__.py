"""Published guarantees of deployments and trainings, recomputed and compared with what was printed.

`dpproof check deployments` prints the comparison. The facts are in the folder ``data``, each with its source.
"""
