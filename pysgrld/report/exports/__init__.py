"""Results of a run as files of other programs: a format is a row of `table.FORMATS` and a module."""
