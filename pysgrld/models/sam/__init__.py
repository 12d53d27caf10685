"""The spherical admixture model: documents and topics as directions (Reisinger et al. 2010)."""
