"""Samplers on spheres, for people who have no text at all: directions, axes of orientation, phases.

- `sample`: any energy with a gradient, of one or several unit vectors, by geodesic Monte Carlo; exact
  (`gmc`), or by gradients that are noisy or of minibatches (`sggmc`, `gsgnht`: Liu, Zhu and Song 2016).
- `VonMisesFisher`: the distribution, and mixtures of it: density, gradient, exact draws.
- `uniform`: points to start from. `mean_resultant_length`: how long the mean of a distribution is.

A step is an integrator's eps; noise that gradients have may be known, estimated, or left to a thermostat.
"""

from pysgrld.samplers.targets.sphere.dynamics import SphereDraws, sample
from pysgrld.samplers.targets.sphere.geometry import uniform
from pysgrld.samplers.targets.sphere.von_mises_fisher import VonMisesFisher, mean_resultant_length

__all__ = ["SphereDraws", "VonMisesFisher", "mean_resultant_length", "sample", "uniform"]
