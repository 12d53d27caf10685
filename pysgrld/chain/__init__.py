"""Markov chains, and the averages over their posterior samples."""
