"""Documents of plain text: lines or files, told by what the inputs look like where nobody has said it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pysgrld.corpus.formats import PLAIN, recognise
from pysgrld.corpus.lines import Lines, size_of
from pysgrld.corpus.reading import CorpusOptions
from pysgrld.corpus.stored_files import is_stored
from pysgrld.errors import UsageError

#: Files that are looked into, of many; and lines to one blank one, at most, of text in paragraphs.
LOOKED_INTO, PARAGRAPH = 64, 20
#: Fewer files are no corpus of files.
SEVERAL = 3


def settled(inputs: Sequence[str], options: CorpusOptions) -> CorpusOptions:
    """Say whether a document of plain text is a line or a file, by what the inputs look like.

    A folder, a page, a Word document or a PDF among the inputs makes each file a document. So does text
    that is written in paragraphs, blank lines between them, if there are several files of it or it is to
    be cut into pieces; and so do several files of one line each. Otherwise each line is one.

    Parameters
    ----------
    inputs : sequence of str
    options : CorpusOptions

    Returns
    -------
    CorpusOptions
        With ``document_is`` "line" or "file".

    Raises
    ------
    UsageError
        If the lines of a folder are asked for.
    """
    if options.document_is == "line":
        for path in inputs:
            if path != "-" and Path(path).is_dir() and not is_stored(Path(path)):
                raise UsageError(
                    f"--document-is line: each file of a folder is one; name {path.rstrip('/')}/*.txt"
                )
    if options.document_is != "auto":
        return options
    return replace(options, document_is="file" if _are_files(inputs, options) else "line")


def _are_files(inputs: Sequence[str], options: CorpusOptions) -> bool:
    folders = [path for path in inputs if path != "-" and Path(path).is_dir()]
    if any(not is_stored(Path(path)) for path in folders):
        return True
    files = [path for path in inputs if size_of(path) is not None]
    step = max(1, len(files) // LOOKED_INTO)
    lines = blank = plain = longest = 0
    for path in files[::step]:
        with Lines(path, options.max_line, encoding=options.encoding) as source:
            format = recognise(source.head, source.name)
            if format is not PLAIN:
                if format.extract is not None:
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
