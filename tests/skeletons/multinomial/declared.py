"""One multinomial over words as a model: its options, defaults, and modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pysgrld.errors import Message
from pysgrld.models.protocol import CorpusFacts, Extent, Model, RunOn
from pysgrld.options.option import Facts, Option
from pysgrld.options.parse import real
from pysgrld.options.priors import check_one_eta, lowest_eta

if TYPE_CHECKING:
    from skeletons.multinomial.resolved import MultinomialOptions

    from pysgrld.chain.protocol import Chain
    from pysgrld.corpus.minibatches import Minibatches
    from pysgrld.evaluate.held_out import HeldOut
    from pysgrld.evaluate.score import Scorer

#: Dirichlet prior per word: uniform over all multinomials.
ETA = 1.0

_ONE_TOPIC = "all documents have one distribution over words"
_WHOLE = "held-out documents are scored as a whole"


class MultinomialFamily(Model["MultinomialOptions"]):
    """One multinomial over words with a symmetric Dirichlet prior."""

    name = "multinomial"
    summary = "one distribution over words for all documents"
    algorithms = ("scir", "sgrld", "tlasgr", "tlfsgr", "smld", "smld-approx", "gibbs")
    implied_by = frozenset({"power"})
    options: ClassVar[Mapping[str, Option]] = {
        "power": Option(
            real(0.0, 1e6),
            "1",
            "power of the likelihood: below 1 the posterior is wider, with less weight on the data",
            "Multinomial (--model multinomial)",
            metavar="P",
            default=1.0,
        )
    }
    refuses: ClassVar[Mapping[str, str]] = {
        "topics": _ONE_TOPIC,
        "sweeps": _ONE_TOPIC,
        "kept-sweeps": _ONE_TOPIC,
        "counts": _ONE_TOPIC,
        "observed": _WHOLE,
        "observed-corpus": f"{_WHOLE}; give --holdout-corpus",
        "held-out-corpus": f"{_WHOLE}; give --holdout-corpus",
    }
    shows: ClassVar[Mapping[str, str]] = {"eta": "1"}
    resolves_to = "skeletons.multinomial.resolved.MultinomialOptions"
    reads = "skeletons.multinomial.fitted.MultinomialFitted"
    minibatch = 1000
    expected_topics = 1
    adds_up = True

    # ---- options

    def check(self, given: Mapping[str, Any], algo: str) -> None:
        """Refuse several priors of words."""
        check_one_eta(given.get("eta"))

    def resolve(
        self, value: dict[str, Any], said: frozenset[str], facts: Facts, *, whole_corpus: bool
    ) -> None:
        """Resolve the prior, and switch off options that a multinomial does not use."""
        value["eta"] = lowest_eta(value["eta"]) if "eta" in said else ETA
        value |= {
            "topics": None,
            "sweeps": 1,
            "kept-sweeps": 1,
            "counts": "sampled",
            "observed": None,
        }

    def remarks(self, options: MultinomialOptions, facts: Facts) -> Iterator[Message]:
        """Warn if the prior outweighs the data."""
        if options.power * facts.tokens < options.eta * facts.words:
            yield Message("the prior outweighs the data: a smaller --eta or a larger --power")

    def memory(self, options: MultinomialOptions, facts: Facts, extent: Extent) -> dict[str, int]:
        """Count the bytes of the topic, and of a minibatch's counts."""
        from pysgrld.models.memory import topics_memory

        return topics_memory(options, facts, extent, (1,))

    # ---- training

    def chain(
        self, options: MultinomialOptions, stream: Minibatches, corpus: CorpusFacts, run_on: RunOn
    ) -> Chain:
        """Start the chain of the single topic."""
        from skeletons.multinomial.documents import CountedDocuments, blocks

        from pysgrld.chain.blocks import BlockChain

        return BlockChain(
            options,
            blocks(options, corpus.words, corpus.tokens),
            CountedDocuments(options.power),
            stream,
            corpus.tokens,
            run_on.threads,
            run_on.waiting,
        )

    def scorer(
        self, options: MultinomialOptions, held_out: HeldOut, words: int, threads: int
    ) -> Scorer:
        """Return a scorer of whole documents by the perplexity of a token."""
        from skeletons.multinomial.score import TokenPerplexity

        return TokenPerplexity(held_out)


MODEL = MultinomialFamily()
