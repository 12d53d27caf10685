"""Topic models, each in its own folder and registered in `pysgrld.models.table`."""
