"""Claims to try the command line on; a package, because others install one of this name."""
