"""Two runs side by side: which topics they share, and which were split, merged, gone or are new."""
