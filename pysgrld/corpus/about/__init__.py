"""Stand-in, to be dropped at the merge: documents' names."""
