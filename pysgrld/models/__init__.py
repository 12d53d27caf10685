"""Topic models, one folder each, registered in `pysgrld.models.table`."""
