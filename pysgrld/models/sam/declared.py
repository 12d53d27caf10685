"""Declaration of the spherical admixture model: options, defaults, and implementing modules."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pysgrld.errors import CorpusError, Message, Severity, UsageError
from pysgrld.models.protocol import CorpusFacts, Extent, Model, Preset, RunOn
from pysgrld.options.common import ALPHA
from pysgrld.options.option import Facts, Option
from pysgrld.options.parse import choice, real
from pysgrld.samplers import SAMPLERS

if TYPE_CHECKING:
    from pysgrld.chain.protocol import Chain
    from pysgrld.corpus.minibatches import Minibatches
    from pysgrld.evaluate.held_out import HeldOut
    from pysgrld.evaluate.score import Scorer
    from pysgrld.models.sam.resolved import SphericalOptions

#: Default number of topics.
TOPICS = 20
#: Default Dirichlet parameter of proportions.
ALPHA_DEFAULT = 1.0
#: Default concentration of documents, divided by the number of words in the vocabulary.
KAPPA = 6.0
#: Default concentration of topics, divided by the number of words in the vocabulary.
SIGMA = 2.0
#: Default concentration of the topics' mean, divided by the number of words in the vocabulary.
KAPPA0 = 2.0
#: Numbers of Hamiltonian trajectories of a document's proportions, by sampler. The first is the
#: number in an iteration, the second is the number of trajectories whose ends are samples. For
#: variational Bayes, the first is the maximum number of steps.
WALKS = {"gmc-bgibbs": (15, 1), "gmc-apprmh": (25, 10), "vi": (100, 1), "svi": (100, 1)}
#: Numbers of Hamiltonian trajectories for all samplers that `WALKS` does not list.
WALK = (60, 20)
#: Step size of topics, by sampler. The unit is sqrt(K / (kappa D)), which is about the scale of the
#: topics' posterior.
STEPS = {"gmc-bgibbs": (0.1, 1.0, 0.0), "gmc-apprmh": (0.3, 1.0, 0.0)}
#: Step size of topics for all samplers that `STEPS` does not list, in the unit sqrt(K / (kappa D)).
STEP = (0.6, 30.0, 0.7)

_GROUP = "Directions (--model sam)"
#: Options for variational Bayes in presets, with enough steps for documents to converge.
_FITTED = {"sweeps": 100, "kept-sweeps": 1}
_WHOLE = "each held-out document is scored whole"
_STORED = "word weights depend on the whole corpus, so the corpus must be stored"


class SphericalModel(Model["SphericalOptions"]):
    """The spherical admixture model."""

    name = "sam"
    summary = "spherical admixture: documents and topics are unit vectors"
    algorithms = tuple(s.name for s in SAMPLERS.values() if s.geometry == "sphere")
    implied_by = frozenset(algorithms) | {"kappa"}
    options: ClassVar[Mapping[str, Option]] = {
        "alpha": ALPHA,
        "kappa": Option(
            real(0.0, 1e8),
            "6 V",
            "concentration of documents around their mixture of topics",
            _GROUP,
            metavar="X",
        ),
        "sigma": Option(
            real(0.0, 1e8),
            "2 V",
            "concentration of topics around their mean",
            _GROUP,
            metavar="X",
            setting=True,
        ),
        "kappa0": Option(
            real(0.0, 1e8),
            "2 V",
            "concentration of the topics' mean around the mean of the documents",
            _GROUP,
            metavar="X",
            setting=True,
        ),
        "weighting": Option(
            choice("tf-idf", "tf"),
            "tf-idf",
            "weights of words: tf-idf (count times ln(D/df)), tf (count)",
            _GROUP,
            metavar="tf-idf|tf",
            default="tf-idf",
            setting=True,
        ),
        "theta-parametrisation": Option(
            choice("root", "flat"),
            "root",
            "space in which proportions move: root (square roots, on a sphere), flat (simplex, "
            "with reflection)",
            _GROUP,
            metavar="root|flat",
            default="root",
            setting=True,
        ),
        "theta-step": Option(
            real(0.0, 10.0),
            "adapted in the burn-in",
            "step of proportions",
            _GROUP,
            metavar="E",
            setting=True,
        ),
    }
    refuses: ClassVar[Mapping[str, str]] = {
        "eta": "the prior of topics is --set sigma=X",
        "warm-up": "this model has no warm-up",
        "top-word-samples": "words may have negative values in the topics of this model",
        "counts": "tokens have no topics in this model",
        "corpus-size": _STORED,
        "shuffle-buffer": _STORED,
        "observed": _WHOLE,
        "observed-corpus": f"{_WHOLE}; give --holdout-corpus",
        "held-out-corpus": f"{_WHOLE}; give --holdout-corpus",
    }
    shows: ClassVar[Mapping[str, str]] = {
        "topics": "20",
        "minibatch": "100",
        "sweeps": "60 trajectories of proportions; vi, svi: 60 steps",
        "kept-sweeps": "20",
    }
    presets: ClassVar[Mapping[str, Preset]] = {
        "sam-2016": {
            "algo": "sggmc",
            "model": "sam",
            "topics": 20,
            "alpha": 10.0,
            "kappa": 3e4,
            "sigma": 1e4,
            "kappa0": 1e4,
            "theta-parametrisation": "flat",
            "theta-step": 1e-6,
            "sweeps": 60,
            "kept-sweeps": 20,
            "algos": {
                name: {
                    "minibatch": 50,
                    "friction": 0.01,
                    "inner-steps": 10,
                    "resample": "off",
                    "noise-estimate": "off",
                    # The step size is sqrt(0.01 / D) for the paper's D = 1,666 documents.
                    "step-size": (2.45e-3, 1.0, 0.0),
                }
                for name in ("sggmc", "gsgnht")
            }
            | {
                "gmc-bgibbs": {
                    "sweeps": 15,
                    "kept-sweeps": 1,
                    "leapfrog-steps": 5,
                    "step-size": (2e-5, 1.0, 0.0),
                },
                "gmc-apprmh": {
                    "sweeps": 25,
                    "kept-sweeps": 10,
                    "leapfrog-steps": 1,
                    "step-size": (1e-4, 1.0, 0.0),
                },
                "vi": _FITTED,
                "svi": _FITTED | {"minibatch": 50},
            },
        }
    }
    resolves_to = "pysgrld.models.sam.resolved.SphericalOptions"
    reads = "pysgrld.models.sam.fitted.SphericalFitted"
    minibatch = 100

    def resolve(
        self, value: dict[str, Any], user_set: frozenset[str], facts: Facts, *, whole_corpus: bool
    ) -> None:
        """Set defaults of topics, priors and step sizes, which depend on the vocabulary's size.

        Options without effect are switched off.
        """
        algo, v = value["algo"], facts.words
        value["topics"] = value["topics"] or max(1, min(TOPICS, v))
        value["alpha"] = value["alpha"] or ALPHA_DEFAULT
        for name, per_word in (("kappa", KAPPA), ("sigma", SIGMA), ("kappa0", KAPPA0)):
            value[name] = value[name] or per_word * v
        sweeps, kept_sweeps = WALKS.get(algo, WALK)
        value["sweeps"] = value["sweeps"] or sweeps
        value["kept-sweeps"] = value["kept-sweeps"] or min(kept_sweeps, value["sweeps"])
        unit = math.sqrt(value["topics"] / (value["kappa"] * facts.documents))
        if SAMPLERS[algo].draws:
            first, scale, power = STEPS.get(algo, STEP)
            value["step-size"] = value["step-size"] or (first * unit, scale, power)
        value |= {"warm-up": 0, "counts": "sampled", "observed": None}

    def remarks(self, options: SphericalOptions, facts: Facts) -> Iterator[Message]:
        """Raise an error if the vocabulary is too small; warn if proportions will mix slowly."""
        check_room(options.topics, facts.words)
        walks = SAMPLERS[options.algo].draws and options.theta_parametrisation == "root"
        if options.alpha < 0.5 and walks:
            yield Message(
                f"--alpha {options.alpha:g} is below 0.5, so topic proportions near 0 mix slowly; "
                "with 0.5 or more they mix faster",
                Severity.WARNING,
            )

    def memory(self, options: SphericalOptions, facts: Facts, extent: Extent) -> dict[str, int]:
        """Return the bytes of memory that a run needs, for topics, for documents and so on."""
        from pysgrld.core import padded_width

        k, held_out = padded_width(options.topics), extent.held_out
        cells, batch = facts.words * k, min(options.minibatch, facts.documents)
        entries = int(24 * facts.tokens * batch / facts.documents)
        return {
            "topics": (8 * 4 + (12 if options.samples else 0)) * cells,
            "partial sums of topics": 8 * (facts.words // 1024 + 1) * (k + 1) * k,
            "a minibatch": entries + batch * k * (4 * options.kept_sweeps + 8 * 4),
            "sums of documents": 8 * 256 * k * k,
            "proportions": 8 * batch * k if SAMPLERS[options.algo].whole_corpus else 0,
            "fits of documents": 0 if SAMPLERS[options.algo].draws else 8 * 6 * 256 * k * k,
            "held-out documents": (16 * len(held_out.held_out.indices) if held_out else 0)
            + (len(held_out.held_out) * k * 4 * 60 + 16 * cells if held_out else 0),
        }

    def chain(
        self, options: SphericalOptions, stream: Minibatches, corpus: CorpusFacts, run_on: RunOn
    ) -> Chain:
        """Start the Markov chain of the topics."""
        from pysgrld.models.sam.chain import chain

        check_room(options.topics, corpus.words)
        return chain(options, stream, corpus, run_on)

    def scorer(
        self, options: SphericalOptions, held_out: HeldOut, words: int, threads: int
    ) -> Scorer:
        """Return a scorer that computes the log-perplexity of whole held-out documents."""
        from pysgrld.models.sam.score import LogPerplexity

        return LogPerplexity(options, held_out, words, threads)


def check_room(topics: int, words: int) -> None:
    """Raise an error if the vocabulary has one word, or has fewer words than there are topics.

    Parameters
    ----------
    topics : int
        Number of topics K.
    words : int
        Vocabulary size V.

    Raises
    ------
    CorpusError
        If there is only one word, so that all directions are equal.
    UsageError
        If there are more topics than words.
    """
    if words < 2:
        raise CorpusError(
            f"--model sam needs at least two words, but the vocabulary has {words}; give other "
            "documents"
        )
    if topics > words:
        raise UsageError(
            f"--topics {topics} is more than the {words} words of the vocabulary; give at most as "
            "many topics as words"
        )


MODEL = SphericalModel()
