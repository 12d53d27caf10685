"""Deep LDA, the Poisson gamma belief network."""
