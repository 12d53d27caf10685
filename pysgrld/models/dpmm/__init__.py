"""The Dirichlet-process mixture of multinomials."""
