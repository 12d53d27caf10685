"""Dynamic topics: the words of a topic change from one time slice to the next."""
