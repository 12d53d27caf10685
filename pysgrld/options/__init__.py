"""Options of training: their values, and the rows that all models share."""
