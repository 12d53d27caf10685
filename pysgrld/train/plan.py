"""Plan of a training before its run exists: corpus, held-out documents, and resolved options."""

from __future__ import annotations

import contextlib
import logging
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.core import check_lengths, core
from pysgrld.corpus import Corpus, open_corpus
from pysgrld.corpus.inputs import corpus_name
from pysgrld.corpus.join import grown
from pysgrld.corpus.minibatches import minibatch_words
from pysgrld.corpus.reading import Listener
from pysgrld.corpus.slices import slicing_of
from pysgrld.corpus.sources import stands_for
from pysgrld.corpus.store import count
from pysgrld.corpus.streams import SinglePassCorpus
from pysgrld.errors import (
    CorpusError,
    MemoryLimitError,
    Message,
    NoFieldError,
    OutputError,
    Severity,
    plural,
)
from pysgrld.evaluate import HeldOut, visits
from pysgrld.models.options import FREE, OPTIONS
from pysgrld.models.protocol import Extent, Model
from pysgrld.models.resolve import SHUFFLE_BUFFER
from pysgrld.models.seeds import unknown_seeds
from pysgrld.models.table import all_models, find_model
from pysgrld.options.option import Facts, Resolved
from pysgrld.options.paths import is_file, path_exists, resolve_path
from pysgrld.run.choose import Candidate
from pysgrld.run.files import make_folder
from pysgrld.run.layout import digest_of_counts
from pysgrld.run.lock import scratch_folder
from pysgrld.run.machine import RELEASE, allowed_memory
from pysgrld.train.hold_out import Reading, divide
from pysgrld.train.request import Request
from pysgrld.types import PositionsExcept, WordTotals

logger = logging.getLogger(__name__)


class ProcessCounts(NamedTuple):
    """Number of processes that train one chain together: in total, and on this machine."""

    all: int = 1
    on_machine: int = 1


#: Numbers of processes for a chain that is trained by a single process.
ALL_ALONE = ProcessCounts()


class Plan(NamedTuple):
    """Plan of a training before its run exists: corpus, held-out documents and options.

    Attributes
    ----------
    request : Request
    candidate : Candidate
        Possible folders of the run, determined before the corpus was read.
    options : Resolved
        Resolved options, of the options class of the model.
    config : dict
        Content for ``config.json`` of the run.
    corpus : Corpus
    train : PositionsExcept
        Positions of the training documents in the corpus.
    held_out : HeldOut or None
    word_counts : WordTotals
        Number of occurrences of each word in the training documents.
    once : SinglePassCorpus or None
        The unread rest of a corpus that is read only once; the user of the plan must close it.
    scratch : Path
        Folder for temporary files, which is removed when `plan_training` ends.
    elsewhere : bool
        True if the user stored the corpus outside the run; it stays there.
    watched : HeldOut or None
        Training documents used to detect convergence.
    facts : Facts
        Facts of the training documents.
    memory : dict of str to int
        Bytes of memory that the run needs for each purpose.
    """

    request: Request
    candidate: Candidate
    options: Resolved
    config: dict[str, Any]
    corpus: Corpus
    train: PositionsExcept
    held_out: HeldOut | None
    word_counts: WordTotals
    once: SinglePassCorpus | None
    scratch: Path
    elsewhere: bool
    watched: HeldOut | None
    facts: Facts
    memory: dict[str, int]


@contextlib.contextmanager
def plan_training(
    request: Request,
    listener: Listener,
    chains: int = 0,
    ranks: ProcessCounts = ALL_ALONE,
    *,
    documents: int | None = None,
) -> Iterator[Plan]:
    """Plan a training: find the run's folder, read the corpus, hold out documents, resolve options.

    Parameters
    ----------
    request : Request
    listener : Listener
    chains : int
        Number of chains to be trained at the same time, in a common folder; 0 for a single run.
    ranks : Sharing
    documents : int, optional
        Number of documents of a larger corpus that the inputs are a sample of. The facts of the
        plan are then of that corpus.

    Yields
    ------
    Plan
        The plan; its folder for temporary files is removed when the block ends.

    Raises
    ------
    SgmcError
        For any error, with its exit code; no incomplete files remain.
    """
    candidate = request.find(chains=chains > 0)
    parent = candidate.path.parent
    made = not path_exists(parent, OutputError)
    with contextlib.ExitStack() as held:
        try:
            make_folder(parent, "parent")
            scratch = held.enter_context(scratch_folder(parent))
        except OSError as error:
            raise OutputError(
                f"{parent}: cannot be written: {error.strerror}; choose another folder"
            ) from None
        try:
            yield _plan(request, candidate, scratch, listener, max(1, chains), ranks, documents)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
            if made:
                # A folder that already contains a run is not removed.
                with contextlib.suppress(OSError):
                    parent.rmdir()


