"""The experiment of expert-level private offline learning: budgets, runs, plots and a page."""
