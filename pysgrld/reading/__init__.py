"""Access to finished or running runs: topics, intervals, scores, convergence, and inference."""