def _plan(
    request: Request,
    candidate: Candidate,
    scratch: Path,
    listener: Listener,
    chains: int,
    ranks: ProcessCounts,
    sampled: int | None,
) -> Plan:
    """Open the stored corpus or read the inputs; hold out documents; resolve the options."""
    choices, number = request.choices, request.threads
    field, period = choices.time or (None, 0)
    try:
        corpus, once = _corpus(request, candidate, scratch, listener)
    except NoFieldError as error:
        # Mention --time in the message only if the missing column is the column of --time.
        if error.field == field:
            raise NoFieldError(field, "--time") from None
        raise
    slicing = None if field is None else slicing_of(field, period, corpus.column(field))
    corpus.slice_by(slicing)
    held_out_reading = Reading(
        choices.options_for_new_documents(corpus.reading), scratch, number, listener, slicing
    )
    train, held_out, watched = divide(
        corpus,
        choices.model,
        choices.hold_out,
        held_out_reading,
        has_budget=bool({"epochs", "iterations"} & choices.names),
    )
    totals, apart = corpus.totals, corpus.take(train.without)
    documents = choices.source.corpus_size or len(train)
    if sampled is not None:
        documents = max(1, sampled - (corpus.documents - len(train)))
    tokens = (corpus.tokens - apart.tokens) * documents // len(train)
    seen = minibatch_words(corpus, train)
    facts = Facts(
        documents,
        corpus.words,
        tokens,
        visits(held_out or watched),
        seen,
        corpus.vocabulary,
        slicing,
        _tokens_by_slice(corpus),
        corpus.tokens / corpus.documents,
    )
    options, defaults = choices.resolve(facts)
    if line := unknown_seeds(choices.source.seed_words, corpus.vocabulary):
        listener.note(line, Severity.WARNING)
    for remark in _remarks(options, defaults, facts, len(train), held_out):
        listener.note(*remark)
    longest, row = np.array([totals.longest]), np.array([totals.longest_row])
    check_lengths(longest, options.kept_sweeps, "document", row)
    shared = ranks.all > 1
    extent = Extent(totals.widest, totals.longest, number, held_out or watched, shared)
    memory = check_memory(options, facts, extent, chains, ranks.on_machine)
    outside = count([apart], corpus.words).words
    counts = WordTotals(*(a - b for a, b in zip(totals.words, outside, strict=True)))
    elsewhere = corpus.path.parent not in (scratch, *candidate.runs)
    out = corpus.documents - len(train)
    # `chosen` is True if sgmc, and not the user, has chosen the held-out documents.
    chosen = not {"holdout-corpus", "observed-corpus"} & choices.names
    config = training_config(options, defaults) | {
        "command": {
            "inputs": list(request.inputs),
            "corpus": str(resolve_path(corpus.path)) if elsewhere else None,
        },
        "corpus": {
            "name": corpus_name(request.inputs),
            "fingerprint": corpus.fingerprint,
            "documents": corpus.documents,
            "training_documents": documents,
            "words": corpus.words,
            "tokens": corpus.tokens,
            "training_tokens": tokens,
            "held_out": out,
            "held_out_dropped": held_out.dropped if held_out else 0,
            "word_counts": digest_of_counts(counts),
            "reading": corpus.reading | ({"holdout": out} if chosen else {}),
        },
    }
    if request.parent:
        config["parent"] = request.parent._asdict()
    return Plan(
        request,
        candidate,
        options,
        config,
        corpus,
        train,
        held_out,
        counts,
        once,
        scratch,
        elsewhere,
        watched,
        facts,
        memory,
    )


