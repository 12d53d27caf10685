"""Files in MALLET's formats: a topic drawn for each token, and statistics of this draw.

Formats follow MALLET 2.0.8 and later: ``state.gz`` (`--output-state`), ``topic-keys.txt``
(`--output-topic-keys`), ``doc-topics.txt`` (`--output-doc-topics`), ``topic-word-weights.txt``.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence

import numpy as np

from pysgrld.corpus import Corpus
from pysgrld.errors import CorpusError, MissingInputError, UsageError, plural
from pysgrld.reading.results import Results
from pysgrld.report.exports import Exported, ExportRequest, Tell
from pysgrld.run.output_files import open_output
from pysgrld.types import Documents, Int32s, Int64s

STATE, KEYS, DOCUMENTS, WEIGHTS = (
    "state.gz",
    "topic-keys.txt",
    "doc-topics.txt",
    "topic-word-weights.txt",
)
_OLD_HEAD = b"#doc name topic proportion ...\n"
_BLANK = re.compile(r"\s")
#: Approximate number of tokens in a block of documents. A document with more tokens is a block by
#: itself.
_TOKENS = 1 << 18
#: Maximum number of documents read at once.
_TOGETHER = 4096
#: Minimum of a topic's parameter alpha if the topics' shares are used as alpha. A share may be 0,
#: but alpha must be positive.
_LEAST = 1e-6


def files(results: Results, request: ExportRequest) -> list[str]:
    """Return the names of the output files.

    Raises
    ------
    UsageError
        If the model does not assign topics to tokens.
    MissingInputError
        If the corpus no longer exists.
    CorpusError
        If a word contains a blank, because a blank ends a word in these files.
    """
    nothing = Documents(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))
    try:
        results.fitted.token_topics(nothing, np.empty(0, np.int64), request.at)
    except UsageError as error:
        raise UsageError(
            f"{results.path}: {error}; MALLET's files need a topic per token"
        ) from None
    if results.training_corpus() is None:
        raise MissingInputError(
            f"{results.missing_corpus}, so MALLET's files cannot be written; restore the corpus, "
            "or train with 'sgmc train'"
        )
    for number, word in enumerate(results.vocabulary, 1):
        if _BLANK.search(word):
            raise CorpusError(
                f"the word {word!r} contains a space, which separates words in MALLET's files; "
                "build the corpus with '_' instead",
                results.path / "vocab.txt",
                number,
            )
    return [STATE, KEYS, DOCUMENTS, WEIGHTS]


def write(results: Results, request: ExportRequest, tell: Tell) -> Exported:
    """Write all four files, for the training documents in order."""
    folder, layer = request.folder, request.at
    corpus, vocabulary = results.training_corpus(), results.vocabulary
    assert corpus is not None
    k, v = results.fitted.layers[layer], len(vocabulary)
    # Use the model's Dirichlet parameters. If the model has no alpha, use the topics' shares.
    beta, alpha = results.fitted.word_prior(), results.fitted.document_prior(layer)
    if alpha is None:
        share = results.weights(layer)
        alpha = np.maximum(np.full(k, 1 / k) if share is None else share, _LEAST)
    counts = np.zeros((k, v), np.int32)
    rows = results.training_documents(corpus)[:]
    with (
        open_output(folder / STATE) as packed,
        gzip.GzipFile("", "wb", 6, packed, mtime=0) as state,
        open_output(folder / DOCUMENTS) as shares,
    ):
        numbers = " ".join(map(repr, alpha.tolist()))
        head = f"#doc source pos typeindex type topic\n#alpha : {numbers}\n#beta : {beta!r}\n"
        state.write(head.encode())
        if request.mallet_old:
            shares.write(_OLD_HEAD)
        for first, ids, documents, z in _drawn(results, corpus, rows, layer):
            # Percent-encode blanks in names, as in URLs.
            names = [_BLANK.sub(lambda c: f"%{ord(c[0]):02X}", name) or "NA" for name in ids]
            words = np.repeat(documents.indices, documents.counts)
            np.add.at(counts, (z, words), 1)
            state.write(_token_lines(first, names, documents.lengths, words, z, vocabulary))
            # The share of topic k in document d is (n_dk + alpha_k) / (N_d + sum of alpha). In
            # MALLET's old layout, a line lists pairs of topic number and share, the greatest share
            # first.
            lengths = documents.lengths
            cells = np.repeat(np.arange(len(lengths)), lengths) * k + z
            n_dk = np.bincount(cells, minlength=len(lengths) * k).reshape(-1, k)
            theta = (n_dk + alpha) / (lengths[:, None] + alpha.sum())
            for number, (name, row) in enumerate(zip(names, theta, strict=True), first):
                values: list[int | float] = row.tolist()
                if request.mallet_old:
                    order = np.argsort(-row, kind="stable").tolist()
                    values = [value for topic in order for value in (topic, row[topic].item())]
                line = "\t".join((str(number), name, *map(repr, values)))
                shares.write(f"{line}\n".encode("utf-8", "replace"))
            tell("drawing the tokens' topics", first + len(documents), len(rows))
    with open_output(folder / KEYS) as file:
        for topic, row in enumerate(counts):
            top_words = np.argsort(-row, kind="stable")[: request.top or v]
            words_of = "".join(f"{vocabulary[w]} " for w in top_words.tolist() if row[w])
            file.write(f"{topic}\t{alpha[topic]:.5g}\t{words_of}\n".encode())
    with open_output(folder / WEIGHTS) as file:
        for topic, row in enumerate(counts):
            lines = (
                f"{topic}\t{word}\t{weight!r}\n"
                for word, weight in zip(vocabulary, (beta + row).tolist(), strict=True)
            )
            file.write("".join(lines).encode())
            tell("writing words", topic + 1, k)
    drawn = f"assignments of {plural(int(counts.sum()), 'token')} to the current topics"
    return Exported(
        folder / STATE, f"{plural(len(rows), 'document')}, {plural(k, 'topic')}, {drawn}"
    )


def _drawn(
    results: Results, corpus: Corpus, rows: Int64s, layer: int
) -> Iterator[tuple[int, list[str], Documents, Int32s]]:
    """Draw a topic for each token, one block of documents at a time.

    Yields
    ------
    first : int
        Position in ``rows`` of the first document of the block.
    ids : list of str
    documents : Documents
    z : (N,) int32
        Topic of each token.
    """
    for begin in range(0, len(rows), _TOGETHER):
        chunk = rows[begin : begin + _TOGETHER]
        documents, ids = corpus.take(chunk), corpus.about.ids(chunk)
        ends = np.cumsum(documents.lengths) // _TOKENS
        for part in np.unique(ends).tolist():
            places = np.flatnonzero(ends == part)
            block = documents.take(places)
            z = results.fitted.token_topics(block, chunk[places], layer)
            first = int(places[0])
            yield begin + first, ids[first : first + len(places)], block, z


def _token_lines(
    first: int,
    names: list[str],
    lengths: Int64s,
    words: Int32s,
    z: Int32s,
    vocabulary: Sequence[str],
) -> bytes:
    """Return one line for each token of the documents: document, position, word and topic."""
    topics, numbers = z.tolist(), words.tolist()
    lines: list[str] = []
    position = 0
    for i, (name, length) in enumerate(zip(names, lengths.tolist(), strict=True), first):
        lines += [
            f"{i} {name} {place} {word} {vocabulary[word]} {topic}\n"
            for place, (word, topic) in enumerate(
                zip(
                    numbers[position : position + length],
                    topics[position : position + length],
                    strict=True,
                )
            )
        ]
        position += length
    return "".join(lines).encode("utf-8", "replace")
