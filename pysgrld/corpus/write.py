"""Writing of a stored corpus in a temporary folder, which is renamed when it is complete."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import itertools
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.corpus._sparse import renumber as _renumber
from pysgrld.corpus.store import count, cut
from pysgrld.corpus.stored_files import (
    ARRAYS,
    FORMAT,
    PACKED,
    PARTS,
    VERSION,
    WORD_COUNTS,
    fingerprint_of,
    store_files,
)
from pysgrld.corpus.vectors import GrowingFile, add_member, new_archive, stamp_of
from pysgrld.errors import Interrupted, LockedError, OutputError, SgmcError, WriteError
from pysgrld.run import jsonio
from pysgrld.run.files import (
    flock,
    fsync_folder,
    read_small,
    refuse_full_folder,
    rename,
    replace_file,
    sync,
    temporary_name,
    write_advice,
    write_new,
)
from pysgrld.run.lock import is_same
from pysgrld.types import Documents, Int32s, Int64s

_NOTE, _WORDS = "progress.json", "words.txt"

#: Maximum size in bytes of the progress record, which lists all files of input folders.
_LONGEST_NOTE = 2**30

#: Name of the folder in which ids, titles, columns and texts of documents are collected.
ABOUT = "about"
#: Name of the empty file that marks a work folder of sgmc. A folder without this file is never
#: changed.
MARKER = ".sgmc-work"

#: Advice at the end of the error message if the output path exists already.
ELSEWHERE = "remove it, or choose another name"


class Writer:
    """Writer that appends documents to the arrays of a corpus, and finally completes the corpus.

    Parameters
    ----------
    folder : Path
    record : dict, optional
        State that `flush` returned, to continue from; without it the folder is created.
    """

    def __init__(self, folder: Path, record: dict[str, Any] | None = None) -> None:
        sizes: dict[str, int] = {} if record is None else record["sizes"]
        if record is None:
            folder.mkdir(parents=True)
        self.folder = folder
        self.files = {
            name: GrowingFile(folder / f"{name}.npy", dtype, sizes.get(name), npy=True)
            for name, dtype in ARRAYS.items()
        }
        if record is None:
            self.files["indptr"].append([0])
        self.documents = self.files["indptr"].size - 1
        self.nnz = self.files["indices"].size
        self.tokens: int = record["tokens"] if record else 0

    def append(self, block: Documents) -> None:
        """Append a block of documents to the arrays."""
        self.files["indptr"].append(block.indptr[1:] + self.nnz)
        self.files["indices"].append(block.indices)
        self.files["counts"].append(block.counts)
        self.documents += len(block)
        self.nnz += len(block.indices)
        self.tokens += block.tokens

    def flush(self) -> dict[str, Any]:
        """Force all data to disk; return a state with which another writer can continue."""
        return {"tokens": self.tokens, "sizes": {n: f.flush() for n, f in self.files.items()}}

    def blocks(self) -> Iterator[Documents]:
        """Yield blocks of all documents that were written so far."""
        return cut({name: file.vector() for name, file in self.files.items()})

    def finish_corpus(
        self,
        vocabulary: Sequence[str],
        provenance: dict[str, Any],
        parts: dict[str, Any] | None = None,
        *,
        above: Path | None = None,
    ) -> None:
        """Complete the array files; write the vocabulary, the word counts and ``meta.json``.

        Parameters
        ----------
        vocabulary : sequence of str
        provenance : dict
        parts : dict, optional
            Digests and stamps of other files that belong to the corpus.
        above : Path, optional
            Vocabulary file in a parent folder, if that file has the same words. The arrays are then
            packed into one archive, and the folder contains only the archive and ``meta.json``.
        """

        def put(name: str, data: bytes) -> None:
            path = self.folder / name
            # A killed process may have left this file.
            path.unlink(missing_ok=True)
            write_new(path, [data], "store")

        totals = count(self.blocks(), len(vocabulary))
        digests = [file.finish() for file in self.files.values()]
        words = "".join(f"{word}\n" for word in vocabulary).encode()
        digests.append(hashlib.sha256(words).hexdigest())
        if above is None:
            data, counted = io.BytesIO(), np.stack(totals.words).astype("<i8")
            np.save(data, counted.ravel(), allow_pickle=False)
            put(WORD_COUNTS, data.getvalue())
            put("vocab.txt", words)
            places = [self.folder / name for name in PARTS[:-1]]
        else:
            with new_archive(self.folder / PACKED) as archive:
                for name, file in self.files.items():
                    blocks = file.vector().blocks()
                    add_member(archive, f"{name}.npy", blocks, file.dtype.str, file.size)
                    file.path.unlink()
            places = [*(self.folder / PACKED for _ in self.files), above]
        files = {
            name: {"sha256": part_digest, "stamp": stamp_of(place.stat())}
            for name, place, part_digest in zip(PARTS[:-1], places, digests, strict=True)
        }
        provenance, parts = store_files(self.folder, provenance, parts or {})
        meta = {
            "format": FORMAT,
            "version": VERSION,
            "documents": self.documents,
            "words": len(vocabulary),
            "tokens": self.tokens,
            "nnz": self.nnz,
            "fingerprint": fingerprint_of(digests),
            "files": files,
            "parts": parts,
            "provenance": provenance,
        }
        if above is None:
            digest = hashlib.sha256(counted.tobytes()).hexdigest()
            meta["totals"] = totals._asdict() | {"words": digest}
        put("meta.json", jsonio.format_sealed(meta))


class WorkFolder:
    """Temporary folder in which a corpus is built, next to the corpus's final path.

    For a corpus ``NAME`` the folder is ``.NAME.tmp``. It is locked, so that only one process at a
    time builds the corpus. The empty file `MARKER` in the folder shows that sgmc made it; a folder
    without `MARKER`, or a link, is left unchanged and refused. Work that cannot be resumed (no
    `identity`) gets a separate folder within ``.NAME.tmp``, next to the files that an interrupted
    reading may have left.

    The files are removed on any error. If `identity` is given, they stay when the reading is
    interrupted or its process is killed. A reading with the same identity then resumes from the
    last `note`; a reading with another identity replaces the files.

    Parameters
    ----------
    store : Path
        Path of the finished corpus.
    identity : dict, optional
        Plain values that describe the inputs and options. An interrupted reading can be resumed if
        they are equal.

    Attributes
    ----------
    folder : Path
        Folder to work in.
    record : dict or None
        The last record that `note` wrote, or None if a reading starts.
    """

    def __init__(self, store: Path, identity: dict[str, Any] | None = None) -> None:
        self.store, self.identity = store, identity
        self.place = store.with_name(f".{store.name}.tmp")
        self.folder = self.place
        if identity is None:
            self.folder = self.place / temporary_name("work")
        self.record: dict[str, Any] | None = None

    def note(self, words: Sequence[str], record: dict[str, Any]) -> None:
        """Record on disk how far the inputs were read.

        ``words`` are the words that were added to the vocabulary since the last call.
        """
        if self.identity is None:
            return
        with (self.folder / _WORDS).open("ab") as file:
            if self.record is None:
                file.truncate(0)
            # An interrupted call may have written words that were not recorded.
            elif file.tell() != self.record["bytes"]:
                file.truncate(self.record["bytes"])
            file.write("".join(f"{word}\n" for word in words).encode())
            file.flush()
            sync(file.fileno())
            self.record = record | {"bytes": file.tell()}
        note = json.dumps({"identity": self.identity, "record": self.record}).encode()
        replace_file(self.folder / _NOTE, [note], "store")

    def words(self, number: int) -> list[str]:
        """Return the first ``number`` words of the stored vocabulary."""
        with (self.folder / _WORDS).open(encoding="utf-8", newline="\n") as file:
            return [line.removesuffix("\n") for line in itertools.islice(file, number)]

    def writer(self, name: str, record: dict[str, Any] | None = None) -> Writer:
        """Return a writer of arrays, which continues from a result of `Writer.flush` if given."""
        if record is None and (self.folder / name).exists():
            # An interrupted second pass over the documents has left this folder.
            shutil.rmtree(self.folder / name)
        return Writer(self.folder / name, record)

    def commit(self, folder: Path) -> None:
        """Force a finished corpus to disk, and move it to its final path."""
        refuse_full_folder(self.store, ELSEWHERE)
        fsync_folder(folder, "store")
        rename(folder, self.store, "store")


@contextlib.contextmanager
def work_folder(store: Path, identity: dict[str, Any] | None = None) -> Iterator[WorkFolder]:
    """Create and lock the temporary folder in which a corpus is built; remove it at the end.

    Raises
    ------
    OutputError
        If ``store`` exists already, or cannot be created.
    LockedError
        If another process is writing the corpus.
    WriteError
        If a system call in the ``with`` block fails.
    """
    refuse_full_folder(store, ELSEWHERE)
    # If the path is a link, it stands for the empty folder that the link refers to.
    store = store.resolve() if store.is_symlink() else store
    work = WorkFolder(store, identity)
    place, note = work.place, work.place / _NOTE
    lock: int | None = None
    begun = stays = False
    try:
        try:
            store.parent.mkdir(parents=True, exist_ok=True)
            lock = _hold(place)
            # Resume from the record of an earlier reading with the same inputs and options
            # (`identity`).
            if identity is not None:
                with contextlib.suppress(OSError, ValueError):
                    noted = jsonio.parse(read_small(note, _LONGEST_NOTE))
                    if isinstance(noted, dict) and noted.get("identity") == identity:
                        work.record = noted["record"]
            keep = {MARKER, _NOTE, _WORDS, ABOUT, "read", "corpus"}
            if work.record is None and (identity is not None or not note.is_file()):
                keep = {MARKER}  # Without a progress record, the other files cannot be used.
            for leftover in place.iterdir():  # Remove files of killed processes.
                if leftover.name not in keep:
                    shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
            work.folder.mkdir(exist_ok=True)
        except BlockingIOError:
            raise LockedError(
                f"{store}: another process is writing this corpus; wait until it ends"
            ) from None
        except OSError as error:
            if isinstance(error, SgmcError):
                raise
            raise OutputError(
                f"{store}: cannot be created: {error.strerror}; choose another folder"
            ) from None
        begun = True
        try:
            yield work
        except (Interrupted, KeyboardInterrupt):
            stays = work.record is not None
            raise
        except OSError as error:
            if isinstance(error, SgmcError):
                raise
            reason = error.strerror or str(error)
            raise WriteError(
                f"{store}: cannot be written: {reason}; {write_advice(error)}"
            ) from None
    finally:
        if lock is not None:
            # Remove files only if the path is still the folder that was locked.
            if not stays and is_same(place, lock):
                if begun:
                    _remove_work(work.folder)
                unused = work.folder != place or (not begun and work.record is None)
                if unused and not note.is_file():
                    _remove_work(place)
            # `os.close` unlocks the folder, even if it raises an error.
            with contextlib.suppress(OSError):
                os.close(lock)


def _remove_work(folder: Path) -> None:
    """Remove a work folder, and ignore all errors.

    `MARKER` is removed last, so that another process can remove any remaining files.
    """
    with contextlib.suppress(OSError):
        for entry in folder.iterdir():
            if entry.name == MARKER:
                continue
            with contextlib.suppress(OSError):
                is_folder = entry.is_dir() and not entry.is_symlink()
                shutil.rmtree(entry) if is_folder else entry.unlink()
        if {entry.name for entry in folder.iterdir()} <= {MARKER}:
            (folder / MARKER).unlink(missing_ok=True)
            folder.rmdir()


def _hold(place: Path) -> int:
    """Create a work folder if needed, and lock it; return its file descriptor.

    Returns
    -------
    int
        File descriptor of the folder, which holds the lock.

    Raises
    ------
    BlockingIOError
        If another process has locked the folder.
    OutputError
        If the existing folder was not made by sgmc.
    """
    not_ours = OutputError(
        f"{place}: sgmc needs this name for temporary files of the corpus, but did not create "
        "this file or folder; move it away, or choose another name"
    )
    while True:
        with contextlib.suppress(FileExistsError):
            place.mkdir()
        try:
            handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # Another process has just removed the folder.
        except OSError as error:
            if error.errno in (errno.ENOTDIR, errno.ELOOP):
                raise not_ours from None
            raise
        try:
            flock(handle)  # `flock` has no effect on a file system without locks.
            if is_same(place, handle):
                names = {path.name for path in place.iterdir()}
                if not names:
                    (place / MARKER).touch()
                elif MARKER not in names or any(path.is_symlink() for path in place.rglob("*")):
                    raise not_ours
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def renumber(block: Documents, remap: Int32s | None) -> Documents:
    """Renumber the word ids of documents, drop words, and sort each document by word id.

    Parameters
    ----------
    block : Documents
        Documents, in which each word occurs once and words may be in any order. Without `remap`, words
        with a negative id are dropped.
    remap : (old words,) int32, optional
        New id of each old id, or a negative number to drop the word. New ids must be distinct.
    """
    return Documents(*_renumber(block.indptr, block.indices, block.counts, remap))


def without_empty(block: Documents) -> tuple[Documents, Int64s | None]:
    """Drop documents without words; return the other documents and, after drops, their positions.

    Parameters
    ----------
    block : Documents
        Documents, which may be empty.

    Returns
    -------
    documents : Documents
        Documents with at least one word.
    positions : array of int64 or None
        Positions of these documents in `block`; None if no document was removed.
    """
    lengths = np.diff(block.indptr)
    if lengths.all():
        return block, None
    row_ids = np.flatnonzero(lengths)
    indptr = np.append(np.int64(0), block.indptr[1:][row_ids])
    return Documents(indptr, block.indices, block.counts), row_ids
