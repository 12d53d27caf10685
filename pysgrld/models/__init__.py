"""Models of models, each a folder, reached by name through `pysgrld.models.table`."""
