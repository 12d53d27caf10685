"""One Markov chain, and the averages over its posterior samples."""