def training_config(options: Resolved, defaults: Sequence[str]) -> dict[str, Any]:
    """Return the part of ``config.json`` that does not depend on the source of the documents.

    It contains all options; the options of other models have the value null.

    Parameters
    ----------
    options : Resolved
    defaults : sequence of str
        Names of the options that have their default values.

    Returns
    -------
    dict of str to object
        Options by name, and the list of options with default values.
    """
    return {
        "options": dict.fromkeys(OPTIONS) | options.plain(),
        "defaults": list(defaults),
        "free": sorted(FREE),
        "versions": {"pysgrld": RELEASE, "numpy": np.__version__, "compiler": core.compiler},
        "isa": core.isa(),
    }


def _tokens_by_slice(corpus: Corpus) -> tuple[int, ...]:
    """Return the number of tokens in each time slice, empty if the corpus has no slices."""
    total = np.zeros(0, np.int64)
    for block in corpus.blocks() if corpus.slices is not None else ():
        assert block.slices is not None
        total = total if len(total) else np.zeros(block.copies, np.int64)
        np.add.at(total, block.slices, block.lengths)
    return tuple(total.tolist())


# ---- the corpus


def _corpus(
    request: Request, candidate: Candidate, scratch: Path, listener: Listener
) -> tuple[Corpus, SinglePassCorpus | None]:
    """Open the stored corpus if the inputs have not changed; otherwise read the inputs."""
    reading, source = request.choices.reading_options, request.choices.source
    if source.corpus_size is not None:
        once = SinglePassCorpus(
            request.inputs,
            reading,
            source.shuffle_buffer or SHUFFLE_BUFFER,
            store=scratch / "corpus",
            threads=request.threads,
            notify=listener.reading,
            log=listener.note,
        )
        return once.corpus, once
    parent = request.parent
    before = parent.corpus if parent is not None and not parent.only_new else None
    grown_by = (parent is not None, before, None if parent is None else parent.forget)
    places = [folder / "corpus" for folder in candidate.runs]
    places += [request.corpus] if request.corpus else []
    if "-" in request.inputs and not request.as_stored:
        places = []
    for place in places:
        if is_file(place / "meta.json"):
            corpus = Corpus.open(place)
            provenance = corpus.provenance
            alike = (
                "grown" in provenance,
                provenance.get("grown"),
                provenance.get("forget"),
            ) == grown_by
            if request.as_stored or (
                alike
                and corpus.about.numbers_records
                and stands_for(provenance, request.inputs, reading, listener.reading)
            ):
                break
    else:
        store, threads = scratch / "corpus", request.threads
        if parent is None:
            corpus = open_corpus(
                request.inputs,
                reading,
                store=store,
                threads=threads,
                notify=listener.reading,
                log=listener.note,
            )
        else:
            parent_results = parent.results()
            old = None if parent.only_new else parent_results.training_corpus()
            arguments = (request.inputs, reading, store, threads, listener, parent.forget)
            corpus = grown(parent_results.vocabulary, old, *arguments)
    if corpus.documents < 1 or corpus.tokens < 1:
        raise CorpusError(
            "no document has a word of the vocabulary; check that these are the right documents",
            request.inputs[0],
        )
    return corpus, None


#: Topics are unreliable if the number of tokens per topic is below this number (docs/evaluation.md,
#: "How much is enough?").
TOKENS = 300
#: Topics may be reliable from this number of tokens per topic (docs/evaluation.md, "How much is
#: enough?").
BETTER = 1000
#: Minimum number of held-out documents for a useful comparison of scores (docs/evaluation.md, "How
#: much is enough?").
HELD_OUT_DOCUMENTS = 20
#: Minimum number of held-out tokens for a useful comparison of scores, if documents are split
#: (docs/evaluation.md, "How much is enough?").
HELD_OUT_TOKENS = 500


