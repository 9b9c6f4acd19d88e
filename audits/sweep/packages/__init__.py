"""One module for each package that a sweep knows: its mechanisms as a table, and how to call them."""
