"""Reading of finished or running runs: topics, intervals, scores, diagnosis, and inference."""
