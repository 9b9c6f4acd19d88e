"""The experiment of private policy evaluation: kinds of noise, runs on the chain, plots and a page."""
