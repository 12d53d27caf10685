"""Declaration of deep LDA: its options, its defaults, and the modules that implement it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pysgrld.errors import Message, Severity, UsageError
from pysgrld.models.protocol import CorpusFacts, Extent, Model, Preset, RunOn
from pysgrld.options.option import Facts, Option
from pysgrld.options.parse import choice, reals, widths
from pysgrld.options.word_files import SEEDS, WEIGHT
from pysgrld.samplers import SAMPLERS
from pysgrld.samplers.table import SCALE_WEIGHT

if TYPE_CHECKING:
    from pysgrld.chain.protocol import Chain
    from pysgrld.corpus.minibatches import Minibatches
    from pysgrld.evaluate.held_out import HeldOut
    from pysgrld.evaluate.score import Scorer
    from pysgrld.models.dlda.resolved import DeepLDAOptions

#: Default number of topics of a single layer.
TOPICS = 100
#: Default number of Gibbs sweeps over each document of a minibatch.
SWEEPS = 30
#: Number of Gibbs sweeps per layer in the settings of the authors.
PUBLISHED_SWEEPS = 30
#: In the settings of the authors, the topics of tokens are counted over this number of last sweeps
#: per layer.
PUBLISHED_KEPT = 10
LINKS = ("counts", "binary", "real")

_GROUP = "Deep LDA (--model dlda)"


def _pair(names: str, shown: str, meaning: str, default: tuple[float, float]) -> Option:
    """Return an option that sets the two parameters of a prior."""
    return Option(
        reals(0.0, 2, f"{names}, two numbers"),
        shown,
        meaning,
        _GROUP,
        metavar=names,
        default=default,
        setting=True,
    )


class DeepLDAModel(Model["DeepLDAOptions"]):
    """Deep LDA, the Poisson gamma belief network."""

    name = "dlda"
    summary = "deep LDA: several layers, each combining topics of the layer below"
    # Collapsed Gibbs sampling, and approximations that do not draw from the posterior, are only
    # available for a single layer.
    algorithms = tuple(
        s.name for s in SAMPLERS.values() if s.geometry == "simplex" and s.draws and s.name != "cgs"
    )
    implied_by = frozenset({"layers", "tlasgr", "tlfsgr"})
    options: ClassVar[Mapping[str, Option]] = {
        **SEEDS,
        "layers": Option(
            widths,
            "none",
            "numbers of topics of the layers, from the bottom",
            _GROUP,
            metavar="K1,K2,...",
        ),
        "link": Option(
            choice(*LINKS),
            "counts",
            "kind of data: counts, binary (present or absent), real (non-negative)",
            _GROUP,
            metavar="KIND",
            default="counts",
        ),
        "p-prior": _pair(
            "A0,B0", "0.01,0.01", "Beta prior of a document's probability parameter p", (0.01, 0.01)
        ),
        "c-prior": _pair(
            "E0,F0",
            "1,1",
            "Gamma prior (shape, rate) of a document's rate parameters c",
            (1.0, 1.0),
        ),
        "r-prior": _pair(
            "GAMMA0,C0",
            "1,1",
            "Gamma(GAMMA0/K, rate C0) prior of the weights r of the top layer; gibbs: starting "
            "values",
            (1.0, 1.0),
        ),
        "r-shape-prior": _pair(
            "E1,F1", "1,1", "gibbs: Gamma prior (shape, rate) of GAMMA0", (1.0, 1.0)
        ),
        "r-rate-prior": _pair("E2,F2", "1,1", "gibbs: Gamma prior (shape, rate) of C0", (1.0, 1.0)),
        "scale-weight": SCALE_WEIGHT,  # This sets step sizes of the gamma shapes r.
    }
    shows: ClassVar[Mapping[str, str]] = {
        "topics": "100",
        "minibatch": "200",
        "sweeps": "30",
        "sample-every": "2",
    }
    presets: ClassVar[Mapping[str, Preset]] = {
        "dlda-2017": {
            "algo": "tlasgr",
            "model": "dlda",
            "layers": (128, 64, 32),
            "eta": (0.05,),
            "minibatch": 200,
            "warm-up": 0,
            "burn-in": 2000,
            "sample-every": 1,
            "counts": "sampled",
            "step-size": (1.0, 21.0, 0.7),
            "algos": {
                "tlasgr": {"boundary": "clip"},
                "tlfsgr": {"boundary": "clip"},
                "sgrld": {"step-size": (0.1, 21.0, 0.9)},
                "gibbs": {"minibatch": None, "burn-in": 1000, "step-size": None},
            },
        }
    }
    resolves_to = "pysgrld.models.dlda.resolved.DeepLDAOptions"
    reads = "pysgrld.models.dlda.reader.DeepFitted"
    minibatch = 200
    minibatch_tokens = 20_000
    adds_up = True
    spacing = 2

    def check(self, settings: Mapping[str, Any], algo: str) -> None:
        """Raise an error for options of layers or priors that contradict each other."""
        for name in ("r-shape-prior", "r-rate-prior"):
            if name in settings and not SAMPLERS[algo].whole_corpus:
                raise UsageError(f"--set {name} does not apply to --algo {algo}; leave it out")
        if "layers" in settings and "topics" in settings:
            raise UsageError(
                "--layers and --topics both set the topics of layer 1; give one of them"
            )
        preset = self.presets.get(settings.get("preset", ""), {})
        one = (1,) if "topics" in settings else preset.get("layers", (1,))
        eta = settings.get("eta", ())
        if isinstance(eta, Sequence) and len(eta) not in (0, 1, len(settings.get("layers", one))):
            raise UsageError(
                f"--eta has {len(eta)} numbers; give one number, or one for each layer"
            )

    def resolve(
        self, value: dict[str, Any], user_set: frozenset[str], facts: Facts, *, whole_corpus: bool
    ) -> None:
        """Set defaults of the layers, of each layer's prior, and of the number of sweeps."""
        from pysgrld.models.seeds import resolve_seeds

        if "topics" in user_set and value["topics"]:
            value["layers"] = (value["topics"],)
        value["layers"] = tuple(value["layers"] or (TOPICS,))
        value["topics"], depth = value["layers"][0], len(value["layers"])
        if value["seed-words"] is not None:
            value["seed-words"] = resolve_seeds(
                value["seed-words"], value["topics"], facts.vocabulary
            )
            value["seed-weight"] = WEIGHT if value["seed-weight"] is None else value["seed-weight"]
        eta = value["eta"] if isinstance(value["eta"], tuple | list) else (value["eta"],)
        value["eta"] = tuple(eta) if len(eta) == depth else tuple(eta[:1]) * depth
        if value["preset"] and not whole_corpus and value["sweeps"] is None:
            value["sweeps"] = PUBLISHED_SWEEPS * depth
            if value["kept-sweeps"] is None:
                value["kept-sweeps"] = PUBLISHED_KEPT * depth
        if value["sweeps"] is None:
            value["sweeps"] = 1 if whole_corpus else SWEEPS

    def remarks(self, options: DeepLDAOptions, facts: Facts) -> Iterator[Message]:
        """Warn if the corpus has too few tokens for the topics of the first layer."""
        if options.topics > facts.words:
            yield Message(
                f"layer 1 has {options.topics} topics for {facts.words:,} words, so most topics "
                "will stay empty; give fewer topics",
                Severity.WARNING,
            )

    def memory(self, options: DeepLDAOptions, facts: Facts, extent: Extent) -> dict[str, int]:
        """Return the bytes of memory that a run needs, for topics, for minibatches and so on."""
        from pysgrld.core import padded_width
        from pysgrld.models.memory import topics_memory

        need = topics_memory(options, facts, extent, (options.topics, *options.layers))
        if SAMPLERS[options.algo].whole_corpus:
            across = sum(padded_width(width) for width in options.layers)
            need["documents between visits"] = 8 * facts.documents * across
        return need

    def chain(
        self, options: DeepLDAOptions, stream: Minibatches, corpus: CorpusFacts, run_on: RunOn
    ) -> Chain:
        """Start a Markov chain over all layers' topics and the top layer's shape parameters."""
        from pysgrld.chain.blocks import BlockChain
        from pysgrld.models.dlda.documents import blocks, documents

        return BlockChain(
            options,
            blocks(options, corpus.words, corpus.tokens),
            documents(options, corpus.words, run_on.threads),
            stream,
            corpus.tokens,
            run_on.threads,
            run_on.waiting,
            run_on.comm,
        )

    def scorer(
        self, options: DeepLDAOptions, held_out: HeldOut, words: int, threads: int
    ) -> Scorer:
        """Return a scorer that predicts a part of each held-out document from the other part."""
        from pysgrld.evaluate import Completion
        from pysgrld.models.dlda.reader import deep_readers

        return Completion(held_out, deep_readers(options), threads)


MODEL = DeepLDAModel()
