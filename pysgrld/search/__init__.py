"""Search over numbers of topics and other options, by successive halving."""
