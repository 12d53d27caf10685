"""A run, opened for reading: everything that is said of it."""
