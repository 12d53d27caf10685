"""Names of the files in a run directory, checks of output files, and a run's stored word counts."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import tokenize
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.errors import CheckpointError, MissingInputError, OutputError
from pysgrld.options.paths import (
    Kind,
    Refusal,
    is_file,
    is_folder,
    path_exists,
    path_kind,
    resolve_path,
)
from pysgrld.run.files import convert_write_errors, read_small, replace_file
from pysgrld.run.output_files import regular_target
from pysgrld.run.ownership import LIST, FileList, claim_files, expect_free
from pysgrld.types import WordTotals

CONFIG, VOCABULARY, STATUS, LOCK = "config.json", "vocab.txt", "status.json", "lock"
METRICS, LOG = "metrics.jsonl", "log.jsonl"
CHECKPOINTS, SAMPLES, SHORT_CHAINS = "checkpoints", "samples", "short-chains"

#: Version of the layout of run directories, recorded as ``schema`` in ``config.json``.
SCHEMA = 2


class TakenError(OutputError):
    """Error raised if another process has just created a run at a path that was free."""


def is_run(path: Path, refusal: Refusal = MissingInputError) -> bool:
    """Return True if a folder has a run, even a damaged run.

    Parameters
    ----------
    path : Path
    refusal : Refusal, optional
        As for `path_kind`.

    Returns
    -------
    bool
        True for a folder with a ``config.json``.
    """
    return path_kind(path / CONFIG, refusal) not in (None, Kind.FOLDER)


# ---- output files outside of runs, named by the user

#: Names of the files and folders of a run, of a stored corpus and of a search.
_OF_RUN = frozenset(
    {CONFIG, VOCABULARY, STATUS, LOCK, METRICS, LOG, CHECKPOINTS, SAMPLES, SHORT_CHAINS}
    | {f"{LOCK}.held", "word-counts.npy", "corpus", "holdout"}
)
_OF_CORPUS = frozenset({"meta.json", "vocab.txt", "word-counts.npy", "documents.npz", "texts.npz"})
_OF_CORPUS |= {"inputs.jsonl"} | {f"{name}.npy" for name in ("indptr", "indices", "counts")}
_OF_SEARCH = frozenset({"search.json", "rounds.jsonl", LOCK, f"{LOCK}.held", "corpus"})


class StopReason(StrEnum):
    """Reason why a training process ended, stored as ``stop`` in ``status.json`` and in the log."""

    #: The held-out score no longer improves when the sampling time doubles.
    CONVERGED = "converged"
    #: The requested iterations or epochs were done.
    BUDGET = "budget"
    #: Half of the time limit was used. The other half is for the Gibbs sampler that refines the
    #: result.
    HALF_OF_LIMIT = "half-of-time-limit"
    #: The stream of documents ended.
    END_OF_STREAM = "end-of-stream"
    #: An earlier start did all the work.
    NOTHING_TO_DO = "nothing-to-do"
    #: A signal, the time limit or another rank stopped this start.
    STOPPED = "stopped"


def refuse_part(path: Path) -> None:
    """Raise an error if a path is a file of a run, of a search or of a stored corpus.

    Raises
    ------
    OutputError
    """
    whole = resolve_path(path, OutputError)
    for folder, part in zip(whole.parents, reversed(whole.parts), strict=False):
        # A folder counts as a run or a stored corpus only if it has a second file of sgmc. Other
        # programs may write config.json or meta.json, too.
        if part in _OF_RUN and is_run(folder, None) and is_file(folder / LOG, None):
            raise OutputError(f"{path}: belongs to the run {folder}; choose another file")
        for kind, names, marks in (
            ("stored corpus", _OF_CORPUS, ("meta.json", "indptr.npy")),
            ("search", _OF_SEARCH, ("search.json", LOCK)),
        ):
            if part in names and all(is_file(folder / mark, None) for mark in marks):
                raise OutputError(f"{path}: belongs to the {kind} {folder}; choose another file")


def claim_outputs(folder: Path, names: Iterable[str], *, force: bool) -> FileList:
    """Check that files may be written, and belong to no run, search or stored corpus.

    Parameters
    ----------
    folder : Path
    names : iterable of str
    force : bool

    Returns
    -------
    FileList
        The list, to which each file is added when it is written.

    Raises
    ------
    OutputError
        If a file is part of a run, a search or a stored corpus, or as for `claim_files`.
    """
    names = list(names)
    for name in (*names, LIST):
        refuse_part(folder / name)
    return claim_files(folder, names, force=force)


def check_outputs(paths: Iterable[Path], *, force: bool, inputs: Iterable[str] = ()) -> None:
    """Raise an error for output files that sgmc must not write, such as inputs of the command.

    `pysgrld.run.ownership` describes the files that sgmc may replace.

    Parameters
    ----------
    paths : iterable of Path
        The files that will be written, as the user named them.
    force : bool
        True to replace existing files.
    inputs : iterable of str
        Files and folders that the same command reads.

    Raises
    ------
    OutputError
        If a file exists and `force` is not set; if a path is a folder, a device, an input, inside
        an input folder, or part of a run, a search or a stored corpus; or if two paths are the
        same.
    """
    read = [path for path in map(Path, inputs) if path_exists(path)]
    folders = [resolve_path(path) for path in read if is_folder(path)]
    targets: set[Path] = set()
    for path in paths:
        if is_folder(path, OutputError):
            raise OutputError(f"{path}: is a folder; give the name of a file")
        if path_exists(path, OutputError) and any(path.samefile(other) for other in read):
            raise OutputError(f"{path}: is an input of this command; choose another file")
        whole = resolve_path(regular_target(path), OutputError)
        if path_exists(path, OutputError) and any(whole.is_relative_to(other) for other in folders):
            raise OutputError(f"{path}: is in the input folder; choose a file outside it")
        if whole in targets:
            raise OutputError(f"{path}: is given for two outputs; choose another file for one")
        targets.add(whole)
        refuse_part(path)
        if not force and os.path.lexists(path):
            raise OutputError(f"{path}: is there already; --force replaces it")
        expect_free(whole)


# ---- counts of each word in the training documents

WORD_COUNTS = "word-counts.npy"
#: Maximum size of the header of a ``.npy`` file in bytes.
_HEADER = 1 << 10


def digest_of_counts(counts: WordTotals) -> str:
    """Return the SHA-256 (hex) of word counts, which does not depend on a file format.

    Parameters
    ----------
    counts : WordTotals

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    digest = hashlib.sha256()
    for row in counts:  # Hash row by row to save memory. A row has 8 bytes per word.
        digest.update(np.ascontiguousarray(row, "<i8").data)
    return digest.hexdigest()


