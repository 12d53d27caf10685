"""What a command line means, before there is a run: corpus, held-out documents, every option."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import pysgrld
from pysgrld.core import check_lengths, core
from pysgrld.corpus import Corpus, CorpusOptions, corpus_name, inputs_record, open_corpus
from pysgrld.corpus.once import Once
from pysgrld.errors import CorpusError, UsageError
from pysgrld.evaluate import HeldOut, pair, split, visits, whole
from pysgrld.memory import check_memory
from pysgrld.options import FREE, kind_of
from pysgrld.reporter import Listener
from pysgrld.scores import score_of
from pysgrld.settings import SHUFFLE_BUFFER, Facts, resolve
from pysgrld.stream import choose_holdout, minibatch_words
from pysgrld.types import Documents, Int64s, Key

_READING = ("vocab", "max-vocab", "min-df", "max-df", "stop-words", "token-pattern", "text-field",
            "on-bad-document", "max-line", "max-input")  # fmt: skip


class Plan(NamedTuple):
    """What a command line means, before there is a run.

    Attributes
    ----------
    options, config : dict
        Resolved, and as ``config.json`` will have them.
    corpus : Corpus
    train : (D,) int64
        Positions of the training documents in it.
    held_out : HeldOut or None
    once : Once or None
        The rest of a corpus that is read once; to be closed.
    """

    options: dict[str, Any]
    config: dict[str, Any]
    corpus: Corpus
    train: Int64s
    held_out: HeldOut | None
    once: Once | None


def plan(
    inputs: Sequence[str], given: Mapping[str, Any], places: Sequence[Path], scratch: Path,
    number: int, listener: Listener, chains: int = 1,
) -> Plan:  # fmt: skip
    """Read the corpus, hold documents out, resolve every option.

    Parameters
    ----------
    inputs, given, listener
        As `prepare` has them.
    places : sequence of Path
        Where the corpus may have been stored before.
    scratch : Path
        Where it is stored otherwise.
    number : int
        Threads.
    chains : int
        Runs of the kind at a time, for which there must be memory.
    """
    reading = CorpusOptions(**{n.replace("-", "_"): given[n] for n in _READING if n in given})
    once = None
    if "corpus-size" in given:
        once = Once(
            inputs, reading, given.get("shuffle-buffer", SHUFFLE_BUFFER),
            store=scratch / "corpus", threads=number, notify=listener.reading,
            log=listener.note,
        )  # fmt: skip
        corpus = once.corpus
    else:
        corpus = _corpus(inputs, reading, places, scratch, number, listener)
    train, held_out = _hold_out(corpus, given, reading, scratch, number, listener)
    lengths = corpus.lengths()
    tokens = int(lengths[train].sum())
    documents = given.get("corpus-size", len(train))
    tokens = tokens * documents // len(train)
    facts = Facts(documents, corpus.words, tokens, visits(held_out), minibatch_words(corpus, train))
    options, defaults = resolve(given, facts)
    if options["algo"] == "scir" and options["model"] != "dpmm":
        seen = facts.minibatch_words(options["minibatch"], options["seed"])
        listener.note(
            f"lazy: {options['lazy']}, minibatches hold about {_about(seen)} of "
            f"{corpus.words:,} words"
        )
    check_lengths(lengths[train], options["kept-sweeps"], "document", train)
    wide = options["layers"][0] if options["layers"] else 0
    if wide > min(corpus.words, len(train)):
        listener.note(
            f"warning: layer 1 has {wide} topics for {corpus.words:,} words and {len(train):,} "
            "documents: most of them will stay empty"
        )
    extent = int(np.diff(corpus.indptr).max()), int(lengths.max())
    check_memory(options, facts, held_out, extent, number, listener, chains)
    config = {
        "schema": 1,
        "options": options,
        "defaults": defaults,
        "free": sorted(FREE),
        "command": {"inputs": list(inputs), "corpus": _stored(corpus, scratch)},
        "versions": {
            "pysgrld": pysgrld.__version__, "numpy": np.__version__, "compiler": core.compiler,
        },
        "isa": core.isa(),
        "corpus": {
            "name": corpus_name(inputs), "fingerprint": corpus.fingerprint,
            "documents": corpus.documents, "training_documents": documents,
            "words": corpus.words, "tokens": corpus.tokens, "training_tokens": tokens,
            "held_out": corpus.documents - len(train),
            "held_out_dropped": held_out.dropped if held_out else 0,
        },
    }  # fmt: skip
    return Plan(options, config, corpus, train, held_out, once)


def name_of(inputs: Sequence[str], given: Mapping[str, Any]) -> str:
    """Name of a run that is not given one."""
    return f"{corpus_name(inputs)}-{resolve_algo(given)}"


def resolve_algo(given: Mapping[str, Any]) -> str:
    """Name of the sampler before the corpus is known.

    Raises
    ------
    UsageError
        If it cannot do what is asked of it.
    """
    algo: str = resolve(given, Facts(1, 1, 1, 0, lambda *_: 1))[0]["algo"]
    return algo


def _about(n: int) -> str:
    """Two leading digits of a number, the rest zeros."""
    return f"{round(n, 2 - len(str(n))):,}"


def _corpus(
    inputs: Sequence[str], reading: CorpusOptions, places: Sequence[Path], scratch: Path,
    number: int, listener: Listener,
) -> Corpus:  # fmt: skip
    """Open the corpus: one stored before if the inputs are still the same, else by reading."""
    if "-" not in inputs:
        record = {"inputs": inputs_record(inputs), "options": _plain(reading)}
        for stored in places:
            if (stored / "meta.json").is_file():
                corpus = Corpus.open(stored)
                if {n: corpus.provenance.get(n) for n in record} == record:
                    return corpus
    corpus = open_corpus(
        inputs, reading, store=scratch / "corpus", threads=number, notify=listener.reading,
        log=listener.note,
    )  # fmt: skip
    if corpus.documents < 1 or corpus.tokens < 1:
        raise CorpusError("there is no document with a known word", inputs[0])
    return corpus


def _stored(corpus: Corpus, scratch: Path) -> str | None:
    """Where a corpus lies that others stored, so that it can be found again from anywhere."""
    return None if corpus.path.is_relative_to(scratch) else str(corpus.path.resolve())


def _plain(reading: CorpusOptions) -> dict[str, Any]:
    return {name: getattr(reading, name) for name in reading.__dataclass_fields__}


def read_matched(
    path: str, words: Sequence[str], reading: CorpusOptions, store: Path, number: int,
    listener: Listener,
) -> Corpus:  # fmt: skip
    """Read another corpus over a run's vocabulary: matched by word, rows kept in order."""
    import dataclasses

    other = dataclasses.replace(
        reading, vocab=None, max_vocab=None, min_df=None, max_df=None, stop_words=None
    )
    return open_corpus(
        [path], other, store=store, match=words, threads=number, notify=listener.reading,
        log=listener.note,
    )  # fmt: skip


