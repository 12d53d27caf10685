"""Counting of words in X: texts, lists of tokens, spaCy documents, or gensim bags of words."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysgrld.errors import IGNORED, CorpusError, Log, UsageError, no_log, plural
from pysgrld.estimators.inputs import MOST_WORDS, column_names, counts_in, is_annotated
from pysgrld.types import Array, Documents

if TYPE_CHECKING:
    from pysgrld.corpus import Corpus

#: Maximum number of bytes of a text.
LONGEST = 2**31 - 1
#: Default name of a column without a name. The number of the column, from 1, replaces `{}`.
UNNAMED = "word{}"


def new_documents(x: Any, threads: int, vocabulary: Any = None) -> tuple[Any, Array | None]:
    """Count the words in the input of `fit`; return the counts, and the column names if known.

    By default, the words of texts are chosen as in ``sgmc train``; in lists of tokens, all tokens
    are words. The most frequent words come first. If ``vocabulary`` is given, only its words are
    counted, in its order.

    Parameters
    ----------
    x : object
        A matrix, a DataFrame, texts, lists of tokens, or bags of words.
    threads : int
        Number of threads that read texts.
    vocabulary : object, optional
        Names of columns, in a form that `names_in` accepts.

    Returns
    -------
    x : object
        The input itself if it is a matrix, otherwise `Documents`.
    names : (V,) array of str objects, or None
        Names of the columns.

    Raises
    ------
    UsageError
        A `ValueError`: a text or count is invalid, or no word is left.
    """
    names = None if vocabulary is None else names_in(vocabulary)
    if is_annotated(x):
        return counts_in(x), column_names(x) if names is None else names
    if (texts := texts_in(x)) is not None:
        if names is None:
            from pysgrld.corpus import CorpusOptions
            from pysgrld.corpus.open import open_corpus

            options = CorpusOptions(max_line=LONGEST)
            with _written(texts) as file:
                store = file.with_name("corpus")
                read = open_corpus([str(file)], options, store=store, threads=threads)
            names = np.array(read.vocabulary, dtype=object)
        return counted(texts, names.tolist(), {}, threads), names
    if (tokens := tokens_in(x)) is not None:
        if names is None:
            often = Counter(word for document in tokens for word in document)
            ordered = sorted(often, key=lambda word: (-often[word], word))
            names = np.array(ordered, dtype=object)
        return counted_tokens(tokens, names.tolist()), names
    if (bags := bags_in(x)) is not None:
        documents = counted_bags(bags, None if names is None else len(names))
        return documents, names
    if names is not None and len(getattr(x, "shape", ())) == 2 and x.shape[1] != len(names):
        raise UsageError(
            f"vocabulary has {plural(len(names), 'word')}, but X has "
            f"{plural(x.shape[1], 'column')}; give one word for each column"
        )
    return x, column_names(x) if names is None else names


def names_in(vocabulary: Any) -> np.ndarray:
    """Return the words of a vocabulary as column names, (V,) str objects.

    Parameters
    ----------
    vocabulary : object
        A sequence of str; gensim's Dictionary, or another mapping of columns to words, or of words to
        columns; or an object with ``get_feature_names_out``, such as scikit-learn's vectorizers and
        Pipelines.

    Raises
    ------
    UsageError
        A `ValueError`: ``vocabulary`` is none of these.
    """
    if hasattr(vocabulary, "get_feature_names_out"):
        vocabulary = vocabulary.get_feature_names_out()
    if hasattr(vocabulary, "items"):
        pairs = list(vocabulary.items())
        if all(isinstance(word, str) for word, _ in pairs):
            pairs = [(column, word) for word, column in pairs]
        numbers = [column for column, _ in pairs]
        whole = all(isinstance(column, int | np.integer) for column in numbers)
        if not whole or min(numbers, default=0) < 0 or len(set(numbers)) < len(numbers):
            raise UsageError(
                "vocabulary: wanted a mapping of columns to words, or of words to columns"
            )
        words_by_column = dict(pairs)
        size = 1 + max(numbers, default=-1)
        words = [words_by_column.get(column, UNNAMED.format(column + 1)) for column in range(size)]
    elif isinstance(vocabulary, str) or not hasattr(vocabulary, "__iter__"):
        raise UsageError(f"vocabulary: wanted the words of the columns, found {vocabulary!r}")
    else:
        words = list(vocabulary)
    return np.array([str(word) for word in words], dtype=object)


# ---- detection of the kind of input


def texts_in(x: Any) -> list[str] | None:
    """Return the texts in X, or None if X is not a sequence of texts.

    Parameters
    ----------
    x : object
        A list, tuple, one-dimensional array or Series of str.
    """
    texts = []
    for text in _rows_of(x):
        if not isinstance(text, str):
            return None
        texts.append(str(text))  # Convert NumPy's string type to Python's.
    return texts or None


def tokens_in(x: Any) -> list[list[str]] | None:
    """Return the tokens of X's documents, or None if X is not a sequence of token lists.

    Parameters
    ----------
    x : object
        A sequence of sequences of str, or of spaCy's documents. Tokens of spaCy's documents are
        returned in lower case, without spaces, punctuation and stop words.
    """
    documents: list[list[str]] = []
    for document in _rows_of(x):
        if isinstance(document, str | bytes | Mapping) or not hasattr(document, "__iter__"):
            return None
        words = []
        for token in document:
            if isinstance(token, str):
                words.append(str(token))
            elif not hasattr(token, "is_stop"):
                return None
            elif not (token.is_space or token.is_punct or token.is_stop):
                words.append(token.text.lower())
        documents.append(words)
    return documents if any(documents) else None


def bags_in(x: Any) -> list[list[tuple[int, int]]] | None:
    """Return the bags of words in X, or None if X is not a sequence of bags.

    Parameters
    ----------
    x : object
        A sequence, or gensim's corpus, of documents that are lists of pairs (column, count).
    """
    bags: list[list[tuple[int, int]]] = []
    for document in _rows_of(x):
        if not isinstance(document, list | tuple):
            return None
        if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in document):
            return None
        bags.append(list(document))
    return bags if any(bags) else None


def _rows_of(x: Any) -> Iterable[Any]:
    """Return X if it is a sequence of documents; for a matrix, table or text, return ()."""
    if isinstance(x, str | bytes | Documents | Mapping | Set) or getattr(x, "ndim", 1) != 1:
        return ()
    if hasattr(x, "columns") or not (hasattr(x, "__len__") and hasattr(x, "__iter__")):
        return ()
    return x  # type: ignore[no-any-return]


# ---- counting of words


def known_documents(
    x: Any,
    vocabulary: Sequence[str] | None,
    columns: int,
    how: Mapping[str, Any],
    threads: int,
    log: Log,
) -> Documents | None:
    """Count, in X, the words that the model knows; return None if X is a matrix.

    Parameters
    ----------
    x : object
    vocabulary : sequence of str, or None
        The words of the columns, in the order of columns.
    columns : int
        Number of columns V.
    how : mapping
        Options with which the training texts were read, as for `counted`.
    threads : int
    log : callable
        Called with a line about the tokens left out.

    Raises
    ------
    UsageError
        A `ValueError`: a text or count is invalid, or X has words and the model knows no words.
    """
    if (bags := bags_in(x)) is not None:
        return counted_bags(bags, columns)
    texts = texts_in(x)
    tokens = tokens_in(x) if texts is None else None
    if texts is None and tokens is None:
        return None
    if vocabulary is None:
        raise UsageError(
            "X has texts, but the model knows no words; fit the model to texts, to a DataFrame "
            "with words as columns, or with vocabulary; or give X as counts with the columns of "
            "fit"
        )
    if texts is None:
        return counted_tokens(tokens or [], vocabulary, log)
    return counted(texts, vocabulary, how, threads, log)


def unknown_documents(x: Any, documents: Documents, vocabulary: Iterable[str]) -> str:
    """Return a warning about documents without any word of the model, or "" without such documents.

    Parameters
    ----------
    x : object
        Texts or lists of tokens. Other inputs get no warning, as they have counts of known words.
    documents : Documents
        Counts of the words that the model knows.
    vocabulary : iterable of str
        Words of the model.
    """
    unknown = documents.lengths == 0
    rows = (texts_in(x) or tokens_in(x) or ()) if unknown.any() else ()
    empty = sum(1 for row, is_unknown in zip(rows, unknown, strict=False) if is_unknown and row)
    if not empty:
        return ""
    line = (
        f"{empty:,} of {plural(len(unknown), 'document')} in X have no word that the model knows, "
        "so their topic proportions are those of the prior"
    )
    words = set(vocabulary)
    for document in tokens_in(x) or ():
        for token in document:
            if token not in words and token.lower() in words:
                return f"{line}; tokens must be spelled as in fit: {token.lower()!r}, not {token!r}"
    return line


def counted_tokens(
    tokens: Sequence[Sequence[str]], words: Sequence[str], log: Log = no_log
) -> Documents:
    """Count the given words in lists of tokens; all other tokens are dropped.

    Parameters
    ----------
    tokens : sequence of sequences of str
    words : sequence of str
        Words in the order of columns.
    log : callable
        Called with a line about the tokens left out.
    """
    place = {word: number for number, word in enumerate(words)}
    rows = [
        {place[word]: often for word, often in Counter(document).items() if word in place}
        for document in tokens
    ]
    documents = _of_rows([sorted(row.items()) for row in rows])
    total = sum(map(len, tokens))
    if (n_omitted := total - documents.tokens) > 0:
        n_known = plural(len(words), "word")
        log(f"{n_omitted:,} of {plural(total, 'token')} {IGNORED}among the {n_known} of the model")
    return documents


def counted_bags(bags: Sequence[Sequence[tuple[int, int]]], columns: int | None) -> Documents:
    """Return bags of words as `Documents`; the counts of a repeated word are added.

    Parameters
    ----------
    bags : sequence of sequences of (int, int)
        For each document, pairs of a column, counted from 0, and a count.
    columns : int or None
        Number of columns V, or None for the greatest column plus 1.

    Raises
    ------
    UsageError
        A `ValueError` that names the first pair with an invalid column or count.
    """
    most = MOST_WORDS if columns is None else columns
    rows = []
    for position, bag in enumerate(bags):
        row: Counter[int] = Counter()
        for word, often in bag:
            if not (_is_whole(word) and 0 <= int(word) < most):
                raise UsageError(
                    f"X[{position}] has the pair ({word}, {often}): wanted a column from 0 to "
                    f"{most - 1}"
                )
            if not (_is_whole(often) and 0 <= int(often) < 2**31):
                raise UsageError(
                    f"X[{position}] has the pair ({word}, {often}): counts must be whole "
                    "numbers from 0 to 2147483647; weights such as tf-idf are not counts"
                )
            row[int(word)] += int(often)
        if max(row.values(), default=0) >= 2**31:
            raise UsageError(
                f"X[{position}] has a word more than 2147483647 times; split the document"
            )
        rows.append(sorted((word, often) for word, often in row.items() if often))
    return _of_rows(rows)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and bool(value == np.floor(value))


def _of_rows(rows: Sequence[Sequence[tuple[int, int]]]) -> Documents:
    """Return `Documents`, given the pairs (column, count) of each document, sorted by column."""
    ends = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    flat = np.array([pair for row in rows for pair in row], np.int64).reshape(-1, 2)
    return Documents(ends, flat[:, 0].astype(np.int32), flat[:, 1].astype(np.int32))


def counted(
    texts: Sequence[str],
    words: Sequence[str],
    how: Mapping[str, Any],
    threads: int,
    log: Log = no_log,
) -> Documents:
    """Count the given words in texts; all other words are dropped.

    Parameters
    ----------
    texts : sequence of str
    words : sequence of str
        Words in the order of columns.
    how : mapping
        Options of `CorpusOptions` that define a token, with the values used when the words were
        chosen.
    threads : int
    log : callable
        Called with a line about the tokens left out.

    Raises
    ------
    UsageError
        A `ValueError`: a text is invalid.
    """
    from pysgrld.corpus import CorpusOptions
    from pysgrld.corpus.streams import matched_documents

    options = CorpusOptions(max_line=LONGEST, **how)
    nobody = lambda _: None  # noqa: E731
    with _written(texts) as file:
        blocks = list(
            matched_documents([str(file)], options, words, threads=threads, notify=nobody, log=log)
        )
    starts = np.cumsum([0] + [len(block.indices) for block in blocks])
    ends = [block.indptr[1:] + start for block, start in zip(blocks, starts, strict=False)]
    return Documents(
        np.concatenate([np.zeros(1, np.int64), *ends]),
        np.concatenate([block.indices for block in blocks]),
        np.concatenate([block.counts for block in blocks]),
    )


def stored(texts: Sequence[str], words: Sequence[str], store: Path, threads: int) -> Corpus:
    """Store texts as a corpus with the given words, so that web pages can show the documents.

    Parameters
    ----------
    texts, words : sequence of str
    store : Path
        Folder of the corpus, which must not exist.
    threads : int

    Raises
    ------
    UsageError
        A `ValueError`: a text is invalid.
    """
    from pysgrld.corpus import CorpusOptions
    from pysgrld.corpus.open import open_corpus

    with _written(texts) as file:
        options = CorpusOptions(max_line=LONGEST)
        return open_corpus([str(file)], options, store=store, match=words, threads=threads)


@contextmanager
def _written(texts: Sequence[str]) -> Iterator[Path]:
    """Write texts to a temporary file; convert reading errors to errors that cite the row of X."""
    with tempfile.TemporaryDirectory(prefix="pysgrld-") as folder:
        path = Path(folder) / "texts.jsonl"
        with path.open("w", encoding="ascii") as file:
            file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
        try:
            yield path
        except CorpusError as error:
            # Remove from the message the advice after ";" and the dashes before options, because
            # both refer to the command line.
            problem = error.reason.split(";")[0].replace("--", "")
            if error.line is not None:
                raise UsageError(f"X[{error.line - 1}]: {problem}") from None
            advice = "; to count words by other rules, use scikit-learn's CountVectorizer"
            raise UsageError(f"X: {problem}{advice if any(texts) else ''}") from None
