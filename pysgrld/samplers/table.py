"""The one list of samplers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysgrld.samplers.protocol import Sampler

if TYPE_CHECKING:
    from pysgrld.types import Block

_SCALE = frozenset({"scale-weight"})
_PROJECTS = _SCALE | {"boundary"}
_FITTED = frozenset({"kept-sweeps", "counts"})
_NOISY = frozenset({"friction", "inner-steps", "redraw", "noise-estimate"})
_BOTH = frozenset({"alpha", "eta"})
_NOTHING: frozenset[str] = frozenset()
_CLIMBS = frozenset({"inner-steps"})
_NO_WALKS = frozenset({"kept-sweeps", "theta-parametrisation", "theta-step"})
_TRAJECTORY = frozenset({"leapfrog-steps"})
_STEPPED = frozenset({"step-size", "kept-sweeps"})

SAMPLERS: dict[str, Sampler] = {
    sampler.name: sampler
    for sampler in (
        Sampler(
            "scir",
            "stochastic Cox-Ingersoll-Ross, exact for sparse topics",
            "pysgrld.samplers.simplex.scir",
            "Cir",
            lazy_state="LazyCir",
            inflates=True,
            learns=_BOTH,
            own=frozenset({"lazy", "cir-rate"}),
        ),
        Sampler(
            "sgrld",
            "stochastic-gradient Riemannian Langevin",
            "pysgrld.samplers.simplex.sgrld",
            "Langevin",
        ),
        Sampler(
            "tlasgr",
            "Riemannian steps on the simplex, a scale for each topic and layer",
            "pysgrld.samplers.simplex.tlasgr",
            "TopicScales",
            own=_PROJECTS,
        ),
        Sampler(
            "tlfsgr",
            "Riemannian steps on the simplex, one scale for all topics",
            "pysgrld.samplers.simplex.tlasgr",
            "OneScale",
            own=_PROJECTS,
        ),
        Sampler(
            "smld", "mirrored Langevin", "pysgrld.samplers.simplex.smld", "Dual", relative=False
        ),
        Sampler(
            "smld-approx",
            "mirrored Langevin with 1 + y for exp(y), as its paper ran it",
            "pysgrld.samplers.simplex.smld",
            "ApproximateDual",
            relative=False,
        ),
        Sampler(
            "gibbs",
            "blocked Gibbs over the whole corpus, the exact reference",
            "pysgrld.samplers.simplex.gibbs",
            "Conjugate",
            whole_corpus=True,
            learns=_BOTH,
        ),
        Sampler(
            "cgs",
            "collapsed Gibbs over the whole corpus, one chain on one thread",
            "pysgrld.samplers.simplex.mean",
            "Mean",
            whole_corpus=True,
            learns=_BOTH,
        ),
        Sampler(
            "ovb",
            "online variational Bayes",
            "pysgrld.samplers.simplex.variational",
            "Dirichlets",
            draws=False,
            learns=_NOTHING,
            ignores=_FITTED,
        ),
        Sampler(
            "hsvg",
            "online variational Bayes for topics, documents by Gibbs sampling",
            "pysgrld.samplers.simplex.variational",
            "Dirichlets",
            draws=False,
            learns=_NOTHING,
        ),
        Sampler(
            "sggmc",
            "directions by stochastic-gradient geodesic Monte Carlo",
            "pysgrld.samplers.sphere.geodesic",
            "Geodesic",
            geometry="sphere",
            own=_NOISY,
        ),
        Sampler(
            "gsgnht",
            "directions by geodesic Monte Carlo with a thermostat",
            "pysgrld.samplers.sphere.geodesic",
            "Thermostat",
            geometry="sphere",
            own=_NOISY,
        ),
        Sampler(
            "gmc-apprmh",
            "directions by geodesic trajectories, accepted by an expected energy",
            "pysgrld.samplers.sphere.trajectories",
            "Trajectories",
            geometry="sphere",
            whole_corpus=True,
            own=_TRAJECTORY,
            takes=_STEPPED,
        ),
        Sampler(
            "gmc-bgibbs",
            "directions by geodesic trajectories, in turn with the documents",
            "pysgrld.samplers.sphere.trajectories",
            "Trajectories",
            geometry="sphere",
            whole_corpus=True,
            own=_TRAJECTORY,
            takes=_STEPPED,
        ),
        Sampler(
            "vi",
            "directions by variational Bayes over the whole corpus",
            "pysgrld.samplers.sphere.ascent",
            "Ascent",
            geometry="sphere",
            whole_corpus=True,
            draws=False,
            own=_CLIMBS,
            ignores=_NO_WALKS,
        ),
        Sampler(
            "svi",
            "directions by stochastic variational Bayes",
            "pysgrld.samplers.sphere.ascent",
            "Ascent",
            geometry="sphere",
            draws=False,
            own=_CLIMBS,
            ignores=_NO_WALKS,
        ),
    )
}

#: Gamma shapes move by samplers of their own: preconditioned Langevin, or conjugate draws.
SHAPES = Sampler(
    "shapes",
    "gamma shapes by Langevin steps (Cong et al. 2017)",
    "pysgrld.samplers.gamma.shapes",
    "Shapes",
    geometry="positive",
    own=_SCALE,
)
CONJUGATE_SHAPES = Sampler(
    "shapes-gibbs",
    "gamma shapes given the whole corpus",
    "pysgrld.samplers.gamma.shapes",
    "ConjugateShapes",
    geometry="positive",
    whole_corpus=True,
)
#: A learned eta: given the topics, or given the counts of the whole corpus.
CONCENTRATION = Sampler(
    "concentration",
    "one Dirichlet parameter given topics, by slice sampling (Neal 2003)",
    "pysgrld.samplers.concentration",
    "GivenTopics",
    geometry="concentration",
)
COUNTED_CONCENTRATION = Sampler(
    "concentration-gibbs",
    "one Dirichlet parameter given the whole corpus's counts, by slice sampling",
    "pysgrld.samplers.concentration",
    "GivenCounts",
    geometry="concentration",
    whole_corpus=True,
)


def sampler_of(algo: str, block: Block) -> Sampler:
    """Give the sampler of a block where ``algo`` moves the topics."""
    topics = SAMPLERS[algo]
    if block.geometry == topics.geometry:
        return topics
    if block.geometry == "concentration":
        return COUNTED_CONCENTRATION if topics.whole_corpus else CONCENTRATION
    return CONJUGATE_SHAPES if topics.whole_corpus else SHAPES
