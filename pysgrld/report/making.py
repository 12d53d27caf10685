"""A run becomes a page."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pysgrld.report.content import Content
from pysgrld.report.gather import PageRequest, gather
from pysgrld.report.html import page
from pysgrld.report.lent import Lending
from pysgrld.report.plain import plain


class Page:
    """One page that shows what a run found. Made by `report`.

    Parameters
    ----------
    content : Content
    """

    def __init__(self, content: Content) -> None:
        self._content = content

    @cached_property
    def html(self) -> bytes:
        """The page: one HTML file, which needs nothing else."""
        blocks = self._content.blocks()
        main = self._content.main | {"blocks": {n: block.parts for n, block in blocks.items()}}
        return page(main, {name: block.packed() for name, block in blocks.items()})

    @property
    def facts(self) -> dict[str, Any]:
        """The content of the page as plain values for JSON: every number, words by name."""
        return plain(self._content)

    @property
    def summary(self) -> str:
        """The content of the page in a few words."""
        from pysgrld.errors import plural

        main = self._content.main
        told = [plural(len(main["topics"]), main["topic"][0], main["topic"][1])]
        if main["docs"] is not None:
            number = len(main["docs"]["row"])
            what = {"kept": "texts", "words": "words", "none": "shares"}[main["texts"]]
            told.append(f"{what} of {plural(number, *main['noun'])}")
        return ", ".join(told)

    @property
    def folder(self) -> Path:
        """Folder of the run, or of its chains."""
        chains = self._content.found.chains
        return chains[0].path.parent if len(chains) > 1 else chains[0].path


def report(
    run: str | Path | None = None,
    *,
    by: Sequence[str] = (),
    along: str | None = None,
    labels: str | Path | None = None,
    title: str | None = None,
    noun: str = "documents",
    documents: int | None = None,
    text: bool = True,
    words: int = 200_000,
    layer: int | None = None,
    texts: str | Path | None = None,
    metadata: str | Path | None = None,
    threads: int | None = None,
    log: Callable[[str], None] = lambda line: None,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Page:
    """Put what a run found on one page: its topics, how sure they are, and the documents that have them.

    Works while the run trains; what cannot be told is left out, and the page says so. The same run and
    options give the same bytes.

    Parameters
    ----------
    run : str or path, optional
        A run, or a folder of chains, which are compared; by default the latest under ``./sgmc-runs``.
    by : sequence of str
        Columns by which documents are grouped; by default all that were kept and have few values.
    along : str, optional
        A column of dates or numbers along which topics are followed; by default the corpus in its order.
    labels : str or path, optional
        A file of names of topics; by default ``labels.json`` in the run's folder, if it is there.
    title : str, optional
        By default the name of the corpus.
    noun : str
        What documents are called, in the plural: "chapters", "child/children".
    documents : int, optional
        Documents that are shown; by default as many as two megabytes hold.
    text : bool
        Whether texts and words of documents are shown.
    words : int
        Words that can be looked up, the most frequent ones.
    layer : int, optional
        Layer of a deep model, counted from 1; by default the lowest.
    texts : str or path, optional
        The same documents with their texts, of a corpus that kept none: joined by id, else in order.
    metadata : str or path, optional
        CSV, TSV, JSON lines or Parquet with titles and columns, a row a document: joined by id where the
        corpus has ids of its own, else in order.
    threads : int, optional
        By default as many as the process may use.
    log : callable, optional
        Told, a line at a time, what a person should know of texts and metadata.
    tell : callable (done, total), optional
        Told how far it is.

    Returns
    -------
    Page
        ``html`` is the file; ``facts`` the same for other programs.

    Raises
    ------
    MissingInputError
        If there is no such run or file.
    CheckpointError
        If it has no checkpoint yet.
    UsageError
        If there is no such layer or column.
    CorpusError
        If the names of topics, texts or metadata are not what they must be.
    """
    asked = PageRequest(
        tuple(by),
        along,
        None if labels is None else Path(labels),
        title,
        noun,
        documents,
        text,
        words,
        layer,
    )
    if texts is None and metadata is None:
        return Page(Content(gather(run, asked, threads, tell)))
    with tempfile.TemporaryDirectory(prefix="sgmc-") as folder:
        lent = [None if path is None else str(path) for path in (texts, metadata)]
        lending = Lending(lent[0], lent[1], Path(folder), log)
        return Page(Content(gather(run, asked, threads, tell, lending)))
