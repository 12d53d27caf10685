"""Known distributions on the simplex and on spheres, sampled by the same kernels as topics."""
