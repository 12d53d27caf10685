"""How proportions of topics depend on columns of the documents' metadata."""
