"""Table of all samplers, and the options that only some samplers have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pysgrld.errors import UsageError
from pysgrld.options.option import Option
from pysgrld.options.parse import choice, integer, real, schedule
from pysgrld.samplers.sampler import Sampler

if TYPE_CHECKING:
    from pysgrld.types import Block

# ---- options that only some samplers have

LAZY = Option(
    choice("auto", "on", "off"),
    "auto",
    "update the row of a word only when a minibatch needs it",
    "Sampling",
    metavar="auto|on|off",
    default="auto",
    setting=True,
)
CIR_RATE = Option(
    choice("paper", "natural"),
    "paper",
    "rate of a topic's Cox-Ingersoll-Ross process: paper (1), or natural (greater for topics "
    "with more tokens)",
    "Sampling",
    metavar="paper|natural",
    default="paper",
    setting=True,
)
BOUNDARY = Option(
    choice("clip", "reflect"),
    "clip",
    "if a step makes a probability negative: clip it to 0, or reflect it",
    "Sampling",
    metavar="clip|reflect",
    default="clip",
    setting=True,
)
#: Models with gamma shapes have this option, too. It then sets the step sizes of the shapes.
SCALE_WEIGHT = Option(
    schedule,
    "0.5,21,0.7",
    "weight A*(1+t/B)^(-C) of a minibatch in the running average that sets step sizes",
    "Sampling",
    metavar="A,B,C",
    default=(0.5, 21.0, 0.7),
    setting=True,
)
_DIRECTIONS = "Directions (--model sam)"
FRICTION = Option(
    real(0.0, 100.0),
    "0.5",
    "fraction of the velocity that friction removes in a step",
    _DIRECTIONS,
    metavar="A",
    default=0.5,
    setting=True,
)
INNER_STEPS = Option(
    integer(1, 100_000),
    "1",
    "steps of the topics per minibatch (vi, svi: at most)",
    _DIRECTIONS,
    metavar="N",
    default=1,
    setting=True,
)
RESAMPLE = Option(
    choice("on", "off"),
    "on",
    "sample proportions again in each inner step",
    _DIRECTIONS,
    metavar="on|off",
    default="on",
    setting=True,
)
NOISE_ESTIMATE = Option(
    choice("on", "off"),
    "on",
    "estimate the variance of minibatch noise for each topic, and add less noise accordingly",
    _DIRECTIONS,
    metavar="on|off",
    default="on",
    setting=True,
)
LEAPFROG_STEPS = Option(
    integer(1, 100_000),
    "5",
    "steps per trajectory of the topics",
    _DIRECTIONS,
    metavar="N",
    default=5,
    setting=True,
)
ADAPTED_ITERATIONS = Option(
    integer(0, 10**9),
    "0",
    "number of first iterations, in which the step size adapts to an acceptance rate of 0.65",
    _DIRECTIONS,
    metavar="N",
    default=0,
    setting=True,
)

_SCALED = {"boundary": BOUNDARY, "scale-weight": SCALE_WEIGHT}
_GEODESIC = {
    "friction": FRICTION,
    "inner-steps": INNER_STEPS,
    "resample": RESAMPLE,
    "noise-estimate": NOISE_ESTIMATE,
}
_BOTH = frozenset({"alpha", "eta"})
_NOTHING: frozenset[str] = frozenset()
_NO_WALKS = frozenset({"kept-sweeps", "theta-parametrisation", "theta-step"})
_STEPPED = frozenset({"step-size", "kept-sweeps"})


def _check_resample(settings: Mapping[str, Any]) -> None:
    """Raise an error if ``resample`` is set but minibatches have a single inner step."""
    if "resample" in settings and settings.get("inner-steps", 1) == 1 and "preset" not in settings:
        raise UsageError("--set resample requires --set inner-steps above 1")


# ---- samplers

SAMPLERS: dict[str, Sampler] = {
    sampler.name: sampler
    for sampler in (
        Sampler(
            "scir",
            "stochastic Cox-Ingersoll-Ross process, without discretisation error for sparse topics",
            "pysgrld.samplers.scir",
            "Cir",
            settings="ScirSettings",
            options={"cir-rate": CIR_RATE, "lazy": LAZY},
            inflates=True,
            learns=_BOTH,
        ),
        Sampler(
            "sgrld", "stochastic-gradient Riemannian Langevin", "pysgrld.samplers.sgrld", "Langevin"
        ),
        Sampler(
            "sgrhmc",
            "stochastic-gradient Riemannian Hamiltonian: topics with momenta",
            "pysgrld.samplers.sgrhmc",
            "Hamiltonian",
            settings="HamiltonianSettings",
        ),
        Sampler(
            "tlasgr",
            "Riemannian steps on the simplex, a scale for each topic and layer",
            "pysgrld.samplers.tlasgr",
            "TopicScales",
            settings="ScaledSettings",
            options=_SCALED,
        ),
        Sampler(
            "tlfsgr",
            "Riemannian steps on the simplex, one scale for all topics",
            "pysgrld.samplers.tlasgr",
            "OneScale",
            settings="ScaledSettings",
            options=_SCALED,
        ),
        Sampler("smld", "mirrored Langevin", "pysgrld.samplers.smld", "Dual", relative=False),
        Sampler(
            "smld-approx",
            "mirrored Langevin with 1 + y in place of exp(y), as in its paper",
            "pysgrld.samplers.smld",
            "ApproximateDual",
            relative=False,
        ),
        Sampler(
            "gibbs",
            "blocked Gibbs sampling over the whole corpus, the exact reference",
            "pysgrld.samplers.gibbs",
            "Conjugate",
            whole_corpus=True,
            learns=_BOTH,
        ),
        Sampler(
            "cgs",
            "collapsed Gibbs sampling over the whole corpus, one chain on one thread",
            "pysgrld.samplers.gibbs",
            "Mean",
            whole_corpus=True,
            serial=True,
            learns=_BOTH,
        ),
        Sampler(
            "ovb",
            "online variational Bayes",
            "pysgrld.samplers.variational",
            "Dirichlets",
            draws=False,
            learns=_NOTHING,
            ignores=frozenset({"kept-sweeps", "counts"}),
        ),
        Sampler(
            "hsvg",
            "online variational Bayes for topics, Gibbs sampling for documents",
            "pysgrld.samplers.variational",
            "Dirichlets",
            draws=False,
            learns=_NOTHING,
        ),
        Sampler(
            "sggmc",
            "directions by stochastic-gradient geodesic Monte Carlo",
            "pysgrld.samplers.geodesic",
            "Geodesic",
            settings="GeodesicSettings",
            geometry="sphere",
            options=_GEODESIC,
            check=_check_resample,
        ),
        Sampler(
            "gsgnht",
            "directions by geodesic Monte Carlo with a thermostat",
            "pysgrld.samplers.geodesic",
            "Thermostat",
            settings="GeodesicSettings",
            geometry="sphere",
            options=_GEODESIC
            | {"noise-estimate": NOISE_ESTIMATE._replace(default="off", shown="off")},
            check=_check_resample,
        ),
        Sampler(
            "gmc-apprmh",
            "directions by geodesic trajectories, with an approximate Metropolis test",
            "pysgrld.samplers.trajectories",
            "Trajectories",
            settings="TrajectorySettings",
            geometry="sphere",
            options={
                "leapfrog-steps": LEAPFROG_STEPS._replace(default=1, shown="1"),
                "adapted-iterations": ADAPTED_ITERATIONS,
            },
            whole_corpus=True,
            takes=_STEPPED,
        ),
        Sampler(
            "gmc-bgibbs",
            "directions by geodesic trajectories, in blocked Gibbs sampling with the documents",
            "pysgrld.samplers.trajectories",
            "Trajectories",
            settings="TrajectorySettings",
            geometry="sphere",
            options={"leapfrog-steps": LEAPFROG_STEPS, "adapted-iterations": ADAPTED_ITERATIONS},
            whole_corpus=True,
            takes=_STEPPED,
        ),
        Sampler(
            "vi",
            "directions by variational Bayes over the whole corpus",
            "pysgrld.samplers.ascent",
            "Ascent",
            settings="AscentSettings",
            geometry="sphere",
            options={"inner-steps": INNER_STEPS._replace(default=10, shown="10")},
            whole_corpus=True,
            draws=False,
            ignores=_NO_WALKS,
        ),
        Sampler(
            "svi",
            "directions by stochastic variational Bayes",
            "pysgrld.samplers.ascent",
            "Ascent",
            settings="AscentSettings",
            geometry="sphere",
            options={"inner-steps": INNER_STEPS._replace(default=40, shown="40")},
            draws=False,
            ignores=_NO_WALKS,
        ),
        Sampler(
            "sgld",
            "words that change over time, by preconditioned Langevin steps",
            "pysgrld.samplers.walks",
            "LangevinWalks",
            geometry="walk",
            inflates=True,
            learns=_NOTHING,
        ),
        Sampler(
            "mala",
            "words that change over time, by Langevin steps with a Metropolis test, over the whole "
            "corpus",
            "pysgrld.samplers.walks",
            "MetropolisWalks",
            geometry="walk",
            whole_corpus=True,
            learns=_NOTHING,
        ),
    )
}

#: Sampler that updates gamma shapes by preconditioned Langevin steps.
SHAPES = Sampler(
    "shapes",
    "weights r of a top layer, or a learned alpha, by Langevin steps (Cong et al. 2017)",
    "pysgrld.samplers.shapes",
    "Shapes",
    settings="ShapesSettings",
    geometry="positive",
)
#: Sampler that draws gamma shapes from their conditional distribution, given the whole corpus.
CONJUGATE_SHAPES = Sampler(
    "shapes-gibbs",
    "weights r of a top layer, or a learned alpha, drawn given the whole corpus",
    "pysgrld.samplers.shapes",
    "ConjugateShapes",
    settings="ShapesSettings",
    geometry="positive",
    whole_corpus=True,
)
#: Sampler that draws a learned Dirichlet parameter eta, given the topics.
CONCENTRATION = Sampler(
    "concentration",
    "a learned eta, drawn given the topics by slice sampling (Neal 2003)",
    "pysgrld.samplers.concentration",
    "GivenTopics",
    geometry="concentration",
)
#: Sampler that draws a learned Dirichlet parameter eta, given the counts of the whole corpus.
COUNTED_CONCENTRATION = Sampler(
    "concentration-gibbs",
    "a learned eta, drawn given the counts of the whole corpus by slice sampling",
    "pysgrld.samplers.concentration",
    "GivenCounts",
    geometry="concentration",
    whole_corpus=True,
)


def choose_sampler(algo: str, block: Block) -> Sampler:
    """Return the sampler of a parameter block, given the algorithm that samples the topics.

    Parameters
    ----------
    algo : str
        Value of ``--algo``.
    block : Block
        The block to be moved.

    Returns
    -------
    Sampler
        The sampler of its geometry.
    """
    topics = SAMPLERS[algo]
    if block.geometry == topics.geometry:
        return topics
    if block.geometry == "concentration":
        return COUNTED_CONCENTRATION if topics.whole_corpus else CONCENTRATION
    return CONJUGATE_SHAPES if topics.whole_corpus else SHAPES


def choose_exact_sampler(geometry: str) -> Sampler:
    """Return the exact sampler, which uses the whole corpus, for parameters of a given geometry.

    Parameters
    ----------
    geometry : str
        Geometry of the block: "simplex", "sphere" or "walk".

    Returns
    -------
    Sampler
        A row of `SAMPLERS`.
    """
    return next(s for s in SAMPLERS.values() if s.geometry == geometry and s.whole_corpus)


def sampler_options(
    algorithms: Mapping[str, Any] | tuple[str, ...],
    users: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Option]:
    """Return the options that only some samplers have, with the help text of each option.

    The description starts with the names of the samplers that have the option. After the default
    come the samplers with another default.

    Parameters
    ----------
    algorithms : mapping or tuple of str
        Names of the samplers.
    users : mapping of str to sequence of str, optional
        Models or other users of an option, by its name; the description lists them after the samplers.

    Returns
    -------
    dict
        Options by name.
    """
    options: dict[str, Option] = {}
    for name in dict.fromkeys(n for algo in algorithms for n in SAMPLERS[algo].options):
        rows = {a: SAMPLERS[a].options[name] for a in algorithms if name in SAMPLERS[a].options}
        first = next(iter(rows.values()))
        other_defaults = [f"{a}: {o.shown}" for a, o in rows.items() if o.default != first.default]
        options[name] = first._replace(
            shown="; ".join([first.shown, *other_defaults]),
            help=f"{', '.join([*rows, *(users or {}).get(name, ())])}: {first.help}",
            default=None if other_defaults else first.default,
        )
    return options
