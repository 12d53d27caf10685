"""Declaration of latent Dirichlet allocation: options, defaults, and modules that implement it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from pysgrld.errors import UsageError
from pysgrld.models.exact_sweeps import EXACT_SWEEPS, default_exact_sweeps, exact_bytes
from pysgrld.models.protocol import CorpusFacts, Extent, Model, Preset, RunOn
from pysgrld.models.short_chain_number import default_max_starts, short_chains_bytes
from pysgrld.options.common import ALPHA, STARTS
from pysgrld.options.option import Facts, Option
from pysgrld.options.parse import choice
from pysgrld.options.priors import (
    ETA_BLOCK,
    LEARN,
    check_one_eta,
    fixed_value,
    lowest_eta,
    usual_alpha,
    usual_eta,
    usual_topics,
)
from pysgrld.options.word_files import SEEDS, WEIGHT
from pysgrld.samplers import SAMPLERS

if TYPE_CHECKING:
    from pysgrld.chain.exact import ExactChain
    from pysgrld.chain.protocol import Chain, DocumentSampler
    from pysgrld.corpus.minibatches import Epochs, Minibatches
    from pysgrld.evaluate.held_out import HeldOut
    from pysgrld.evaluate.score import Scorer
    from pysgrld.models.lda.resolved import LDAOptions

#: Default number of Gibbs sweeps over each document of a minibatch.
SWEEPS = 10
#: Default number of sweeps if alpha is learned. Fewer sweeps would cause bias.
LEARNING_SWEEPS = 30
#: Number of topics above which the default number of sweeps is `MANY_SWEEPS`.
MANY = 128
#: Default number of sweeps with many topics. The work before and after the sweeps then costs as
#: much as ten sweeps, and documents take longer to find their topics.
MANY_SWEEPS = 20
#: Maximum number of passes of variational Bayes over a document. Usually the document converges
#: earlier.
PASSES = 100
#: Minibatch size that includes all documents of any corpus.
_ALL_DOCUMENTS = 2**53


class LDAModel(Model["LDAOptions"]):
    """Latent Dirichlet allocation."""

    name = "lda"
    summary = "latent Dirichlet allocation"
    algorithms = tuple(s.name for s in SAMPLERS.values() if s.geometry == "simplex")
    options: ClassVar[Mapping[str, Option]] = {
        "alpha": ALPHA,
        **SEEDS,
        "keep-documents": Option(
            choice("on", "off"),
            "off; gibbs, cgs: on",
            "on: use the whole corpus in each iteration, and keep the topics of all tokens "
            "(ovb: proportions of all documents) for the next iteration",
            "Sampling",
            metavar="on|off",
            setting=True,
        ),
        "starts": STARTS,
        "exact-sweeps": EXACT_SWEEPS,
    }
    presets: ClassVar[Mapping[str, Preset]] = {
        "sgrld-2013": {
            "algo": "sgrld",
            "topics": 50,
            "alpha": 0.01,
            "eta": 0.0001,
            "minibatch": 50,
            "sweeps": 50,
            "warm-up": 0,
            "counts": "sampled",
            "step-size": (0.01, 1000.0, 0.55),
        },
        "scir-2018": {
            "algo": "scir",
            "topics": 100,
            "alpha": 0.005,
            "eta": 1.0,
            "minibatch": 50,
            "sweeps": 200,
            "warm-up": 0,
            "counts": "sampled",
            "step-size": (0.5, 10.0, 0.33),
            "lazy": "off",
        },
        # The paper has "the same setting" as for SGRLD and gives no step size, so the default of
        # smld is used.
        "smld-2018": {
            "algo": "smld-approx",
            "topics": 50,
            "alpha": 0.01,
            "eta": (0.01,),
            "minibatch": 50,
            "sweeps": 50,
            "warm-up": 0,
            "counts": "sampled",
            "algos": {
                "smld-approx": {"step-size": (0.1, 1000.0, 0.55)},
                "smld": {},
                "sgrld": {"step-size": (0.01, 1000.0, 0.55)},
                "sgrhmc": {"step-size": (0.1, 1000.0, 0.55)},
            },
        },
    }
    resolves_to = "pysgrld.models.lda.resolved.LDAOptions"
    reads = "pysgrld.models.lda.reader.LDAFitted"
    minibatch = 400
    minibatch_tokens = 20_000
    short_sweeps = 4
    steps_all = True
    adds_up = True
    learns = frozenset({"alpha", "eta"})

    def check(self, settings: Mapping[str, Any], algo: str) -> None:
        """Raise an error for contradictory options of priors, or of --set keep-documents=on."""
        check_one_eta(settings.get("eta"))
        if settings.get("eta") == LEARN and "seed-words" in settings:
            raise UsageError(
                "--eta learn sets one prior for all words, but --seed-words needs different "
                "priors; leave out one of these options"
            )
        if settings.get("keep-documents") == "on":
            for name in sorted({"minibatch", "corpus-size"} & set(settings)):
                raise UsageError(
                    "--set keep-documents=on uses the whole corpus in each iteration; leave out "
                    f"--{name}"
                )
            exact = {"counts": "sampled", "kept-sweeps": 1}
            for name in sorted(n for n in exact if SAMPLERS[algo].draws and n in settings):
                if settings[name] != exact[name]:
                    raise UsageError(
                        "with --set keep-documents=on, draws are from the posterior only if they "
                        f"use the counts of a single sweep; leave out --set {name}"
                    )
        elif "keep-documents" in settings and SAMPLERS[algo].whole_corpus:
            raise UsageError(
                f"--set keep-documents=off does not apply to --algo {algo}; leave it out"
            )

    def resolve(
        self, value: dict[str, Any], user_set: frozenset[str], facts: Facts, *, whole_corpus: bool
    ) -> None:
        """Set defaults of topics, priors, and sweeps over a document (for ``ovb``, passes)."""
        from pysgrld.models.seeds import resolve_seeds

        value["topics"] = value["topics"] or usual_topics(facts.tokens)
        if value["seed-words"] is not None:
            value["seed-words"] = resolve_seeds(
                value["seed-words"], value["topics"], facts.vocabulary
            )
            value["seed-weight"] = WEIGHT if value["seed-weight"] is None else value["seed-weight"]
        if "eta" not in user_set:
            value["eta"] = usual_eta(value["topics"])
        if value["eta"] != LEARN:
            value["eta"] = lowest_eta(value["eta"])
        if value["alpha"] is None:
            value["alpha"] = usual_alpha(value["topics"], facts.length)
        if value["sweeps"] is None:
            visited = SWEEPS if value["topics"] <= MANY else MANY_SWEEPS
            visited = LEARNING_SWEEPS if value["alpha"] == LEARN else visited
            visited = PASSES if value["algo"] == "ovb" else visited
            value["sweeps"] = 1 if whole_corpus else visited
        # By default, short chains and Gibbs refinement are only for samplers of the posterior, with
        # minibatches of a stored corpus and without a preset.
        usual = SAMPLERS[value["algo"]].draws and not (
            whole_corpus or value["preset"] or value["corpus-size"]
        )
        if value["exact-sweeps"] is None:
            need = exact_bytes(facts, _topics_bytes(value["topics"], facts))
            value["exact-sweeps"] = default_exact_sweeps(need, possible=usual)
        if value["starts"] is None:
            usual = usual and not (value["seed-words"] or value["keep-documents"])
            most = default_max_starts(value["topics"], facts.words, facts.tokens)
            value["starts"] = most if usual else 1
        # The value "off" becomes None, because the identity of a run omits options that are None.
        value["keep-documents"] = "on" if value["keep-documents"] == "on" else None
        if value["keep-documents"]:
            value["minibatch"] = _ALL_DOCUMENTS
            # Use the sampled counts of a single sweep. Expected counts, and means over several
            # sweeps, vary less than draws from the posterior.
            if SAMPLERS[value["algo"]].draws:
                value["counts"], value["kept-sweeps"] = "sampled", 1

    def memory(self, options: LDAOptions, facts: Facts, extent: Extent) -> dict[str, int]:
        """Return the bytes of memory that a run needs, for topics, for minibatches and so on."""
        from pysgrld.core import padded_width
        from pysgrld.models.memory import topics_memory

        need = topics_memory(options, facts, extent, (options.topics,))
        if options.algo == "cgs":
            need["counts of all words"] = (4 + 8) * facts.words * padded_width(options.topics)
        if SAMPLERS[options.algo].whole_corpus or (
            options.keep_documents and options.algo != "ovb"
        ):
            need["topics of tokens"] = 8 * facts.tokens
        elif options.keep_documents:
            need["proportions of documents"] = 4 * facts.documents * padded_width(options.topics)
        need["short chains"] = short_chains_bytes(
            options.starts, options.topics, facts.words, options.eta
        )
        if options.exact_sweeps:
            need["exact chains"] = exact_bytes(facts, _topics_bytes(options.topics, facts))
        return need

    def chain(
        self, options: LDAOptions, stream: Minibatches, corpus: CorpusFacts, run_on: RunOn
    ) -> Chain:
        """Start the Markov chain of the topics over words."""
        from pysgrld.chain.blocks import BlockChain
        from pysgrld.models.lda.blocks import blocks
        from pysgrld.models.lda.collapsed import CollapsedDocuments
        from pysgrld.models.lda.mean_field import MeanFieldDocuments
        from pysgrld.models.token_topics import GibbsDocuments

        parts = blocks(options, corpus.words, corpus.tokens)
        k, alpha, sweeps = options.topics, fixed_value(options.alpha), options.sweeps
        threads = run_on.threads
        documents: DocumentSampler
        if options.algo == "cgs":
            documents = CollapsedDocuments(
                block=parts[0], alpha=alpha, sweeps=sweeps, threads=threads
            )
        elif options.algo == "ovb":
            # Approximations do not draw samples, so they cannot learn alpha.
            assert alpha is not None
            documents = MeanFieldDocuments(topics=k, alpha=alpha, sweeps=sweeps, threads=threads)
        else:
            documents = GibbsDocuments(
                topics=k,
                alpha=alpha,
                sweeps=sweeps,
                kept=options.kept_sweeps,
                rao_blackwell=options.counts == "rao-blackwell",
                threads=threads,
            )
        return BlockChain(
            options,
            parts,
            documents,
            stream,
            corpus.tokens,
            threads,
            run_on.waiting,
            run_on.comm,
            keep=options.keep_documents == "on",
            priors={ETA_BLOCK: "phi"} if options.eta == LEARN else {},
        )

    def short_chain(
        self, options: LDAOptions, stream: Epochs, corpus: CorpusFacts, run_on: RunOn
    ) -> Chain:
        """Start a short chain with few sweeps and a fixed alpha.

        With so few sweeps, a learned alpha would be biased.
        """
        if SAMPLERS[options.algo].draws and options.sweeps > self.short_sweeps:
            few = self.short_sweeps
            options = replace(options, sweeps=few, kept_sweeps=few - few // 2)
        if options.alpha == LEARN:
            options = replace(options, alpha=usual_alpha(options.topics))
        return super().short_chain(options, stream, corpus, run_on)

    def exact_chains(
        self, options: LDAOptions, chain: Chain, run_on: RunOn, *, start: bool
    ) -> tuple[ExactChain, ...]:
        """Return collapsed-Gibbs chains that start from a minibatch chain's topics."""
        from pysgrld.chain.blocks import BlockChain
        from pysgrld.models.exact_tokens import start_refinement_chains
        from pysgrld.models.lda.exact import ExactLDA

        assert isinstance(chain, BlockChain)
        return start_refinement_chains(ExactLDA, chain, options, run_on, start=start)

    def scorer(self, options: LDAOptions, held_out: HeldOut, words: int, threads: int) -> Scorer:
        """Return a scorer that predicts a part of each held-out document from the other part."""
        from pysgrld.evaluate import Completion
        from pysgrld.models.lda.reader import lda_readers

        k, fitted = options.topics, options.algo == "ovb"
        readers = lda_readers(k, fixed_value(options.alpha), mean_field=fitted)
        return Completion(held_out, readers, threads)


def _topics_bytes(topics: int, facts: Facts) -> int:
    """Return the bytes of the topics and word counts of one chain of a Gibbs refinement."""
    from pysgrld.core import padded_width

    return 20 * facts.words * padded_width(topics)


MODEL = LDAModel()
