"""Declaration of dynamic topics: options, defaults, and the modules that implement the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pysgrld.errors import Message, UsageError
from pysgrld.models.exact_sweeps import EXACT_SWEEPS, default_exact_sweeps, exact_bytes
from pysgrld.models.protocol import CorpusFacts, Extent, Model, RunOn
from pysgrld.models.short_chain_number import default_max_starts, short_chains_bytes
from pysgrld.options.common import ALPHA, STARTS
from pysgrld.options.option import Facts, Option
from pysgrld.options.parse import real
from pysgrld.options.priors import usual_alpha, usual_topics
from pysgrld.options.time import TIME, SlicesWithTokens, requested_slices
from pysgrld.samplers import SAMPLERS

if TYPE_CHECKING:
    from pysgrld.chain.exact import ExactChain
    from pysgrld.chain.protocol import Chain
    from pysgrld.corpus.minibatches import Epochs, Minibatches
    from pysgrld.evaluate.held_out import HeldOut
    from pysgrld.evaluate.score import Scorer
    from pysgrld.models.dtm.resolved import DynamicOptions

#: Standard deviation of the change of a word's log weight from one slice to the next.
DRIFT = 0.1
#: Standard deviation of a word's log weight in the first slice.
SPREAD = 3.0
#: Minimum of the options for standard deviations of log weights. A smaller value could cause
#: overflow in single precision.
_LEAST = 1e-6
#: Default number of Gibbs sweeps over each document of a minibatch.
SWEEPS = 10
#: Minimum number of token updates in a minibatch (tokens times sweeps) for each element of the
#: topic matrix. A step updates all elements, which takes time.
VISITS_PER_CELL = 0.5
#: Maximum number of rows of the topic matrix. It has a row for each word in each time slice.
MOST_ROWS = 2**31 - 1

_GROUP = "Time (--model dtm)"
_WALK = (
    "word probabilities change from slice to slice; their prior is set by --set spread=S and --set "
    "drift=S"
)
_STORED = "time slices are formed from all documents before training starts"


class DynamicModel(Model["DynamicOptions"]):
    """Dynamic topics: word probabilities change from one time slice to the next."""

    name = "dtm"
    summary = "dynamic topics, whose words change from time slice to time slice"
    algorithms = tuple(s.name for s in SAMPLERS.values() if s.geometry == "walk")
    implied_by = frozenset({*algorithms, "time"})
    options: ClassVar[Mapping[str, Option]] = {
        "alpha": ALPHA,
        **TIME,
        "starts": STARTS,
        "exact-sweeps": EXACT_SWEEPS,
        "drift": Option(
            real(_LEAST, 100.0),
            "0.1",
            "standard deviation of the change of a word's log weight from slice to slice",
            _GROUP,
            metavar="S",
            default=DRIFT,
            setting=True,
        ),
        "spread": Option(
            real(_LEAST, 1000.0),
            "3",
            "standard deviation of a word's log weight in the first slice",
            _GROUP,
            metavar="S",
            default=SPREAD,
            setting=True,
        ),
    }
    needs: ClassVar[Mapping[str, str]] = {"time": "the column with the date of each document"}
    refuses: ClassVar[Mapping[str, str]] = {
        "eta": _WALK,
        "corpus-size": _STORED,
        "shuffle-buffer": _STORED,
        "top-word-samples": "the words of a topic differ between slices",
        "observed-corpus": "give --holdout-corpus",
        "held-out-corpus": "give --holdout-corpus",
    }
    resolves_to = "pysgrld.models.dtm.resolved.DynamicOptions"
    reads = "pysgrld.models.dtm.fitted.DynamicFitted"
    minibatch = 400
    adds_up = True

    def time(self, column: str | None, slices: Any) -> tuple[str, str | int] | None:
        """Return the column of document times, and the requested period or number of slices."""
        assert column is not None  # The option --time is required for this model.
        return column, requested_slices(slices)

    def resolve(
        self, value: dict[str, Any], user_set: frozenset[str], facts: Facts, *, whole_corpus: bool
    ) -> None:
        """Set defaults: numbers of topics and slices, the documents' prior, and minibatch size."""
        value["topics"] = value["topics"] or usual_topics(facts.tokens)
        if value["alpha"] is None:
            value["alpha"] = usual_alpha(value["topics"], facts.length)
        value["sweeps"] = value["sweeps"] or (1 if whole_corpus else SWEEPS)
        slices = SlicesWithTokens(requested_slices(value["slices"]))
        if facts.slicing is not None:
            _, names, begins = facts.slicing
            slices = SlicesWithTokens(slices.by, names, begins, facts.slice_tokens)
            if facts.rows > MOST_ROWS:
                raise UsageError(
                    f"{facts.words:,} words times {len(names):,} slices exceed the maximum of "
                    f"{MOST_ROWS:,}; use a smaller --max-vocab, or fewer --slices"
                )
        value["slices"] = tuple(slices)
        if value["starts"] is None:
            value["starts"] = default_max_starts(value["topics"], facts.words, facts.tokens)
        if value["exact-sweeps"] is None:
            need = exact_bytes(facts, _topics_bytes(value["topics"], facts))
            draws = SAMPLERS[value["algo"]].draws and not whole_corpus
            possible = draws and not (value["preset"] or value["corpus-size"])
            value["exact-sweeps"] = default_exact_sweeps(need, possible=possible)
        if not whole_corpus and value["minibatch"] is None:
            cells = facts.rows * value["topics"]
            document_visits = max(1.0, facts.tokens / facts.documents) * value["sweeps"]
            enough_documents = round(VISITS_PER_CELL * cells / document_visits)
            value["minibatch"] = max(
                1, min(max(self.minibatch, enough_documents), -(-facts.documents // 4))
            )

    def remarks(self, options: DynamicOptions, facts: Facts) -> Iterator[Message]:
        """Yield a message about the time slices; it names the slices without documents."""
        _, names, _, tokens = options.found_slices
        few = [name for name, n in zip(names, tokens, strict=True) if n == 0]
        line = (
            f"{len(names)} time slices, {names[0]} to {names[-1]}"
            if len(names) > 1
            else f"all documents are in one time slice, {names[0]}, so no topic can change (try "
            "another --time or --slices)"
        )
        if few:
            line += f"; no document is from {', '.join(few[:5])}" + (
                f" and {len(few) - 5} more" if len(few) > 5 else ""
            )
        yield Message(line)

    def memory(self, options: DynamicOptions, facts: Facts, extent: Extent) -> dict[str, int]:
        """Return the bytes of memory that a run needs, for topics, for minibatches and so on."""
        from pysgrld.core import padded_width

        k, held_out = padded_width(options.topics), extent.held_out
        cells = facts.rows * k
        seen = facts.minibatch_words(options.minibatch, options.seed)
        whole = SAMPLERS[options.algo].whole_corpus
        blocks = -(-facts.words // 64) * facts.rows // facts.words
        scored = 0
        if held_out is not None:
            scored = 24 * held_out.observed.tokens + 8 * len(held_out.observed) * k
        chain_bytes = _topics_bytes(options.topics, facts)
        return {
            "topics": (4 if whole else 8) * cells,
            "sums of topics": 0 if whole else 8 * blocks * k,
            "a minibatch's topics and counts": (4 + 8) * seen * k,
            "counts of other ranks": 8 * seen * k if extent.shared else 0,
            "topics of tokens": 8 * facts.tokens if whole else 0,
            "short chains": short_chains_bytes(options.starts, options.topics, facts.words),
            "documents in hand": 4 * extent.threads * (4 * extent.distinct * k + 8 * extent.tokens),
            "exact chains": exact_bytes(facts, chain_bytes) if options.exact_sweeps else 0,
            "posterior mean and a sample": (8 + 8) * cells if options.samples else 0,
            "held-out documents": scored,
        }

    def chain(
        self, options: DynamicOptions, stream: Minibatches, corpus: CorpusFacts, run_on: RunOn
    ) -> Chain:
        """Start the Markov chain of the topics in all time slices."""
        from pysgrld.chain.blocks import BlockChain
        from pysgrld.models.dtm.blocks import blocks
        from pysgrld.models.token_topics import GibbsDocuments

        documents = GibbsDocuments(
            topics=options.topics,
            alpha=options.alpha,
            sweeps=options.sweeps,
            kept=options.kept_sweeps,
            rao_blackwell=options.counts == "rao-blackwell",
            threads=run_on.threads,
        )
        return BlockChain(
            options,
            blocks(options, corpus.words, corpus.tokens),
            documents,
            stream,
            corpus.tokens,
            run_on.threads,
            run_on.waiting,
            run_on.comm,
        )

    def short_chain(
        self, options: DynamicOptions, stream: Epochs, corpus: CorpusFacts, run_on: RunOn
    ) -> Chain:
        """Start a short chain with topics that are constant over time, to initialise all slices."""
        from pysgrld.models.dtm.blocks import steady_chain

        return steady_chain(options, stream, corpus, run_on)

    def exact_chains(
        self, options: DynamicOptions, chain: Chain, run_on: RunOn, *, start: bool
    ) -> tuple[ExactChain, ...]:
        """Return the chains of the Gibbs refinement; they continue the trained chain."""
        from pysgrld.chain.blocks import BlockChain
        from pysgrld.models.dtm.exact import ExactDynamic
        from pysgrld.models.exact_tokens import start_refinement_chains

        assert isinstance(chain, BlockChain)
        return start_refinement_chains(ExactDynamic, chain, options, run_on, start=start)

    def scorer(
        self, options: DynamicOptions, held_out: HeldOut, words: int, threads: int
    ) -> Scorer:
        """Return a scorer of held-out documents, which uses the topics of each document's slice.

        It predicts a part of each document from the other part.
        """
        from pysgrld.evaluate import Completion
        from pysgrld.models.token_reader import gibbs_readers

        return Completion(held_out, gibbs_readers(options.topics, options.alpha), threads)


def _topics_bytes(topics: int, facts: Facts) -> int:
    """Return the memory in bytes that one Gibbs chain needs for the topics of all time slices."""
    from pysgrld.core import padded_width

    return 16 * facts.rows * padded_width(topics)


MODEL = DynamicModel()
