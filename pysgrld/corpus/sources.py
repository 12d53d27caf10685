"""Records of a corpus's inputs, which show whether a stored corpus is up to date.

For every file the record has the SHA-256 of the bytes read and a stamp with the time of the last
change. A file with the recorded stamp and size is assumed to be unchanged; any other file is hashed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pysgrld.corpus.formats import named_as_counts
from pysgrld.corpus.inputs import matrix_in, single_cells, texts_of_folder, vocabulary_beside
from pysgrld.corpus.lines import plain_name
from pysgrld.corpus.reading import AUTO, USUAL_TEXT_FIELD, CorpusOptions, ReadingProgress
from pysgrld.corpus.stopwords import NAMED
from pysgrld.corpus.stored_files import PACKED, PARTS, digest, is_stored
from pysgrld.corpus.vocabulary import Rules, resolved, stop_words
from pysgrld.options.paths import is_file, is_folder, is_stream, path_error, resolve_path

#: Options that are recorded only if they differ from the default. Older corpora do not record them.
_LATER = (
    *("missing", "date_format", "time_field", "header_line", "quote", "sheet"),
    *("keep_links", "mask", "drop_repeated", "language"),
)
_USUAL = CorpusOptions()


def look(path: str) -> dict[str, Any]:
    """Return names, sizes and modification times of an input's files, without reading the files.

    Parameters
    ----------
    path : str
        A file or a folder; "-" is standard input.

    Returns
    -------
    dict
        For a file, its ``name``, ``size`` in bytes and ``stamp`` (time of modification, time of
        change and inode). A file of counts may also have a ``vocabulary``, with the same entries
        and its ``sha256``. For a folder, its ``name``, and the same entries for each of its
        ``files`` that are read. For a pipe or standard input, with different data each time, only
        the name.

    Raises
    ------
    MissingInputError
        If the input is missing or cannot be read.
    """
    if path == "-":
        return {"name": "-"}
    if is_folder(path):
        root = Path(path)
        files = [_stamped(file, file.relative_to(root).as_posix()) for file in files_of(root)]
        return {"name": resolve_path(root).name, "files": files}
    record = _stamped(Path(path), Path(path).name)
    if named_as_counts(plain_name(path)):
        add_vocabulary(record, vocabulary_beside(Path(path)))
    return record


def add_vocabulary(record: dict[str, Any], beside: Path | None) -> None:
    """Add the vocabulary file in the same folder to the record of a file of counts."""
    if beside is not None:
        record["vocabulary"] = _stamped(beside, beside.name) | {"sha256": digest(beside)}


def files_of(folder: Path) -> list[Path]:
    """Return the files that are read if the given folder is an input.

    These are the files of a stored corpus, the three files of a single-cell matrix, or texts.

    Parameters
    ----------
    folder : Path
        Folder of an input.

    Returns
    -------
    list of Path
        Files in the order of reading.

    Raises
    ------
    MissingInputError
        If the folder has no files to read, or cannot be read.
    """
    if is_stored(folder):
        return [folder / name for name in (*PARTS, PACKED) if is_file(folder / name)]
    if (matrix := matrix_in(folder)) and (cells := single_cells(matrix)):
        return [matrix, *cells]
    return texts_of_folder(folder).files


def contents(provenance: Mapping[str, Any]) -> set[str]:
    """Return the SHA-256 digests of all input files that a corpus records.

    Parameters
    ----------
    provenance : mapping of str to object
        Provenance in the header of the corpus.

    Returns
    -------
    set of str
        Digests in hexadecimal.
    """
    digests = (record.get("sha256") for record in _records(provenance))
    return {sha256 for sha256 in digests if isinstance(sha256, str)}


def _records(provenance: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the records of all inputs and, for inputs that are folders, of the files in them."""
    records = list(provenance.get("inputs") or ())
    return records + [file for record in records for file in record.get("files") or ()]


def is_contained(path: str, provenance: Mapping[str, Any]) -> bool:
    """Return True if a corpus records the content of all files of an input.

    Parameters
    ----------
    path : str
        A file or a folder.
    provenance : mapping of str to object
        Provenance in the header of the corpus.

    Raises
    ------
    MissingInputError
        If the input is missing or cannot be read.
    """
    files = files_of(Path(path)) if is_folder(path) else [Path(path)]
    digests, sizes = contents(provenance), {file.get("size") for file in _records(provenance)}
    # Digests take time, so first compare the sizes of the files with the recorded sizes.
    has_sizes = all(_stamped(file, file.name)["size"] in sizes for file in files)
    return bool(digests) and has_sizes and all(digest(file) in digests for file in files)


def text_field_of(provenance: Mapping[str, Any]) -> str:
    """Return the name of the text field that was read from the inputs, or the default name."""
    fields = (record.get("text-field") for record in provenance.get("inputs") or ())
    return next(filter(None, fields), USUAL_TEXT_FIELD)


