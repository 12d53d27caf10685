"""Dynamic topics: words of a topic that change from slice to slice of time."""
