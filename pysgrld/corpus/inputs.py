"""Functions that find and name the files of inputs, and decide if documents are lines or files."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from pysgrld.corpus.formats import (
    IN_FOLDERS,
    IN_FOLDERS_OF_TABLES,
    PREFIXES,
    SHARED,
    SUFFIXES,
    TEXT,
    recognise,
)
from pysgrld.corpus.formats.protocol import SingleCells
from pysgrld.corpus.lines import COMPRESSED, Lines, plain_name, size_of, without_suffix
from pysgrld.corpus.reading import CorpusOptions
from pysgrld.corpus.stored_files import is_stored
from pysgrld.errors import CorpusError, MissingInputError, UsageError, plural
from pysgrld.options.paths import is_file, is_folder, path_error, path_exists, resolve_path
from pysgrld.run.layout import CHECKPOINTS, CONFIG

#: Maximum number of file suffixes that a message lists.
MOST = 8
#: Names of a file and a folder that every run has.
_RUN = (CONFIG, CHECKPOINTS)
#: A folder was written by sgmc if it has all files of one of these entries. The entries are for
#: runs, stored corpora and exports.
_OURS = (
    _RUN,
    ("meta.json", "indptr.npy"),
    ("topics.npy", "vocab.txt"),
    ("topics.safetensors", "vocab.txt"),
)
#: Approximate number of files whose first lines are read.
LOOKED_INTO = 64
#: Files have paragraphs if at least one line is blank in every group of this number of lines.
PARAGRAPH = 20
#: Prefix of the cache files that the library datasets (Hugging Face) writes next to its data files.
_CACHED = "cache-"
#: File name of a single-cell count matrix in the format of 10x Genomics.
_MATRIX = "matrix.mtx"
#: Text files count as books only if there are at most this number of files.
MOST_BOOKS = 1000
#: Text files count as books only if their mean size is at least this number of bytes (10,000
#: words). The numbers for books were measured on the books of the Bible (docs/corpora.md).
BOOK = 60_000
#: Books are split into pieces of this number of words.
PIECE_WORDS = 500
#: If an input has fewer text files than this number, each line is a document.
SEVERAL = 3


def corpus_name(inputs: Sequence[str]) -> str:
    """Return a short name for a corpus, made from its first input, for use in folder names.

    Parameters
    ----------
    inputs : sequence of str
        Paths as typed; "-" is standard input.

    Returns
    -------
    str
        A name with only letters, digits, dots, hyphens and underscores.

    Examples
    --------
    >>> corpus_name(["docword.20news.train.txt.gz"])
    '20news.train'
    >>> corpus_name(["-"])
    'stdin'
    """
    if not inputs or inputs[0] == "-":
        return "stdin"
    name = stem(resolve_path(inputs[0]))
    return "".join(c if c.isalnum() or c in "._-" else "-" for c in name).strip(".-") or "corpus"


def input_names(inputs: Sequence[str]) -> dict[str, str]:
    """Return a unique name for each input: the end of its path, with as few parts as possible.

    Names of files without a suffix include the folder if the files are in several folders, as in
    newsgroups and maildirs.

    Parameters
    ----------
    inputs : sequence of str
        Paths as typed.

    Returns
    -------
    dict of str to str
        Name of each path.

    Examples
    --------
    >>> input_names(["/2024/posts.csv", "/2025/posts.csv", "notes.txt"])
    {'/2024/posts.csv': '2024/posts.csv', '/2025/posts.csv': '2025/posts.csv', 'notes.txt': 'notes.txt'}
    """
    parts = {
        path: ("-",)
        if path == "-"
        else (resolve_path(path) if is_folder(path) else Path(path).absolute()).parts
        for path in inputs
    }
    bare = [p for p in parts if p != "-" and not _suffix(Path(p).name) and not is_folder(p)]
    lengths = dict.fromkeys(parts, 1)
    if len({parts[path][:-1] for path in bare}) > 1:
        lengths |= dict.fromkeys(bare, 2)
    while True:
        names = {path: parts[path][-length:] for path, length in lengths.items()}
        # An input that is given several times counts once.
        counts = Counter(name for _, name in {(parts[path], names[path]) for path in parts})
        longer = [p for p in parts if counts[names[p]] > 1 and lengths[p] < len(parts[p])]
        if not longer:
            return {path: "/".join(name) for path, name in names.items()}
        lengths |= {path: lengths[path] + 1 for path in longer}


def stem(path: str | Path) -> str:
    """Return a file name without the suffix of its format and without the prefix ``docword.``.

    Parameters
    ----------
    path : str or Path
        Path of an input.

    Returns
    -------
    str
        The name.

    Examples
    --------
    >>> stem("data/docword.20news.train.txt.gz")
    '20news.train'
    """
    name = without_suffix(plain_name(path), SUFFIXES)
    for prefix in PREFIXES:
        name = name.removeprefix(prefix) or name
    return name


def single_cells(path: Path) -> SingleCells | None:
    """Find the files of genes and of barcodes in the folder of a single-cell count matrix.

    The file of genes is ``features.tsv`` or ``genes.tsv``, the file of barcodes ``barcodes.tsv``.

    Parameters
    ----------
    path : Path
        Path of ``matrix.mtx``. A prefix must be the same in all three names; any file may be
        compressed.
    """
    prefix, suffix, _ = plain_name(path).partition(_MATRIX)
    if not suffix or not is_file(path):
        return None

    def beside(*names: str) -> Path | None:
        every = (path.parent / f"{prefix}{n}.tsv{s}" for n in names for s in ("", *COMPRESSED))
        return next((file for file in every if is_file(file, None)), None)

    genes, barcodes = beside("features", "genes"), beside("barcodes")
    return SingleCells(genes, barcodes) if genes and barcodes else None


def matrix_in(folder: Path) -> Path | None:
    """Return the single-cell matrix in a folder, or None if matrix, genes or barcodes are missing."""
    every = (folder / f"{_MATRIX}{suffix}" for suffix in ("", *COMPRESSED))
    return next((path for path in every if single_cells(path)), None)


def vocabulary_beside(path: Path) -> Path | None:
    """Find the vocabulary file that belongs to a file of counts in the same folder.

    For a single-cell matrix it is the file of genes. For ``docword.NAME.txt`` or ``NAME.mtx`` it is
    ``vocab.NAME.txt``, also after one or more dotted parts at the end of NAME were removed, or else
    the only ``vocab.*.txt`` in the folder. Any of these files may be compressed.

    Parameters
    ----------
    path : Path
        The file of counts.

    Returns
    -------
    Path or None
        The vocabulary, if there is one.
    """
    if (cells := single_cells(path)) is not None:
        return cells.genes
    parts = stem(path).split(".")
    for end in range(len(parts), 0, -1):
        for suffix in ("", *COMPRESSED):
            vocabulary = path.parent / f"vocab.{'.'.join(parts[:end])}.txt{suffix}"
            # With None instead of an error class, `is_file` returns False if a name is too long for
            # the file system.
            if is_file(vocabulary, None):
                return vocabulary
    every = [p for s in ("", *COMPRESSED) for p in path.parent.glob(f"vocab.*.txt{s}")]
    return every[0] if len(every) == 1 else None


#: Pattern of a year in the name of a file.
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")


def folder_in(name: str) -> str | None:
    """Return the subfolder of an input in which a file is, or None if the file is in no subfolder.

    Parameters
    ----------
    name : str
        Name of the input, and path of the file in it.
    """
    return name.partition("/")[2].rpartition("/")[0] or None


def year_in(name: str) -> int | None:
    """Return the year in a file name, or None if the name has no year or different years.

    Parameters
    ----------
    name : str
        Name of the input, and path of the file in it.
    """
    years = {*_YEAR.findall(name.rpartition("/")[2])}
    return int(years.pop()) if len(years) == 1 else None


class Folder(NamedTuple):
    """The files of a folder and its subfolders that are read, and messages about the other files.

    Attributes
    ----------
    files : list of Path
        The files that are documents, sorted by path; or the tables if the folder has no documents.
    remarks : list of str
        Messages for the user: the number of files read, and the files left out with the reason.
    """

    files: list[Path]
    remarks: list[str]


def texts_of_folder(folder: Path) -> Folder:
    """Find the documents below a folder or, if the folder has no documents, its tables.

    Compressed files are included. Files without a suffix are documents if they outnumber the
    documents, the tables, and the files with other suffixes. Hidden files and folders written by
    sgmc are skipped.

    Parameters
    ----------
    folder : Path
        Folder of an input.

    Returns
    -------
    Folder
        The files to read, and messages about them.

    Raises
    ------
    MissingInputError
        If the folder has no files to read, or cannot be read.
    CorpusError
        If the folder is a run.
    """
    from pysgrld.corpus.formats import slack  # Only folders need this import.

    def refuse(error: OSError) -> None:
        raise MissingInputError(
            f"{error.filename}: cannot be read: {error.strerror}; make it readable, then try again"
        ) from None

    if all(path_exists(folder / name) for name in _RUN):
        raise CorpusError(
            "this is a run, not a folder of texts; resume it with 'sgmc train', or give its "
            f"corpus, {folder / 'corpus'}",
            folder,
        )
    files: list[Path] = []
    tables: list[Path] = []
    bare: list[Path] = []
    # Count files that are neither documents nor tables, by suffix.
    suffixes: Counter[str] = Counter()
    hidden = ours = 0
    for parent, folders, names in os.walk(folder, onerror=refuse):
        seen = [Path(parent) / name for name in folders if not name.startswith(".")]
        names_to_read = [
            path
            for path in seen
            if not any(all(path_exists(path / name) for name in parts) for parts in _OURS)
        ]
        hidden += len(folders) - len(seen)
        ours += len(seen) - len(names_to_read)
        folders[:] = [path.name for path in names_to_read]
        for name in names:
            suffix = _suffix(name)
            if name.startswith("."):
                hidden += 1
            elif not suffix:
                bare.append(Path(parent) / name)
            elif suffix in IN_FOLDERS:
                files.append(Path(parent) / name)
            elif suffix in IN_FOLDERS_OF_TABLES and not name.startswith(_CACHED):
                tables.append(Path(parent) / name)
            else:
                suffixes[suffix] += 1
    if (is_slack := slack.is_export(folder)) and (days := slack.days_of(folder, tables)):
        files, tables, bare, suffixes = [], days, [], Counter()
    if len(bare) > max(len(files), len(tables), sum(suffixes.values())):
        files += bare
    else:
        suffixes[""] += len(bare)
    # JSON and XML files next to tables usually only describe the tables.
    plain = [table for table in tables if _suffix(table.name) not in SHARED]
    if files:
        suffixes.update(map(_suffix, (table.name for table in tables)))
    elif plain:
        suffixes.update(_suffix(table.name) for table in tables if table not in plain)
        tables = plain
    listed_others = _listed(+suffixes)
    if not files and not tables:
        has = f" (only {listed_others})" if listed_others else ""
        raise MissingInputError(
            f"{folder}: contains no texts (.txt, .html, .docx, .pdf, .eml), no tables (.csv, "
            f".jsonl, .parquet) and no corpus built by sgmc{has}; name the files to read"
        )
    of_tables = not files
    files = files or tables
    files.sort(key=lambda path: path.relative_to(folder).parts)
    below = len({path.parent for path in files} - {folder})
    where = f" in this folder and in {plural(below, 'folder')} below it" if below else ""
    meaning = "a table with one document per row" if of_tables else "a document"
    if is_slack:
        meaning = "one day of messages of a Slack export; each message is a document"
    remarks = [f"{folder}: {plural(len(files), 'file')}{where}, each {meaning}"]
    if listed_others:
        *first, last = IN_FOLDERS_OF_TABLES if of_tables else IN_FOLDERS
        read = f"{', '.join(first)} and {last}"
        remarks.append(
            f"{folder}: ignored {listed_others}, because only {read} files of a folder are read"
        )
    if hidden:
        n_hidden = plural(hidden, "file or folder", "files or folders")
        remarks.append(f"{folder}: ignored {n_hidden} (hidden)")
    if ours:
        remarks.append(f"{folder}: ignored {plural(ours, 'folder')} written by sgmc")
    if empty := sum(path.stat().st_size == 0 for path in files if is_file(path)):
        remarks.append(f"{folder}: {plural(empty, 'empty file')}")
    return Folder(files, remarks)


def _suffix(name: str) -> str:
    """Return the suffix of a file name in lower case; "" unless it looks like a suffix."""
    suffix = Path(plain_name(name)).suffix.lower()
    return suffix if suffix[1:].isalnum() and not suffix[1:].isdigit() else ""


def _listed(suffixes: Counter[str]) -> str:
    """List suffixes, each with its number of files, the most frequent suffix first."""
    phrases = [
        f"{n:,} {suffix or 'without a suffix'}"
        for suffix, n in sorted(suffixes.items(), key=lambda item: (-item[1], item[0]))
    ]
    return ", ".join(phrases if len(phrases) <= MOST else [*phrases[:MOST], "others"])


def resolve_document_is(inputs: Sequence[str], options: CorpusOptions) -> CorpusOptions:
    """If the user did not set ``document_is``, decide whether a document is a line or a file.

    Each file is a document if the inputs include a folder, a web page, a Word document or a PDF; if
    the text has paragraphs separated by blank lines, and comes in several files or is to be split
    into pieces; or if there are several files of one line each. Otherwise each line is a document.

    Parameters
    ----------
    inputs : sequence of str
    options : CorpusOptions

    Returns
    -------
    CorpusOptions
        Options with ``document_is`` "line" or "file", and with ``chunk`` set for few and long
        files.

    Raises
    ------
    UsageError
        If each line should be a document and an input is a folder.
    """
    if options.document_is == "line":
        for path in inputs:
            if path != "-" and is_folder(path) and not is_stored(Path(path)):
                raise UsageError(
                    "--document-is line does not apply to a folder, in which each file is a "
                    f"document; to read lines, give {path.rstrip('/')}/*.txt"
                )
    if options.document_is == "auto":
        by_file = _look_like_files(inputs, options)
        options = replace(options, document_is="file" if by_file else "line")
    if options.chunk is None and options.document_is == "file" and _are_books(inputs):
        return replace(options, chunk=PIECE_WORDS)
    return options


def _are_books(inputs: Sequence[str]) -> bool:
    """Return True if the inputs are a few long plain-text files, which are split into pieces."""
    sizes = []
    for path in inputs:
        if size_of(path) is None and not is_folder(path):
            return False
        files = [Path(path)]
        if is_folder(path):
            if is_stored(Path(path)) or matrix_in(Path(path)):
                return False
            files = texts_of_folder(Path(path)).files
        sizes += [file.stat().st_size for file in files if _suffix(file.name) in ("", ".txt")]
        if len(files) > MOST_BOOKS or len(sizes) > MOST_BOOKS:
            return False
    return bool(sizes) and sum(sizes) >= BOOK * len(sizes)


def _look_like_files(inputs: Sequence[str], options: CorpusOptions) -> bool:
    folders = [Path(path) for path in inputs if path != "-" and is_folder(path)]
    if not all(is_stored(path) or matrix_in(path) for path in folders):
        return True
    files = [path for path in inputs if size_of(path) is not None]
    step = max(1, len(files) // LOOKED_INTO)
    lines = blank = plain = longest = 0
    for path in files[::step]:
        with Lines(path, options.max_line, encoding=options.encoding) as source:
            format = recognise(source.head, source.name)
            if format is not TEXT:
                if format.whole:
                    return True
                continue
            whole = source.head.splitlines()
        plain += 1
        lines += len(whole)
        longest = max(longest, len(whole))
        blank += sum(not line.strip() for line in whole)
    if plain < SEVERAL and not options.chunk:
        return False
    return blank * PARAGRAPH >= lines or (plain >= SEVERAL and longest == 1)


def check_inputs(inputs: Sequence[str]) -> None:
    """Raise an error if no input is given or an input is missing.

    Parameters
    ----------
    inputs : sequence of str
        Paths as typed.

    Raises
    ------
    UsageError
        If no input is given, or standard input is given twice.
    MissingInputError
        If a file is missing or cannot be accessed.
    """
    if not inputs:
        raise UsageError("no corpus was given; give files or folders, or - for standard input")
    if list(inputs).count("-") > 1:
        raise UsageError(
            "standard input (-) was given twice, but can be read only once; give it once"
        )
    for path in inputs:
        if path != "-" and not path_exists(path):
            raise path_error(path, FileNotFoundError())
