"""The files that MALLET writes: one draw of the topics of all tokens, and what follows from it.

Formats are those of MALLET 2.0.8 and later: ``state.gz`` (`--output-state`), ``topic-keys.txt``
(`--output-topic-keys`), ``doc-topics.txt`` (`--output-doc-topics`), ``topic-word-weights.txt``.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from typing import IO, NamedTuple

import numpy as np

from pysgrld.corpus import Corpus
from pysgrld.errors import CorpusError, MissingInputError, UsageError, plural
from pysgrld.reading.results import Results
from pysgrld.report.exports.request import Exported, ExportRequest, Tell
from pysgrld.run.whole import whole_file
from pysgrld.types import Documents, Doubles, Int32s, Int64s

STATE, KEYS, DOCUMENTS, WEIGHTS = (
    "state.gz",
    "topic-keys.txt",
    "doc-topics.txt",
    "topic-word-weights.txt",
)
_OLD_HEAD = b"#doc name topic proportion ...\n"
_BLANK = re.compile(r"\s")
#: Tokens of the documents that are drawn together, as far as there are several.
_TOKENS = 1 << 18
#: Documents of which that many tokens are looked for.
_TOGETHER = 4096
#: The least parameter of a topic where the model has none of its own: logarithms are taken of it.
_LEAST = 1e-6


class _Priors(NamedTuple):
    """Dirichlet parameters: of each topic in a document, and of a word in a topic."""

    alpha: Doubles
    beta: float


class _DrawnDocuments(NamedTuple):
    """Some documents, their names, and the topic of each of their tokens."""

    first: int
    names: list[str]
    documents: Documents
    z: Int32s


def files(chains: Sequence[Results], asked: ExportRequest) -> list[str]:
    """Name the files.

    Raises
    ------
    UsageError
        If tokens of the model have no topics.
    MissingInputError
        If the corpus is gone.
    CorpusError
        If a word has a blank in it, which would end it.
    """
    results = chains[0]
    nothing = Documents(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))
    try:
        results.fitted.token_topics(nothing, np.empty(0, np.int64), asked.at)
    except UsageError as error:
        raise UsageError(f"{results.path}: {error}, which MALLET's files are made of") from None
    if results.training_corpus() is None:
        raise MissingInputError(f"{results.gone}: MALLET's files list its tokens")
    for number, word in enumerate(results.vocabulary, 1):
        if _BLANK.search(word):
            raise CorpusError(
                f"the word {word!r} has a blank, which ends a word in MALLET's files; build the corpus "
                "with '_' there",
                results.path / "vocab.txt",
                number,
            )
    return [STATE, KEYS, DOCUMENTS, WEIGHTS]


def write(chains: Sequence[Results], asked: ExportRequest, tell: Tell) -> Exported:
    """Write all four files, of the training documents in their order."""
    results, folder = chains[0], asked.folder
    corpus = results.training_corpus()
    assert corpus is not None
    k, v = results.layers[asked.at], len(results.vocabulary)
    priors = _priors(results, asked.at)
    counts = np.zeros((k, v), np.int32)
    rows = results.training_documents(corpus)[:]
    with (
        whole_file(folder / STATE) as packed,
        gzip.GzipFile("", "wb", 6, packed, mtime=0) as state,
        whole_file(folder / DOCUMENTS) as shares,
    ):
        state.write(_head(priors))
        if asked.mallet_old:
            shares.write(_OLD_HEAD)
        for block in _drawn(results, corpus, rows, asked.at):
            words = np.repeat(block.documents.indices, block.documents.counts)
            np.add.at(counts, (block.z, words), 1)
            _write_tokens(state, block, words, results.vocabulary)
            _write_shares(shares, block, priors.alpha, old=asked.mallet_old)
            tell("drawing the tokens' topics", block.first + len(block.documents), len(rows))
    with whole_file(folder / KEYS) as file:
        for topic, row in enumerate(counts):
            some = np.argsort(-row, kind="stable")[: asked.top or v]
            words_of = "".join(f"{results.vocabulary[w]} " for w in some.tolist() if row[w])
            file.write(f"{topic}\t{priors.alpha[topic]:.5g}\t{words_of}\n".encode())
    with whole_file(folder / WEIGHTS) as file:
        for topic, row in enumerate(counts):
            weights = (priors.beta + row).tolist()
            lines = (
                f"{topic}\t{word}\t{weight!r}\n"
                for word, weight in zip(results.vocabulary, weights, strict=True)
            )
            file.write("".join(lines).encode())
            tell("writing words", topic + 1, k)
    drawn = f"one draw of {plural(int(counts.sum()), 'token')} given the current topics"
    return Exported(
        folder / STATE, f"{plural(len(rows), 'document')}, {plural(k, 'topic')}, {drawn}"
    )


def _priors(results: Results, at: int) -> _Priors:
    """Give the model's Dirichlet parameters; of one without them the topics' shares stand for alpha."""
    beta, k = results.fitted.word_prior(), results.layers[at]
    alpha = results.fitted.document_prior(at)
    if alpha is not None:
        return _Priors(alpha, beta)
    share = results.weights(at)
    return _Priors(np.maximum(np.full(k, 1 / k) if share is None else share, _LEAST), beta)


def _head(priors: _Priors) -> bytes:
    alpha = " ".join(map(repr, priors.alpha.tolist()))
    columns = "#doc source pos typeindex type topic"
    return f"{columns}\n#alpha : {alpha}\n#beta : {priors.beta!r}\n".encode()


def _drawn(results: Results, corpus: Corpus, rows: Int64s, at: int) -> Iterator[_DrawnDocuments]:
    """Draw the topics of the tokens of some documents at a time."""
    for begin in range(0, len(rows), _TOGETHER):
        some = rows[begin : begin + _TOGETHER]
        documents, names = corpus.take(some), corpus.about.ids(some)
        ends = np.cumsum(documents.lengths) // _TOKENS
        for part in np.unique(ends).tolist():
            places = np.flatnonzero(ends == part)
            here = documents.take(places)
            z = results.fitted.token_topics(here, some[places], at)
            first = int(places[0])
            yield _DrawnDocuments(begin + first, names[first : first + len(places)], here, z)


def _write_tokens(
    file: gzip.GzipFile, block: _DrawnDocuments, words: Int32s, vocabulary: Sequence[str]
) -> None:
    lengths = block.documents.lengths.tolist()
    topics, numbers = block.z.tolist(), words.tolist()
    lines, at = [], 0
    for i, (name, length) in enumerate(zip(block.names, lengths, strict=True)):
        head = f"{block.first + i} {_source(name)}"
        lines += [
            f"{head} {place} {word} {vocabulary[word]} {topic}\n"
            for place, (word, topic) in enumerate(
                zip(numbers[at : at + length], topics[at : at + length], strict=True)
            )
        ]
        at += length
    file.write("".join(lines).encode("utf-8", "replace"))


def _source(name: str) -> str:
    """Give the name of a document without blanks, which are written as in the address of a file."""
    return _BLANK.sub(lambda sign: f"%{ord(sign[0]):02X}", name) or "NA"


def _write_shares(file: IO[bytes], block: _DrawnDocuments, alpha: Doubles, *, old: bool) -> None:
    """Write (n_dk + alpha_k) / (N_d + sum of alpha); old: topics by share, each with its number."""
    lengths, k = block.documents.lengths, len(alpha)
    of = np.repeat(np.arange(len(lengths)), lengths)
    counts = np.bincount(of * k + block.z, minlength=len(lengths) * k).reshape(-1, k)
    share = (counts + alpha) / (lengths[:, None] + alpha.sum())
    for i, (name, row) in enumerate(zip(block.names, share, strict=True)):
        values: list[int | float] = row.tolist()
        if old:
            order = np.argsort(-row, kind="stable").tolist()
            values = [value for topic in order for value in (topic, row[topic].item())]
        cells = "\t".join(map(repr, values))
        file.write(f"{block.first + i}\t{_source(name)}\t{cells}\n".encode("utf-8", "replace"))
