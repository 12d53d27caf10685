"""The spherical admixture model, whose documents and topics are unit vectors (Reisinger et al. 2010)."""
