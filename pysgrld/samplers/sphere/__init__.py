"""Samplers of points on spheres: topics that are unit vectors."""
