"""Reader for single-cell counts in HDF5 files of AnnData (.h5ad) or 10x Genomics (.h5).

Cells are documents and genes are words. The optional library h5py reads the matrix part by part, so
that memory is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from pysgrld.corpus.formats.counts import (
    LARGEST,
    Entries,
    Grouping,
    find_words,
    in_order,
    not_transposed,
)
from pysgrld.corpus.formats.protocol import Context, CountedDocuments
from pysgrld.corpus.lines import Lines
from pysgrld.corpus.word_lists import distinct
from pysgrld.errors import CorpusError, MissingInputError, plural
from pysgrld.options.paths import is_file

#: Number of matrix entries that are read at a time.
PORTION = 2**18


class _Matrix(NamedTuple):
    """The count matrix in a file, with the names of genes and cells.

    Attributes
    ----------
    name : str
        Path of the matrix in the file.
    data : h5py.Group or h5py.Dataset
        Group with compressed rows or columns, or dataset of a dense matrix.
    by_rows : bool
        Whether rows are compressed, not columns.
    documents, words : int
    names, ids : list of str
        Names of the words, and ids of the documents.
    """

    name: str
    data: Any
    by_rows: bool
    documents: int
    words: int
    names: list[str]
    ids: list[str]


def read(source: Lines, context: Context) -> CountedDocuments:
    """Find the count matrix in an HDF5 file; return its cells as documents, with genes as words."""
    not_transposed(context, source)
    if source.path is None or not is_file(source.path):
        raise CorpusError("HDF5 cannot be read from a pipe; give the file's name", source.label)
    try:
        h5py = import_module("h5py")
    except ImportError:
        raise MissingInputError(
            f"{source.label}: reading HDF5 needs h5py: pip install h5py"
        ) from None
    try:
        file = source.enter_context(h5py.File(source.path, "r"))
        matrix = _matrix(file, source.label)
    except CorpusError:
        raise
    except Exception as error:  # The library may raise any error for a damaged file.
        raise _damaged(error, source.label) from None
    if context.options.vocab is not None:
        vocabulary, origin = find_words(source, context, matrix.words, matrix.documents)
    else:
        vocabulary, origin = tuple(distinct(matrix.names)), source.name
    context.log(
        f"{source.label}: {plural(matrix.documents, 'cell')} as documents, "
        f"{plural(matrix.words, 'gene')} as words, counts from {matrix.name}"
    )
    entries = _entries(matrix, source.label)
    if not matrix.by_rows:
        entries = in_order(entries, context.scratch)
    grouping = Grouping(
        source.label, context, matrix.documents, matrix.words, sure=True, add_up=True
    )
    return CountedDocuments(vocabulary, origin, grouping.blocks(entries), True, matrix.ids)


def _damaged(error: Exception, label: str) -> CorpusError:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return CorpusError(
        f"this is not an AnnData or 10x file, or it is damaged ({reason[:100]}); write it again",
        label,
    )


def _matrix(file: Any, label: str) -> _Matrix:
    """Find the count matrix in a file.

    In AnnData, X, the layer "counts" and raw are tried in this order; the first matrix that begins
    with whole numbers is used. A file of 10x has only one matrix.

    Raises
    ------
    CorpusError
        If the file has no matrix of counts.
    """
    if "matrix" in file and "barcodes" in file["matrix"]:
        group = file["matrix"]
        words, documents = map(int, group["shape"][:])
        genes = group["features/name"] if "features" in group else group["gene_names"]
        ids = _strings(group["barcodes"])
        return _Matrix("matrix", group, True, documents, words, _strings(genes), ids)
    if not {"X", "obs", "var"} <= set(file):
        raise CorpusError(
            "this HDF5 file is neither AnnData (.h5ad) nor a 10x matrix (.h5); save the counts "
            "with scipy.sparse.save_npz",
            label,
        )
    ids = _index(file["obs"])
    places = (("X", "var"), ("layers/counts", "var"), ("raw/X", "raw/var"))
    present = [(name, var) for name, var in places if name in file]
    for name, var in present:
        data = file[name]
        values = data["data"] if hasattr(data, "keys") else data
        if not _whole(values[: min(len(values), PORTION // _width(values))]):
            continue
        names = _index(file[var])
        form = data.attrs.get("encoding-type", "csr_matrix")
        form = form.decode() if isinstance(form, bytes) else str(form)
        return _Matrix(name, data, not form.startswith("csc"), len(ids), len(names), names, ids)
    raise CorpusError(
        f"{' and '.join(name for name, _ in present)} contain no counts (whole numbers of at least 0); "
        'save the counts as the layer "counts"',
        label,
    )


def _width(values: Any) -> int:
    return max(1, int(np.prod(values.shape[1:])))


def _whole(values: Any) -> bool:
    array = np.asarray(values)
    return bool(array.dtype.kind in "biuf" and ((array >= 0) & (array == np.floor(array))).all())


def _index(group: Any) -> list[str]:
    """Return the row names of a table in an AnnData file."""
    name = group.attrs.get("_index", "_index")
    return _strings(group[name.decode() if isinstance(name, bytes) else name])


def _strings(dataset: Any) -> list[str]:
    return [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in dataset[:]]


def _entries(matrix: _Matrix, label: str) -> Iterator[Entries]:
    """Yield the entries of a matrix in the order in which the file stores them.

    Raises
    ------
    CorpusError
        If a value is not a count, or the file is damaged.
    """
    try:
        pieces = _compressed(matrix) if hasattr(matrix.data, "keys") else _dense(matrix)
        for rows, columns, values in pieces:
            bad = ~((values >= 0) & (values <= LARGEST) & (values == np.floor(values)))
            if bad.any():
                i = int(np.argmax(bad))
                raise CorpusError(
                    f"{matrix.name}[{rows[i]}, {columns[i]}] is {values[i]}, which is not a "
                    "count; save whole numbers of at least 0",
                    label,
                )
            if len(columns) and not 0 <= columns.min() <= columns.max() < matrix.words:
                raise CorpusError(
                    "an entry refers to a gene that the file does not have; the file is damaged",
                    label,
                )
            yield Entries(
                rows.astype(np.int64) + 1, columns.astype(np.int32), values.astype(np.int32), None
            )
    except CorpusError:
        raise
    except Exception as error:
        raise _damaged(error, label) from None


def _compressed(matrix: _Matrix) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the rows, columns and values of a sparse matrix with compressed rows or columns."""
    indptr = matrix.data["indptr"][:].astype(np.int64)
    indices, data = matrix.data["indices"], matrix.data["data"]
    major = matrix.documents if matrix.by_rows else matrix.words
    if len(indptr) != major + 1 or (np.diff(indptr) < 0).any() or indptr[-1] != len(indices):
        raise ValueError("the arrays indptr and indices do not match")
    for start in range(0, len(indices), PORTION):
        end = min(start + PORTION, len(indices))
        first = np.searchsorted(indptr, np.arange(start, end), side="right") - 1
        second, values = indices[start:end], data[start:end]
        rows, columns = (first, second) if matrix.by_rows else (second, first)
        if len(rows) and not 0 <= rows.min() <= rows.max() < matrix.documents:
            raise ValueError("an entry refers to a cell that the file does not have")
        yield rows, columns, values


def _dense(matrix: _Matrix) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the rows, columns and values of the nonzero entries of a dense matrix."""
    step = max(1, PORTION // max(1, matrix.words))
    for start in range(0, matrix.documents, step):
        block = np.asarray(matrix.data[start : start + step])
        rows, columns = np.nonzero(block)
        yield rows + start, columns, block[rows, columns]
