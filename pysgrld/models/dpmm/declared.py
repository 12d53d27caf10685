"""Declaration of the Dirichlet-process mixture: options, defaults, and implementing modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pysgrld.errors import UsageError
from pysgrld.models.protocol import CorpusFacts, Extent, Model, Preset, RunOn
from pysgrld.options.option import Facts, Option
from pysgrld.options.parse import choice, integer, real, reals
from pysgrld.options.priors import check_one_eta, lowest_eta

if TYPE_CHECKING:
    from pysgrld.chain.protocol import Chain
    from pysgrld.corpus.minibatches import Minibatches
    from pysgrld.evaluate.held_out import HeldOut
    from pysgrld.evaluate.score import Scorer
    from pysgrld.models.dpmm.resolved import MixtureOptions

#: Dirichlet parameter of a component, per word.
ETA = 0.5
#: Estimates of memory assume this number of components. They are the initial components, and some
#: that are drawn in advance.
EXPECTED = 96
#: Initial step size of components and initial step size of sticks, for each sampler that uses step
#: sizes.
STEPS = {"scir": (0.1, 0.1), "sgrld": (0.001, 0.005)}
#: Values of the setting ``dp-conc``. With "sticks", the concentration is drawn given the sticks.
#: With "ew", it is drawn given the number of components with documents (Escobar and West 1995).
CONCENTRATIONS = ("sticks", "ew")

_GROUP = "Mixtures (--model dpmm)"
_ONE_COMPONENT = "each document is assigned to one component in an iteration"
_STORED = "the component of every document is stored, so the corpus must be stored, too"
_WHOLE = "held-out documents are scored as a whole"


class MixtureModel(Model["MixtureOptions"]):
    """The Dirichlet-process mixture of multinomials."""

    name = "dpmm"
    summary = (
        "Dirichlet-process mixture: one component per document; the number of components is learned"
    )
    algorithms = ("scir", "sgrld", "gibbs")
    options: ClassVar[Mapping[str, Option]] = {
        "dp-prior": Option(
            reals(0.0, 2, "SHAPE,RATE, two numbers"),
            "1,1",
            "Gamma prior of the concentration",
            _GROUP,
            metavar="A,B",
            default=(1.0, 1.0),
            setting=True,
        ),
        "dp-conc": Option(
            choice(*CONCENTRATIONS),
            "sticks; gibbs: ew",
            "draw the concentration given the component weights (sticks) or the number of "
            "occupied components (ew; approximate with minibatches)",
            _GROUP,
            metavar="sticks|ew",
            setting=True,
        ),
        "dp-stick-step": Option(
            real(0.0, 1e6),
            "0.1; sgrld: 0.005",
            "scir, sgrld: first step size of the component weights; decays like --step-size",
            _GROUP,
            metavar="A",
            setting=True,
        ),
        "dp-start": Option(
            integer(1, 1 << 18),
            "60",
            "number of components to which documents are assigned at the start",
            _GROUP,
            metavar="J",
            default=60,
            setting=True,
        ),
        "dp-swaps": Option(
            choice("on", "off"),
            "on",
            "let components exchange their places in the order: on, off",
            _GROUP,
            metavar="on|off",
            setting=True,
        ),
        "dp-reuse": Option(
            choice("on", "off"),
            "off",
            "keep empty components after the last occupied component for later use: on, off",
            _GROUP,
            metavar="on|off",
            default="off",
            setting=True,
        ),
    }
    refuses: ClassVar[Mapping[str, str]] = {
        "topics": "the number of components is learned; --set dp-start=J sets the number at the start",
        "sweeps": _ONE_COMPONENT,
        "kept-sweeps": _ONE_COMPONENT,
        "counts": _ONE_COMPONENT,
        "warm-up": "training starts with documents assigned to the components of --set dp-start",
        "lazy": "every step of this model updates the probabilities of all words",
        "top-word-samples": "component numbers have different meanings in different samples",
        "cir-rate": "this model always uses the rate 'paper'",
        "corpus-size": _STORED,
        "shuffle-buffer": _STORED,
        "observed": _WHOLE,
        "observed-corpus": f"{_WHOLE}; give --holdout-corpus",
        "held-out-corpus": f"{_WHOLE}; give --holdout-corpus",
    }
    shows: ClassVar[Mapping[str, str]] = {"minibatch": "1000", "eta": "0.5"}
    presets: ClassVar[Mapping[str, Preset]] = {
        "dpmm-2018": {
            "algo": "scir",
            "model": "dpmm",
            "eta": (0.5,),
            "minibatch": 1000,
            "dp-start": 20,
            "step-size": (0.1, 1.0, 0.0),
            "dp-stick-step": 0.1,
            "dp-swaps": "off",
            "dp-reuse": "on",
            "algos": {
                "scir": {},
                "sgrld": {
                    "eta": (0.001,),
                    "dp-start": 30,
                    "step-size": (0.001, 1.0, 0.0),
                    "dp-stick-step": 0.005,
                },
            },
        }
    }
    resolves_to = "pysgrld.models.dpmm.resolved.MixtureOptions"
    reads = "pysgrld.models.dpmm.fitted.MixtureFitted"
    minibatch = 1000
    expected_topics = EXPECTED

    def check(self, settings: Mapping[str, Any], algo: str) -> None:
        """Raise an error for options of word priors or sticks that contradict each other."""
        if "dp-stick-step" in settings and algo not in STEPS:
            raise UsageError(f"--set dp-stick-step does not apply to --algo {algo}; leave it out")
        if "dp-swaps" in settings and has_unordered_components(algo, settings.get("dp-conc")):
            raise UsageError(
                f"--set dp-swaps does not apply to --algo {algo}, because its components have "
                "no order; leave out --set dp-swaps, or give --set dp-conc=sticks"
            )
        check_one_eta(settings.get("eta"))

    def resolve(
        self, value: dict[str, Any], user_set: frozenset[str], facts: Facts, *, whole_corpus: bool
    ) -> None:
        """Set defaults of the prior and the step sizes; reset options that mixtures do not use."""
        eta = value["eta"] if "eta" in user_set else ETA
        value["eta"] = lowest_eta(eta)
        value |= {
            "topics": None,
            "sweeps": 1,
            "kept-sweeps": 1,
            "counts": "sampled",
            "warm-up": 0,
            "lazy": "off",
            "observed": None,
        }
        algo, conc = value["algo"], value["dp-conc"]
        swaps = value["dp-swaps"] != "off" and not has_unordered_components(algo, conc)
        value["dp-swaps"] = "on" if swaps else None
        value["dp-conc"] = conc or ("ew" if has_unordered_components(algo, conc) else "sticks")
        if steps := STEPS.get(algo):
            value["step-size"] = value["step-size"] or (steps[0], 1.0, 0.0)
            value["dp-stick-step"] = value["dp-stick-step"] or steps[1]

    def memory(self, options: MixtureOptions, facts: Facts, extent: Extent) -> dict[str, int]:
        """Return the bytes of memory that a run needs, for components, for documents and so on."""
        from pysgrld.core import padded_width
        from pysgrld.models.dpmm.likelihood import CELLS

        held_out = extent.held_out
        k = padded_width(max(EXPECTED, options.dp_start))
        share = options.minibatch / facts.documents
        return {
            # Assume eight arrays (components x words) in double precision.
            f"{k} components": 8 * 8 * facts.words * k,
            "a minibatch": int(8 * share * (4 * facts.tokens + 10 * facts.documents)),
            "components of documents": 4 * facts.documents,
            "held-out documents": 8 * (CELLS + k * len(held_out.held_out)) if held_out else 0,
        }

    def chain(
        self, options: MixtureOptions, stream: Minibatches, corpus: CorpusFacts, run_on: RunOn
    ) -> Chain:
        """Start the Markov chain of components, which also allocates documents to components."""
        from pysgrld.models.dpmm.chain import MixtureChain

        return MixtureChain(
            options, stream, corpus.words, corpus.tokens, run_on.threads, run_on.waiting
        )

    def scorer(
        self, options: MixtureOptions, held_out: HeldOut, words: int, threads: int
    ) -> Scorer:
        """Return a scorer that computes the log predictive density of whole held-out documents."""
        from pysgrld.models.dpmm.score import MixtureScorer

        return MixtureScorer(held_out, options, words)


def has_unordered_components(algo: str, concentration: str | None) -> bool:
    """Return True if component weights are Dirichlet, not stick-breaking, and so unordered.

    Parameters
    ----------
    algo : str
        Sampler.
    concentration : str or None
        Value of the setting ``dp-conc``, None for the default.

    Returns
    -------
    bool
        True for weights Dirichlet(m_1, ..., m_k, c).
    """
    return algo not in STEPS and concentration != "sticks"


MODEL = MixtureModel()
