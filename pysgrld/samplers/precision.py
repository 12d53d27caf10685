"""Bounds from which a form of the state is exact enough: plain numbers that defaults can use."""

#: Smallest eta for which float32 rows are exact enough (`pysgrld.samplers.simplex.log_rows`).
FLOAT_ETA = 0.01
#: Smallest s_k of lazy rows whose conditional mean will do: three per cent of error.
DENSE = 1000.0