def recipe(options: CorpusOptions) -> dict[str, Any]:
    """Return a record of the reading options, with the SHA-256 of each file that an option names.

    Returns
    -------
    dict
        ``options``; ``lists``: SHA-256 of each file named by the options, by its name, or None if
        the file is missing or not a regular file.

    Raises
    ------
    MissingInputError
        If a list cannot be read.
    """
    named = (options.stop_words or "none").split(",")
    files = {name for name in named if name not in NAMED and name != "none"}
    files |= {name for name in (options.vocab, options.metadata) if name is not None}
    recorded = asdict(options)
    if recorded["text_field"] == AUTO:  # Older versions record "auto" in a corpus.
        recorded["text_field"] = USUAL_TEXT_FIELD
    for name in ("numbers", "segment", "transpose"):
        if recorded[name] in (None, "none", "off"):
            del recorded[name]
    for name in _LATER:
        if recorded[name] == getattr(_USUAL, name):
            del recorded[name]
    phrases = recorded.pop("phrases")
    # `numbered` and `as_recorded` do not affect the corpus.
    for name in ("numbered", "as_recorded"):
        del recorded[name]
    if phrases:  # An empty list is omitted, because older corpora lack the entry.
        recorded["phrases"] = list(phrases)
    lists = {n: digest(Path(n)) if is_file(n) else None for n in sorted(files)}
    return {"options": recorded, "lists": lists}


def stands_for(
    provenance: Mapping[str, Any],
    inputs: Sequence[str],
    options: CorpusOptions,
    notify: Callable[[ReadingProgress], None],
) -> bool:
    """Return True if reading the inputs with the options would give an equal corpus.

    Parameters
    ----------
    provenance : mapping
        Provenance of the stored corpus.
    inputs : sequence of str
    options : CorpusOptions
    notify : callable
        Called with the progress of hashing files that have a new stamp. It may raise an exception
        to stop.

    Raises
    ------
    MissingInputError
        If an input or a list of words is missing or cannot be read.
    """
    options_recipe = recipe(options)
    lists: dict[str, str | None] = options_recipe["lists"]
    old_inputs = provenance.get("inputs")
    if provenance.get("options") != options_recipe["options"] or None in lists.values():
        return False
    if provenance.get("lists") != lists:
        return False
    if options.text_field == USUAL_TEXT_FIELD != text_field_of(provenance):
        return False
    reading, vocabulary = provenance.get("reading"), provenance.get("vocabulary")
    if not isinstance(reading, dict) or not isinstance(vocabulary, dict):
        return False
    # The defaults may differ between versions, so compare the rules that follow from the options
    # now with the rules that the corpus records.
    rules = Rules.of(options, vocabulary.get("from") == "built")
    text = "token-pattern" in reading
    # The choice between line and file as document depends only on the inputs, so equal inputs give
    # the same choice.
    if options.document_is == "auto" and text:
        reading = reading | {"document-is": "auto"}
    if options.chunk is None and text:
        reading = reading | {"chunk": None}
    if reading != resolved(options.for_documents(), rules, stop_words(rules.stop_words), text=text):
        return False
    if not isinstance(old_inputs, list) or len(old_inputs) != len(inputs):
        return False
    pairs: list[tuple[dict[str, Any], dict[str, Any], Path]] = []
    for path, old in zip(inputs, old_inputs, strict=True):
        file_pairs = list(_paired(path, old))
        for before, now, _ in file_pairs:
            if not isinstance(before, dict) or "size" not in now or "sha256" not in before:
                return False
            if any(before.get(name) != now[name] for name in ("name", "size")):
                return False
        pairs += file_pairs
    other = [(b, n, path) for b, n, path in pairs if b.get("stamp") != n["stamp"]]
    total, done = sum(now["size"] for _, now, _ in other), 0

    def hashed(size: int) -> None:
        nonlocal done
        done += size
        notify(ReadingProgress(done, total, 0))

    return all(digest(path, hashed) == before["sha256"] for before, _, path in other)


def _paired(path: str, old: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any], Path]]:
    """Yield each file of an input as its recorded state, its current state and its path.

    For files that cannot be compared, empty records are yielded.
    """
    now = look(path)
    nothing: tuple[dict[str, Any], dict[str, Any], Path] = {}, {}, Path(path)
    if not isinstance(old, dict) or old.get("name") != now["name"] or path == "-":
        yield nothing
    elif "files" in now:
        files = files_of(Path(path))
        old_files = old.get("files")
        if not isinstance(old_files, list) or not len(old_files) == len(files) == len(now["files"]):
            yield nothing
            return
        yield from zip(old_files, now["files"], files, strict=True)
    else:
        yield old, now, Path(path)
        if "vocabulary" in old or "vocabulary" in now:
            vocabulary = vocabulary_beside(Path(path))
            if vocabulary is None:
                yield nothing
                return
            yield old.get("vocabulary", {}), _stamped(vocabulary, vocabulary.name), vocabulary


def _stamped(path: Path, name: str) -> dict[str, Any]:
    if is_stream(path):  # A pipe can be read only once, so its data is not examined.
        return {"name": name}
    try:
        status = path.stat()
    except OSError as error:
        raise path_error(path, error) from None
    stamp = [status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
    return {"name": name, "size": status.st_size, "stamp": stamp}
