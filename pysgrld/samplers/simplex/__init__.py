"""Samplers of matrices of simplexes."""
