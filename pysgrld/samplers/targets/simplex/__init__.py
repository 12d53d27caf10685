"""Small posteriors that are known: for people who have no text at all, and to prove samplers on.

- `sample`: category probabilities from minibatched counts, by the samplers of topics themselves.
- `langevin`: the same posterior by Langevin dynamics in four coordinate systems, with or without a
  Riemannian metric, with or without a Metropolis step (Patterson and Teh 2013, section 3).
- `gamma`, `lognormal`: one positive number, by SCIR (Baker et al. 2018, section 2.3).

In all of them a step is a diffusion time h: drift enters as h times drift, noise as variance 2h.
"""

from pysgrld.samplers.targets.simplex.categories import sample
from pysgrld.samplers.targets.simplex.common import Draws
from pysgrld.samplers.targets.simplex.coordinates import COORDINATES
from pysgrld.samplers.targets.simplex.dynamics import langevin
from pysgrld.samplers.targets.simplex.positive import gamma, lognormal

__all__ = ["COORDINATES", "Draws", "gamma", "langevin", "lognormal", "sample"]
