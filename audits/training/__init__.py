"""Audits of trainings: by single steps, whole runs, final models, or many random test records in one run."""
