"""Search for the best number of topics and other options, by successive halving."""
