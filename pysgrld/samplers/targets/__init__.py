"""Distributions on the simplex and the sphere that are known, sampled by the same kernels as topics."""
