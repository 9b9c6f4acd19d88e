"""Claims to try the command line on, and what they speak of; a package, since others install one of this name."""