def _remarks(
    options: Resolved,
    defaults: Sequence[str],
    facts: Facts,
    documents: int,
    held_out: HeldOut | None,
) -> Iterator[Message]:
    """Yield remarks on the options, and warnings if the corpus is too small for them.

    The settings of the sampler are logged.
    """
    model: Model[Any] = find_model(options.model)
    if settings := options.settings.plain():
        seen = facts.minibatch_words(options.minibatch, options.seed)
        about = round(seen, 2 - len(str(seen)))
        logger.info(
            "settings: %s; a minibatch has about %s of the %s of the vocabulary",
            ", ".join(f"{name}={value}" for name, value in settings.items()),
            f"{min(about, facts.words):,}",
            plural(facts.words, "word"),
        )
    usual = all_models()[0]
    if "model" in defaults and model is not usual and options.algo in usual.algorithms:
        yield Message(
            f"--algo {options.algo} implies --model {model.name}; give --model {usual.name} to "
            "use that model instead"
        )
    yield from model.remarks(options, facts._replace(documents=documents))
    # `widths` is empty in a mixture, which determines its number of topics itself.
    k = max(options.widths, default=0)
    if options.depth == 1 and {"topics", "layers"} <= {*defaults}:
        yield Message(
            f"{plural(k, 'topic')} by default, chosen for {plural(facts.tokens, 'token')} (-k N "
            "sets another number; 'sgmc search' compares numbers)"
        )
    if k > facts.documents or k * TOKENS > facts.tokens:
        yield Message(too_many_topics(k, facts), Severity.WARNING)
    if held_out is None:
        return
    number, tokens, whole = len(held_out.held_out), held_out.held_out.tokens, model.score.whole
    if number < HELD_OUT_DOCUMENTS or not (whole or tokens >= HELD_OUT_TOKENS):
        size = plural(tokens, "token" if whole else "held-out token")
        yield Message(
            f"{plural(number, 'held-out document')} with {size} are too few to compare models; "
            "hold out more with --holdout, or give other documents with --holdout-corpus",
            Severity.WARNING,
        )


def too_many_topics(k: int, facts: Facts) -> str:
    """Return the warning that K topics are too many for a corpus.

    Parameters
    ----------
    k : int
    facts : Facts
        Facts of the training documents.
    """
    most = min(facts.documents, facts.tokens // BETTER)
    advice = f"try {most} or fewer" if most > 1 else "give more documents"
    return (
        f"{plural(k, 'topic')} are too many for {plural(facts.documents, 'document')} with "
        f"{plural(facts.tokens, 'token')} to find reliable topics (about "
        f"{plural(facts.tokens // k, 'token')} per topic); {advice}"
    )


#: Bytes of memory that the program and its libraries need, whatever the model.
PROGRAM = 80 << 20


def check_memory(
    options: Resolved, facts: Facts, extent: Extent, chains: int = 1, ranks: int = 1
) -> dict[str, int]:
    """Return and log the memory that the run needs; raise an error if it is above the limit.

    Parameters
    ----------
    options : Resolved
    facts : Facts
    extent : Extent
    chains : int
        Number of such runs that train at the same time.
    ranks : int
        Number of processes on this machine that train one chain together; each is assumed to need
        as much as the first.

    Returns
    -------
    dict of str to int
        Bytes of memory for each purpose.

    Raises
    ------
    MemoryLimitError
        If too much memory is needed; the message names the parts, and the options that reduce them.
    """
    model = find_model(options.model)
    need = model.memory(options, facts, extent) | {"program and libraries": PROGRAM}
    total = sum(need.values())
    allowed = options.max_memory or allowed_memory()
    number, unit = max((chains, "runs at a time"), (ranks, "ranks of this machine"))
    who = f" for {number} {unit}" if number > 1 else ""
    logger.info("memory needed%s: about %s", who, _megabytes(number * total))
    if allowed is not None and number * total > allowed:
        parts = ", ".join(f"{name} {_megabytes(n)}" for name, n in need.items() if n)
        who = f"each of {number} {unit}" if number > 1 else "the run"
        fewer = "fewer --chains or --jobs, " if chains > 1 else "fewer ranks, " if ranks > 1 else ""
        if need.get("short chains", 0) > total // 4:
            fewer += "fewer short chains (--set starts=N), "
        raise MemoryLimitError(
            f"{who} needs about {_megabytes(total)} of memory ({parts}), but only "
            f"{_megabytes(allowed)} are allowed; use "
            f"{fewer}{'fewer --topics, ' if options.topics else ''}a smaller --max-vocab, or a "
            "larger --max-memory"
        )
    return need


def _megabytes(n: int) -> str:
    return f"{n / 2**20:,.0f} MB"
