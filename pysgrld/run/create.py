"""Making a run directory, and reading back what never changes in it."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.errors import (
    CheckpointError,
    CorpusError,
    GoneError,
    MissingInputError,
    OutputError,
    SgmcError,
)
from pysgrld.run import jsonio
from pysgrld.run.files import (
    digest_of,
    fail_point,
    fsync_folder,
    make_folder,
    read_small,
    rename,
    replace_file,
    write_new,
    writing,
)
from pysgrld.run.lock import Lock, scratch_folder
from pysgrld.types import Int64s

CONFIG, VOCABULARY, STATUS, LOCK = "config.json", "vocab.txt", "status.json", "lock"
METRICS, LOG = "metrics.jsonl", "log.jsonl"
CHECKPOINTS, SAMPLES = "checkpoints", "samples"

#: The layout of run directories that this release writes and reads: ``schema`` in ``config.json``.
SCHEMA = 2


class TakenError(OutputError):
    """Another process has made a run under a name that was free a moment ago."""


#: A vocabulary beyond this is not what was written.
MAX_VOCABULARY = 1 << 30


def is_run(path: Path) -> bool:
    """Return whether a folder holds a run."""
    return (path / CONFIG).is_file()


def config_bytes(config: Mapping[str, Any]) -> bytes:
    """Return the bytes of ``config.json``."""
    return jsonio.pretty(jsonio.plain(dict(config), where="config"))


def _vocabulary_bytes(vocabulary: Sequence[str]) -> bytes:
    for number, word in enumerate(vocabulary, 1):
        if "\n" in word:
            raise CorpusError(f"word {number} holds a line end; a word is one line of text")
    try:
        return "".join(f"{word}\n" for word in vocabulary).encode("utf-8")
    except UnicodeEncodeError as error:
        raise CorpusError(f"a word cannot be written as UTF-8: {error.reason}") from None


def make(
    path: Path, config: Mapping[str, Any], vocabulary: Sequence[str]
) -> tuple[Path, dict[str, Any], Lock]:
    """Make a run directory, whole or not at all; return its path, its configuration and its lock.

    It is locked before it has its name: nobody can come between.

    Raises
    ------
    TakenError
        If another process has made one there meanwhile.
    OutputError
        If it cannot be made.
    CorpusError
        If a word cannot be a line of text.
    """
    text = _vocabulary_bytes(vocabulary)
    record: dict[str, Any] = jsonio.plain(dict(config), where="config")
    record |= {"schema": SCHEMA}
    record.setdefault("free", [])
    record["vocabulary"] = {"words": len(vocabulary), "sha256": hashlib.sha256(text).hexdigest()}
    # A rename would replace a symbolic link; the folder behind it is meant.
    path = path.resolve() if path.is_symlink() else path
    lock = None
    try:
        make_folder(path.parent, "create")
        with scratch_folder(path.parent) as scratch:
            temporary = scratch / path.name
            fail_point("create.mkdir")
            temporary.mkdir()
            lock = Lock(temporary / LOCK)
            for folder in (CHECKPOINTS, SAMPLES):
                (temporary / folder).mkdir()
            for name, data in (
                (VOCABULARY, text),
                (METRICS, b""),
                (LOG, b""),
                (CONFIG, config_bytes(record)),
            ):
                write_new(temporary / name, [data], "create")
            fsync_folder(temporary, "create")
            rename(temporary, path, "create")
            lock.moved(path / LOCK)
            return path, record, lock
    except BaseException as error:
        if lock is not None:
            lock.moved(path / LOCK)
            with contextlib.suppress(GoneError):  # it has its name, not durably
                lock.check()
                shutil.rmtree(path, ignore_errors=True)
            lock.release()
        if not isinstance(error, OSError) or isinstance(error, SgmcError):
            raise
        reason = error.strerror or str(error)
        taken = error.errno == errno.ENOTEMPTY or (error.errno == errno.EEXIST and path.is_dir())
        raise (TakenError if taken else OutputError)(
            f"{path}: cannot be created: {reason}; name another folder"
        ) from error


def read_config(path: Path) -> dict[str, Any]:
    """Read the configuration of the run in a folder.

    Raises
    ------
    MissingInputError
        If there is no run, or ``config.json`` cannot be read.
    CheckpointError
        If it is damaged.
    """
    file = path / CONFIG
    try:
        config = jsonio.parse(read_small(file))
        if not isinstance(config, dict) or not all(
            isinstance(config.get(name, {}), dict)
            for name in ("options", "corpus", "vocabulary", "command")
        ):
            raise ValueError("not a table of options")
    except (FileNotFoundError, NotADirectoryError):
        raise MissingInputError(f"{path}: is not a run (it has no {CONFIG})") from None
    except OSError as error:
        raise MissingInputError(f"{file}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise CheckpointError(f"{file}: is damaged: {error}; restore it") from None
    if (schema := config.get("schema")) != SCHEMA:
        by = (config.get("versions") or {}).get("pysgrld", "another release")
        raise CheckpointError(
            f"{file}: a run of format {schema!r}, written by sgmc {by}, but this sgmc reads format "
            f"{SCHEMA}: use the sgmc that wrote it, or train anew in another folder"
        )
    return config


def read_vocabulary(path: Path, config: Mapping[str, Any]) -> tuple[str, ...]:
    """Read the words of a run; the n-th is column n of matrices over words.

    Raises
    ------
    MissingInputError
        If ``vocab.txt`` cannot be read.
    CheckpointError
        If it is not what was written.
    """
    # Hashed first: what is as large as this file says to be need not fit into memory.
    check_vocabulary(path, config)
    file = path / VOCABULARY
    try:
        data = read_small(file, MAX_VOCABULARY)
    except OSError as error:
        raise MissingInputError(f"{file}: cannot be read: {error.strerror}") from error
    return tuple(data.decode("utf-8").split("\n")[:-1])


def check_vocabulary(path: Path, config: Mapping[str, Any]) -> None:
    """Refuse a run whose words are not what was written.

    Raises
    ------
    MissingInputError
        If ``vocab.txt`` cannot be read.
    CheckpointError
        If it was changed.
    """
    file = path / VOCABULARY
    try:
        changed = file.lstat().st_size > MAX_VOCABULARY
        expected = (config.get("vocabulary") or {}).get("sha256")
        if changed or expected not in (None, digest_of(file).sha256):
            raise CheckpointError(f"{file}: was changed since the run began; restore it")
    except OSError as error:
        raise MissingInputError(f"{file}: cannot be read: {error.strerror}; restore it") from error


# ---- how often each word occurs in the training documents: for the unigram model

WORD_COUNTS = "word-counts.npy"
#: Bytes of a header of NumPy's, at most.
_HEADER = 1 << 10


def digest_of_counts(counts: Int64s) -> str:
    """Return the SHA-256 (hex) of counts, whatever file they are in.

    Parameters
    ----------
    counts : (V,) int64
    """
    return hashlib.sha256(counts.astype("<i8").tobytes()).hexdigest()


def store_word_counts(run: Path, counts: Int64s) -> None:
    """Store the counts in the folder of a run, unless they are there.

    Raises
    ------
    WriteError
        If they cannot be written.
    """
    place = run / WORD_COUNTS
    with contextlib.suppress(OSError, ValueError, EOFError):
        if np.array_equal(_load(place, len(counts)), counts):
            return
    data = io.BytesIO()
    np.save(data, counts, allow_pickle=False)
    with writing(place):
        replace_file(place, [data.getvalue()], "word-counts")


def read_word_counts(run: Path, config: Mapping[str, Any], words: int) -> Int64s | None:
    """Read the counts of a run; None of one that has no record of them, and not the file either.

    Parameters
    ----------
    run : Path
    config : mapping
        As ``config.json`` has it.
    words : int
        V.

    Raises
    ------
    MissingInputError
        If they were recorded and cannot be read.
    CheckpointError
        If they are not what was recorded.
    """
    place, recorded = run / WORD_COUNTS, config.get("corpus", {}).get("word_counts")
    again = f"'sgmc train --resume {run}' writes it again"
    try:
        counts = _load(place, words)
    except OSError as error:
        if recorded is None:
            return None
        raise MissingInputError(f"{place}: cannot be read: {error.strerror}; {again}") from None
    except (ValueError, EOFError):
        counts = None
    if recorded is not None and (counts is None or digest_of_counts(counts) != recorded):
        raise CheckpointError(f"{place}: was changed since the run began; {again}")
    return counts


def _load(place: Path, words: int) -> Int64s:
    """Read a vector of whole numbers, one a word."""
    found = np.load(io.BytesIO(read_small(place, _HEADER + 8 * words)), allow_pickle=False)
    if not isinstance(found, np.ndarray) or found.dtype != np.int64 or found.shape != (words,):
        raise ValueError("not the counts of these words")
    return found
