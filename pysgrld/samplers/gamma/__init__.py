"""Samplers of gamma shapes."""
