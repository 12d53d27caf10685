"""Options checked and resolved for one corpus."""
