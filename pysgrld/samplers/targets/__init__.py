"""Known distributions on the simplex and on spheres, sampled by the kernels that move topics."""
