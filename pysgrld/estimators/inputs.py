"""Conversion of X (a DataFrame, a dense array or a sparse matrix) to documents, without SciPy."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np
import numpy.typing as npt

from pysgrld.errors import UsageError, plural
from pysgrld.types import Array, Documents, Doubles, Int64s

#: Maximum number of words, because word ids are 32-bit integers.
MOST_WORDS = 2**31 - 1
#: Unit vectors are divided by this fraction of their greatest entry, and rounded to whole numbers.
FINE = 2.0**-30
#: Real values are divided by this fraction of the greatest value in the data, and rounded to whole
#: numbers.
RESOLUTION = 2.0**-20

# ---- matrices of counts


def as_documents(
    x: Any, words: int | None = None, who: str = "LDA", *, signed: bool = False
) -> tuple[Documents, int]:
    """Convert counts (documents by words) to `Documents`; also return the number of words V.

    Parameters
    ----------
    x : sparse matrix or array, sparse array, or array-like of shape (n, V)
        Whole numbers >= 0, of any dtype. Sparse input needs a method ``tocsr``, as SciPy's has.
    words : int, optional
        Required number of columns.
    who : str
        Class of the estimator, for messages.
    signed : bool
        True if numbers below 0 are valid, too.

    Returns
    -------
    documents : Documents
        Documents without explicit zeros, with repeated entries summed and word ids sorted.
    words : int
        V.

    Raises
    ------
    UsageError
        A `ValueError` that names the wrong entry, or the wrong and the required shape.
    """
    x = counts_in(x)
    if isinstance(x, Documents):
        words = words if words is not None else int(x.indices.max(initial=-1)) + 1
        _check_words(x.indptr, x.indices, words)
        return x, words
    if hasattr(x, "tocsr"):
        _check_shape(x.shape)
        if (kind := getattr(x, "format", "")) in ("csr", "csc", "bsr"):
            pointers, entries = np.asarray(x.indptr), min(len(x.indices), len(x.data))
            if pointers[0] != 0 or (np.diff(pointers) < 0).any() or pointers[-1] > entries:
                raise UsageError(
                    f"X.indptr does not fit a {kind} matrix with {entries} entries; build X again"
                )
        if kind == "csr":  # Word ids are checked here, before their conversion to 32 bits.
            _check_words(x.indptr, x.indices, x.shape[1])
        csr = x.tocsr(copy=True)
        csr.sum_duplicates()
        shape, indptr, indices, data = csr.shape, csr.indptr, csr.indices, np.asarray(csr.data)
    else:
        dense = _numbers(x)
        _check_shape(dense.shape)
        if dense.dtype == np.float16:  # Type float16 cannot represent 2^31, the bound of counts.
            dense = dense.astype(np.float32)
        shape = dense.shape
        if not np.isfinite(dense).all():
            raise UsageError("X contains NaN or infinity; replace these values, such as by 0")
        rows, indices = np.nonzero(dense)
        data = dense[rows, indices]
        indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=shape[0]))))
    if words is not None and shape[1] != words:
        raise UsageError(
            f"X has {shape[1]} features, but {who} is expecting {words} features as input"
        )
    if shape[1] > MOST_WORDS:
        raise UsageError(f"X has {shape[1]} features, but the maximum is {MOST_WORDS}; give fewer")
    if data.dtype.kind not in "biuf":
        raise UsageError(f"X has dtype {data.dtype}, but must have counts (whole numbers)")
    least = -(2**31) if signed else -1
    bad = np.flatnonzero(~((data > least) & (data < 2**31) & (data == np.floor(data))))
    if len(bad):
        row = int(np.searchsorted(indptr, bad[0], side="right")) - 1
        negative = "Negative values in data: " if data[bad[0]] < 0 and not signed else ""
        raise UsageError(
            f"{negative}X[{row}, {indices[bad[0]]}] is {data[bad[0]]}: counts must be whole "
            "numbers from 0 to 2147483647; weights such as tf-idf are not counts"
        )
    keep = data != 0
    entries_before = np.concatenate(([0], np.cumsum(keep)))
    starts = entries_before[indptr].astype(np.int64)
    counts = data[keep].astype(np.int32)
    return Documents(starts, indices[keep].astype(np.int32), counts), int(shape[1])


def in_units(x: Any, unit: float | None) -> tuple[Any, float]:
    """Convert non-negative real numbers to multiples of a unit, rounded up.

    Parameters
    ----------
    x : sparse matrix, sparse array or array-like of shape (n, V)
        Finite numbers >= 0.
    unit : float or None
        The unit, > 0; by default the greatest value times `RESOLUTION`.

    Returns
    -------
    multiples : sparse matrix, sparse array or array of shape (n, V), float64
        Whole numbers; a copy.
    unit : float

    Raises
    ------
    UsageError
        A `ValueError`: X has no positive value, or a value that is no finite number.
    """
    x, data = _reals(x)
    if (data < 0).any():
        raise UsageError("Negative values in data: X must be finite and not negative")
    if unit is None:
        unit = float(data.max(initial=0.0)) * RESOLUTION
        if unit == 0.0:
            raise UsageError(
                "X has no value above 0, because every document is empty; give other documents"
            )
    data[...] = np.ceil(data / unit)
    return x, unit


def in_fine_units(x: Any) -> Any:
    """Convert each row of a matrix to whole multiples of a small unit.

    A matrix of whole numbers is returned unchanged.
    The conversion changes the direction of a row by less than 1e-9.

    Parameters
    ----------
    x : sparse matrix, sparse array or array-like of shape (n, V)
        Finite numbers.

    Returns
    -------
    sparse matrix, sparse array or array of shape (n, V), float64
        Whole numbers; the result of a conversion is a copy with numbers of at most 2^30 in size.

    Raises
    ------
    UsageError
        A `ValueError`: X is not a matrix of numbers, or has NaN or infinity and numbers that are
        not whole.
    """
    values = x.tocsr().data if hasattr(x, "tocsr") else _numbers(x)
    if values.dtype.kind != "f" or (values == np.floor(values)).all():
        return x
    x, data = _reals(x)
    if hasattr(x, "tocsr"):
        rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
        most = np.zeros(x.shape[0])
        np.maximum.at(most, rows, np.abs(data))
        scale = most[rows]
    else:
        scale = np.abs(x).max(axis=1, initial=0.0, keepdims=True)
    np.divide(data, scale * FINE, out=data, where=scale > 0)
    np.rint(data, out=data)
    return x


def content_keys(documents: Documents) -> Int64s:
    """Return the random-number key of each document, (n,), a hash of its words and counts.

    The hash is below 2^63. Because of this key, the random numbers of a document do not depend on
    the document's position or on other documents.

    Parameters
    ----------
    documents : Documents
    """
    entries = documents.indices.astype(np.uint64) << np.uint64(32)
    entries |= documents.counts.astype(np.int64).astype(np.uint64) & np.uint64(0xFFFFFFFF)
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(_mixed(entries), dtype=np.uint64)))
    # Overflow of the sums does no harm, because differences modulo 2^64 remain right.
    keys = _mixed(np.diff(sums[documents.indptr])) >> np.uint64(1)
    return keys.astype(np.int64)


def counts_in(x: Any) -> Any:
    """Return the counts of an AnnData object (X or its layer "counts"); return other objects as is.

    Parameters
    ----------
    x : object
        Any value of X.
    """
    if not is_annotated(x):
        return x
    layers = getattr(x, "layers", {})
    values = getattr(x.X, "data", x.X) if hasattr(x.X, "tocsr") else np.asarray(x.X)
    if "counts" in layers and not (np.floor(values) == values).all():
        return layers["counts"]
    return x.X


def is_annotated(x: Any) -> bool:
    """Return True if `x` is an AnnData object, whose rows and columns have names.

    Parameters
    ----------
    x : object
        Any value of X.
    """
    return all(hasattr(x, name) for name in ("X", "var_names", "obs_names"))


def column_names(x: Any) -> np.ndarray | None:
    """Return the column names of a DataFrame or AnnData object, (V,) str objects, or None.

    Parameters
    ----------
    x : object
        Any value of X. Return None unless all names are text.
    """
    columns = x.var_names if is_annotated(x) else getattr(x, "columns", None)
    if columns is None:
        return None
    names = [name for name in columns if isinstance(name, str)]
    return np.array(names, dtype=object) if names and len(names) == len(columns) else None


def _reals(x: Any) -> tuple[Any, Doubles]:
    """Copy X in double precision; return the copy and its values (nonzero ones if sparse).

    Raises
    ------
    UsageError
        A `ValueError`: X is not a matrix of numbers, or has NaN or infinity.
    """
    if hasattr(x, "tocsr"):
        x = x.tocsr(copy=True).astype(np.float64)
        data = x.data
    else:
        x = data = _numbers(x).astype(np.float64)
        _check_shape(x.shape)
    if not np.isfinite(data).all():
        raise UsageError("X contains NaN or infinity; replace these values, such as by 0")
    return x, data


def _numbers(x: Any) -> Array:
    """Convert X to an array of numbers; raise an error for text or lists of different lengths."""
    _refuse_masked(x)
    try:
        numbers = np.asarray(x)
        # An array of objects results, for example, from pandas' nullable integers.
        if numbers.dtype.kind == "O":
            numbers = numbers.astype(np.float64)
        problem = f"X has dtype {numbers.dtype}"
    except (TypeError, ValueError):
        numbers, problem = np.empty(0, object), "X is not a matrix of numbers"
    if numbers.dtype.kind in "biuf":
        return numbers
    if numbers.dtype.kind == "c":
        raise UsageError("Complex data not supported: X must be real numbers")
    if isinstance(x, str):
        raise UsageError(
            "X is a single text; give a list of texts, or counts with one row for each document"
        )
    if advice := _of_wrong_kind(x) or _missing_text(x):
        raise UsageError(advice)
    if (names := column_names(x)) is not None:
        raise UsageError(
            "X is a table whose columns are not numbers; give the column of texts, such as "
            f"X[{names[-1]!r}]"
        )
    raise UsageError(
        f"{problem}; give a list of texts, or a matrix of counts (documents x words), such as "
        "that of scikit-learn's CountVectorizer"
    )


def _of_wrong_kind(x: Any) -> str | None:
    """Return a message if X is a generator, a set, a dictionary or a path."""
    if isinstance(x, Iterator):
        return "X is a generator or file, which can be read only once; give list(X)"
    if isinstance(x, Set):
        return "X is a set, whose documents have no order; give a list"
    if isinstance(x, Mapping):
        return "X is a dictionary; give a list of its documents, such as list(X.values())"
    if isinstance(x, os.PathLike):
        return "X is a path; give the texts in the file, or train with sgmc train FILE"
    return None


def _refuse_masked(x: Any) -> None:
    """Raise an error for a masked array, because a masked count is unknown rather than 0."""
    if np.ma.is_masked(x):
        masked = plural(int(np.ma.getmaskarray(x).sum()), "masked entry", "masked entries")
        raise UsageError(
            f"X is a masked array with {masked}; fill them (X.filled(0)), or leave out these "
            "documents or words"
        )


def _missing_text(x: Any) -> str | None:
    """Return a message if some but not all documents in X are texts, or lists of tokens."""
    if getattr(x, "ndim", 1) != 1 or not hasattr(x, "__iter__"):
        return None
    documents = list(x)
    if not any(isinstance(document, str) for document in documents):
        return _missing_token(documents)
    place = next((i for i, value in enumerate(documents) if not isinstance(value, str)), None)
    if place is None:
        return None
    shown = repr(documents[place])[:40]
    if isinstance(documents[place], list | tuple):
        return f"X[{place}] is {shown}, but other documents are texts; give texts or tokens for all"
    fill = ", as X.fillna('') does" if hasattr(x, "fillna") else ""
    return f"X[{place}] is {shown}, which is not a text; leave it out, or give ''{fill}"


def _missing_token(documents: Sequence[Any]) -> str | None:
    """Return a message if documents are lists of tokens, but a value is not a token."""
    lists = [document for document in documents if isinstance(document, list | tuple)]
    if not any(isinstance(token, str) for tokens in lists for token in tokens):
        return None
    for i, tokens in enumerate(documents):
        if not isinstance(tokens, list | tuple):
            return f"X[{i}] is {repr(tokens)[:40]}, which is not a list of tokens; give [] instead"
        for j, token in enumerate(tokens):
            if not isinstance(token, str):
                return f"X[{i}][{j}] is {repr(token)[:40]}, which is not a token; leave it out"
    return None


def _check_shape(shape: Sequence[int]) -> None:
    """Raise an error with scikit-learn's text unless a shape is (n, V) with n and V at least 1."""
    if tuple(shape) == (0,):
        raise UsageError("X has no documents; give at least one")
    if len(shape) != 2:
        dimensions = plural(len(shape), "dimension")
        raise UsageError(
            f"X has {dimensions}, but must have 2: documents x words. Reshape your data."
        )
    for size, sklearn_noun, noun in zip(
        shape, ("sample", "feature"), ("document", "word"), strict=True
    ):
        if size == 0:
            raise UsageError(
                f"X has 0 {sklearn_noun}(s) (shape={tuple(shape)}) while a minimum of 1 is "
                f"required: give at least one {noun}"
            )


def _check_words(indptr: Array, indices: Array, words: int) -> None:
    """Raise an error if a word id does not belong to any column."""
    bad = np.flatnonzero((indices < 0) | (indices >= words))
    if len(bad):
        row = int(np.searchsorted(indptr, bad[0], side="right")) - 1
        raise UsageError(
            f"X[{row}] has a count of word {indices[bad[0]]}, but words are numbered from 0 to "
            f"{words - 1}; correct the column indices of X"
        )


def _mixed(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Apply the finaliser of SplitMix64, a bijection that mixes the bits of 64-bit numbers."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = x ^ (x >> np.uint64(31))
    return mixed
