"""Creation of a run's report page: data are gathered, packed and written into an HTML file."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pysgrld.errors import Log, Severity, no_log, plural
from pysgrld.models.word_order import WordOrder, parse_order
from pysgrld.report.page_file import FORMAT, VERSION, page
from pysgrld.report.page_folder import PageFolder
from pysgrld.report.reported_run import READ_STEPS, PageRequest, ReportedRun, Section
from pysgrld.report.sections import SECTIONS
from pysgrld.report.texts_and_metadata import AddedFiles
from pysgrld.run.machine import RELEASE

__all__ = ["STEPS", "Page", "page_of", "report"]

#: Number of steps of making a page. Each section is one step, and reading the run has further
#: steps.
STEPS = READ_STEPS + len(SECTIONS)


class Page:
    """Page with the results of a run, which the function `report` makes.

    Parameters
    ----------
    run : ReportedRun
        A run for which `ReportedRun.read` has been called.
    sections : sequence of Section
    tell : callable (done)
        Called with the number of finished sections.

    Attributes
    ----------
    main : dict
        The JSON object that the page reads when it opens, without the list of blocks of numbers.
    """

    def __init__(
        self, run: ReportedRun, sections: Sequence[Section], tell: Callable[[int], None]
    ) -> None:
        self._run, self._sections = run, sections
        results, config = run.results, run.results.run.config
        # A browser stores the user's topic names under this key, which differs between layers.
        key = results.run.identity.digest
        if run.at:
            key = hashlib.sha256(f"{key}/{run.at}".encode()).hexdigest()
        self.main: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "sgmc": RELEASE,
            "key": key,
            "title": run.asked.title or str(config["corpus"].get("name") or "corpus"),
            "run": results.place.name,
            "noun": list(run.noun),
            "topic": [results.fitted.noun, f"{results.fitted.noun}s"],
        }
        for done, section in enumerate(sections, 1):
            self.main |= section.main()
            tell(done)
        self.main["topics"] = []
        for k in run.shown:
            record: dict[str, Any] = {"id": k}
            for section in sections:
                record |= section.of_topic(k)
            self.main["topics"].append(record)
        self.main["method"] = [d._asdict() for s in sections for d in s.definitions()]
        self.main["missing"] = run.missing

    @cached_property
    def html(self) -> bytes:
        """The page as a single HTML file, which needs no other files."""
        blocks = {name: b for section in self._sections for name, b in section.blocks().items()}
        main = self.main | {"blocks": {name: block.parts for name, block in blocks.items()}}
        return page_of(main, {name: block.packed() for name, block in blocks.items()})

    @property
    def facts(self) -> dict[str, Any]:
        """The page's content as plain values for JSON; numbers that the page packs are lists."""
        record = dict(self.main)
        for section in self._sections:
            record |= section.plain(self.main)
        return record | {"topics": sorted(record["topics"], key=lambda topic: int(topic["id"]))}

    @property
    def summary(self) -> str:
        """Short description of the page, for example the numbers of topics and documents."""
        parts = [plural(len(self.main["topics"]), *self.main["topic"])]
        if self.main["docs"] is not None:
            # Record of the folder's files if the page is a folder, else None.
            folder = self.main["folder"]
            number = folder["documents"] if folder else len(self.main["docs"]["row"])
            contents = {"kept": "texts", "words": "words", "none": "shares"}[self.main["texts"]]
            parts.append(f"{contents} of {plural(number, *self.main['noun'])}")
        return ", ".join(parts)

    @property
    def folder(self) -> Path:
        """Folder of the run, or the folder of its chains."""
        return self._run.results.place


def page_of(main: Mapping[str, Any], blocks: Mapping[str, bytes]) -> bytes:
    """Return the HTML file of a run's page, with all sections.

    Parameters
    ----------
    main : mapping
        Main JSON of the format "sgmc-report".
    blocks : mapping of str to bytes
        Blocks by name, each one zlib stream.
    """
    scripts = (
        *("core.js", "data.js", "pieces.js", "lists.js"),
        *(f"charts/{name}.js" for name in ("figure", "marks", "lines", "map", "field", "dots")),
        *(
            f"views/{name}.js"
            for name, section in SECTIONS.items()
            if section.always or main.get(name)
        ),
        *(("folder.js",) if main.get("folder") else ()),
        "app.js",
    )
    first = ("dots", "best", "along", f"group-{main.get('best')}")
    return page(main, blocks, scripts, first=first, loads=main.get("folder") is not None)


