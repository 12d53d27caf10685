"""Topic models, each in a folder of its own and registered in `pysgrld.models.table`."""
