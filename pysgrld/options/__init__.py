"""Options of ``sgmc train``: definitions, and parsers of the options' values."""
