"""The words of a file of counts, which only numbers them: where they are found."""

from __future__ import annotations

from pathlib import Path

from pysgrld.corpus.formats.protocol import Context
from pysgrld.corpus.lines import Lines
from pysgrld.corpus.vocabulary import read_vocabulary
from pysgrld.errors import CorpusError, plural


def find_words(
    source: Lines,
    context: Context,
    words: int | None = None,
    documents: int | None = None,
    line: int | None = None,
) -> tuple[tuple[str, ...] | None, str]:
    """Find the words of a file of counts: those given, else those beside it, else none.

    Parameters
    ----------
    source : Lines
    context : Context
    words, documents : int, optional
        How many the file says it has.
    line : int, optional
        Where it says so.

    Returns
    -------
    vocabulary : tuple of str or None
        None: words are called by their number, and a warning was given.
    origin : str
        Where it was found, for the record.

    Raises
    ------
    CorpusError
        If there are fewer than the file says, or the vocabulary itself is bad.
    """
    given = context.options.vocab
    found: str | Path | None = context.beside if given is None else given
    if found is None:
        context.log(
            f"{source.label}: warning: no vocab.*.txt beside it, so words are called by their "
            "number, from 1; name them with --vocab FILE"
        )
        return None, "numbers"
    vocabulary = read_vocabulary(found)
    if words is not None and len(vocabulary) < words:
        turned = documents == len(vocabulary)
        raise CorpusError(
            f"it counts {plural(words, 'word')}, but the vocabulary {found} has only {len(vocabulary)}; "
            + (
                "that is its number of documents: transpose it, so that documents are rows"
                if turned
                else "give the right one with --vocab"
            ),
            source.label,
            line,
        )
    return vocabulary, str(found) if given is not None else Path(found).name


def refuse_line(reason: str, message: str, path: str, line: int | None) -> None:
    """Refuse a file of counts for a line above the limit."""
    raise CorpusError(f"{message}: this is no file of counts", path, line)


def quoted(field: bytes) -> str:
    """Quote a field of a file for a message, cut to 40 bytes."""
    text = field[:40].decode("utf-8", "backslashreplace").strip()
    return repr(text + "..." if len(field) > 40 else text)
