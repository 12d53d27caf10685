"""A search over numbers of topics and other options: rungs of training that drop what is surely worse."""
