"""A run as one HTML page, which anybody can open and nothing can follow home."""
