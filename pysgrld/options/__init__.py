"""Options of training: their values, and the table rows that all models share."""
