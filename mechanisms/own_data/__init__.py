"""Import of the user's own data: files, data frames, recordings and archives, checked when they are read."""