def _hold_out(
    corpus: Corpus, given: Mapping[str, Any], reading: CorpusOptions, scratch: Path, number: int,
    listener: Listener,
) -> tuple[Int64s, HeldOut | None]:  # fmt: skip
    """Set documents apart before anything is trained; the rest is for training."""
    everything = np.arange(corpus.documents)
    seed = given.get("seed", 0)
    observed = given.get("observed", 0.8)

    in_one_piece = score_of({"model": kind_of(given)[1]}).whole

    def divide(documents: Documents, ids: Int64s) -> HeldOut:
        if in_one_piece:
            return whole(documents, ids)
        return split(documents, ids, observed, seed)

    if "observed-corpus" in given:
        parts = []
        for name in ("observed-corpus", "held-out-corpus"):
            part = read_matched(
                given[name], corpus.vocabulary, reading, scratch / name, number, listener
            )
            parts.append(part.take(np.arange(part.documents)))
        held_out = pair(*parts)
        train = everything
    elif "holdout-corpus" in given:
        other = read_matched(
            given["holdout-corpus"],
            corpus.vocabulary,
            reading,
            scratch / "holdout-corpus",
            number,
            listener,
        )
        ids = np.arange(other.documents)
        held_out = divide(other.take(ids), ids)
        train = everything
    else:
        d = corpus.documents
        wanted = hold_out_size(given.get("holdout"), d)
        if wanted == 0:
            if not {"epochs", "iterations", "time-limit"} & set(given):
                raise UsageError(
                    f"{corpus.path.name}: too few documents to hold any out: give --epochs or "
                    "--iterations"
                )
            return everything, None
        ids = choose_holdout(d, wanted, Key(seed, 0, 0))
        held_out = divide(corpus.take(ids), ids)
        train = np.setdiff1d(everything, ids, assume_unique=True)
    if held_out.dropped:
        why = "have no known word" if in_one_piece else "cannot be split"
        listener.note(f"{held_out.dropped} held-out documents {why}: left out")
    if len(held_out.observed) == 0:
        fewest = "a token" if in_one_piece else "two tokens"
        raise CorpusError(
            f"no held-out document has {fewest} of the vocabulary: give other ones, or --holdout 0"
        )
    # keyed by their place among the held-out documents, so that a resumed run reads them alike
    return train, held_out._replace(doc_ids=np.arange(len(held_out.observed)))


def hold_out_size(wanted: int | float | None, documents: int) -> int:
    """How many documents to hold out: a number, a share, or min(1000, 10 %) where None.

    Raises
    ------
    UsageError
        If none would be left to train on.
    """
    if wanted is None:
        return min(1000, max(1, documents // 10)) if documents > 1 else 0
    size = max(1, round(wanted * documents)) if isinstance(wanted, float) else wanted
    if (size and size >= documents) or size < 0:
        raise UsageError(
            f"holdout {wanted}: the corpus has {documents} documents; leave some to train on"
        )
    return size
