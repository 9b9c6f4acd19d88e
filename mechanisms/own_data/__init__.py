"""The user's own data: episodes from files, data frames, recordings and archives, checked before anything is done."""