def report(
    run: str | Path | None = None,
    *,
    by: Sequence[str] = (),
    along: str | None = None,
    cluster: str | None = None,
    labels: str | Path | None = None,
    title: str | None = None,
    noun: str = "documents",
    documents: int | None = None,
    text: bool = True,
    words: WordOrder | str | None = None,
    lookup: int = 200_000,
    layer: int | None = None,
    texts: str | Path | None = None,
    metadata: str | Path | None = None,
    threads: int | None = None,
    effects: Mapping[str, Any] | None = None,
    these: bool = False,
    beside: PageFolder | None = None,
    log: Log = no_log,
    tell: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Page:
    """Make a page of a run's topics, their uncertainty, and documents in which the topics occur.

    The page can be made while the run is training; it lists the results that are not available yet.
    The same run and options give the same bytes.

    Parameters
    ----------
    run : str or path, optional
        A run, or a folder of chains, which are compared; by default the latest under ``./sgmc-runs``.
    by : sequence of str
        Columns by which documents are grouped; by default all stored columns that have few values.
    along : str, optional
        A column of dates or numbers along which topics are followed; by default the order of the
        corpus.
    cluster : str, optional
        A column that names the cluster of each document, for example the book that a chapter is
        from: the intervals of groups then hold for other clusters.
    labels : str or path, optional
        A file of names of topics; by default ``labels.json`` in the run's folder, if it is there.
    title : str, optional
        Title of the page; by default the name of the corpus.
    noun : str
        Name of the documents in the plural, or singular and plural: "chapters", "child/children".
    documents : int, optional
        Number of documents that are shown; by default as many as fit in two megabytes.
    text : bool
        Whether texts and words of documents are shown.
    words : str, optional
        The order of a topic's words: "distinctive", "probable", "frex" or "relevance:LAMBDA"; by default
        that of ``sgmc topics``.
    lookup : int
        Number of the most frequent words that can be looked up.
    layer : int, optional
        Layer of a deep model, counted from 1; by default the lowest.
    texts : str or path, optional
        The same documents with their texts, for a corpus that was built without: they are joined by
        id, or by position if ids are not unique.
    metadata : str or path, optional
        CSV, TSV, JSON lines or Parquet file with titles and columns, one row for each document:
        joined by id if the corpus has its own ids, else by position.
    threads : int, optional
        Number of threads; by default as many as the process may use.
    effects : mapping, optional
        Effects of columns to show on the page (`pysgrld.effects.answers.Effects.plain`).
    these : bool
        True if intervals hold for these documents only, not for similar ones.
    beside : PageFolder, optional
        Folder of the page, if the page is a folder: all documents are written to it, in files that
        the page loads when they are viewed. The page itself is not written here.
    log : callable, optional
        Called with each line of a message to the user about texts and metadata.
    tell : callable (what, done, total), optional
        Called with the name of the step, the amount done, and the total.

    Returns
    -------
    Page
        The page; ``html`` is its file, and ``facts`` is the same content for other programs.

    Raises
    ------
    MissingInputError
        If the run or a file is missing.
    CheckpointError
        If the run has no checkpoint yet.
    UsageError
        If the layer or a column is missing.
    CorpusError
        If the names of topics, texts or metadata are invalid.
    """
    request = PageRequest(
        by=tuple(by),
        along=along,
        cluster=cluster,
        labels=None if labels is None else Path(labels),
        title=title,
        noun=noun,
        documents=documents,
        text=text,
        order=parse_order(words) if isinstance(words, str) else words,
        lookup=lookup,
        layer=layer,
        folder=beside is not None,
        effects=effects,
        these=these,
    )
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sgmc-")))
        input_paths = [None if path is None else str(path) for path in (texts, metadata)]
        added = AddedFiles(input_paths[0], input_paths[1], folder, log)
        page_run = ReportedRun(run, request, threads, added)
        if page_run.corpus is None:
            log(page_run.results.missing_corpus, Severity.WARNING)
        sections = [make(page_run) for make in SECTIONS.values()]
        page_run.read(lambda done: tell("gathering", done, STEPS))
        page = Page(page_run, sections, lambda done: tell("gathering", READ_STEPS + done, STEPS))
        if beside is not None and page_run.corpus is not None:
            for section in sections:
                for name, content, done in section.files():
                    beside.write(name, content)
                    tell("documents", done, page_run.corpus.documents)
            if page.main["folder"] is not None:
                page.main["folder"] |= {"at": beside.finish_files()}
        return page
