"""Benchmarks of kernels (ns), of reading (MB/s), and of training (tokens/s)."""
