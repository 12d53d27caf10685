"""A module to import before ``sgmc``, which has one more sampler then: a row of the table."""

from skeletons.drift import ROW

from pysgrld.samplers import SAMPLERS

SAMPLERS[ROW.name] = ROW
