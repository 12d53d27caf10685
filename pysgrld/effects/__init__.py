"""How proportions of topics go with columns of the documents' metadata."""
