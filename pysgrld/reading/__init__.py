"""Runs opened for reading: topics, intervals, scores, diagnosis, and inference."""
