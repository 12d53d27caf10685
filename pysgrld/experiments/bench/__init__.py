"""Benchmarks of kernels (in ns), of reading (in MB/s), and of training (in tokens/s)."""
