"""Several chains compared."""
