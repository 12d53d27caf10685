"""Dynamic topics, whose word probabilities change from one time slice to the next."""
