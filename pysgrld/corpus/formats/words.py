"""The words of a file of counts, which only numbers them: where they are found."""

from __future__ import annotations

from pathlib import Path

from pysgrld.corpus.formats.kinds import Context
from pysgrld.corpus.inputs import COMPRESSED, stem
from pysgrld.corpus.stream import Stream
from pysgrld.corpus.vocabulary import read_vocabulary
from pysgrld.errors import CorpusError


def vocabulary_beside(path: Path) -> Path | None:
    """Find the vocabulary of a file of counts.

    ``vocab.NAME.txt`` beside ``docword.NAME.txt`` or ``NAME.mtx``; else the same with the last
    dotted parts of NAME left out one by one; else the only ``vocab.*.txt`` there. Any of them may
    be compressed.
    """
    parts = stem(path).split(".")
    for end in range(len(parts), 0, -1):
        for suffix in ("", *COMPRESSED):
            found = path.parent / f"vocab.{'.'.join(parts[:end])}.txt{suffix}"
            if found.is_file():
                return found
    every = [p for s in ("", *COMPRESSED) for p in path.parent.glob(f"vocab.*.txt{s}")]
    return every[0] if len(every) == 1 else None


def find_words(
    stream: Stream,
    context: Context,
    words: int | None = None,
    documents: int | None = None,
    line: int | None = None,
) -> tuple[tuple[str, ...] | None, str]:
    """Find the words of a file of counts: those given, else those beside it, else none.

    Parameters
    ----------
    stream : Stream
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
    found: str | Path | None = given
    if found is None and stream.path is not None:
        found = vocabulary_beside(stream.path)
    if found is None:
        context.log(
            f"{stream.label}: warning: no vocab.*.txt beside it, so words are called by their "
            "number, from 1; name them with --vocab FILE"
        )
        return None, "numbers"
    vocabulary = read_vocabulary(found)
    if words is not None and len(vocabulary) < words:
        turned = documents == len(vocabulary)
        raise CorpusError(
            f"it counts {words} words, but the vocabulary {found} has only {len(vocabulary)}; "
            + (
                "that is its number of documents: transpose it, so that documents are rows"
                if turned
                else "give the right one with --vocab"
            ),
            stream.label,
            line,
        )
    return vocabulary, str(found) if given is not None else Path(found).name


def refuse_line(reason: str, message: str, path: str, line: int | None) -> None:
    """Take a line above the limit for what it is in a file of counts: the wrong file."""
    raise CorpusError(f"{message}: this is no file of counts", path, line)


def shown(field: bytes) -> str:
    """A field of a file as a message can show it."""
    text = field[:40].decode("utf-8", "backslashreplace").strip()
    return repr(text + "..." if len(field) > 40 else text)