def store_word_counts(run: Path, counts: WordTotals) -> None:
    """Store word counts in a run's folder, unless the run already has the same counts.

    Parameters
    ----------
    run : Path
    counts : WordTotals
        Counts of the words in the training documents.

    Raises
    ------
    WriteError
        If they cannot be written.
    """
    place = run / WORD_COUNTS
    with contextlib.suppress(OSError, ValueError, EOFError):
        if np.array_equal(_load(place, len(counts.occurrences)), counts):
            return
    data = io.BytesIO()
    np.save(data, np.stack(counts), allow_pickle=False)
    with convert_write_errors(place):
        replace_file(place, [data.getvalue()], "word-counts")


def read_word_counts(run: Path, config: Mapping[str, Any], words: int) -> WordTotals | None:
    """Read a run's word counts; return None if the run recorded none.

    Parameters
    ----------
    run : Path
    config : mapping
        Content of ``config.json``.
    words : int
        Number of words in the vocabulary.

    Returns
    -------
    WordTotals or None
        Counts of the words in the training documents.

    Raises
    ------
    MissingInputError
        If they were recorded and cannot be read.
    CheckpointError
        If they were changed after they were recorded.
    """
    place, recorded = run / WORD_COUNTS, config.get("corpus", {}).get("word_counts")
    again = f"'sgmc train --resume {run}' restores the file"
    try:
        counts = _load(place, words)
    except OSError as error:
        if recorded is None:
            return None
        if error.errno == errno.EINVAL:
            raise CheckpointError(f"{place}: is not a regular file; {again}") from None
        raise MissingInputError(f"{place}: cannot be read: {error.strerror}; {again}") from None
    except (ValueError, EOFError):
        counts = None
    if recorded is not None and (counts is None or digest_of_counts(counts) != recorded):
        raise CheckpointError(f"{place}: was changed since the run began; {again}")
    return counts


def _load(place: Path, words: int) -> WordTotals:
    """Read word counts from a file of two rows of integers, with one column per word."""
    data = io.BytesIO(read_small(place, _HEADER + 16 * words))
    try:
        counts = np.load(data, allow_pickle=False)
    # NumPy parses the header as Python code, so an invalid header raises errors of Python syntax.
    except (tokenize.TokenError, SyntaxError):
        raise ValueError("the header of the file is not a NumPy header") from None
    if not isinstance(counts, np.ndarray) or counts.dtype != np.int64 or counts.shape != (2, words):
        raise ValueError("the file does not contain the counts of the run's words")
    return WordTotals(*counts)
