"""The experiment of PRIVATE-UCB: arms, runs over shared noise, tables, plots and a page."""
