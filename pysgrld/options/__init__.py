"""Options of ``sgmc train``: their definitions, and parsers of their values."""
