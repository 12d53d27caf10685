"""The command ``sgmc report``, which writes a web page about a run."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import click

from pysgrld.options.parse import integer

from .options import (
    Described,
    finite,
    flag,
    layer,
    plain,
    population,
    quiet,
    run_argument,
    threads,
    word_order,
)

#: Default file name of the page, which is written into the run's folder.
PAGE = "report.html"


@click.command(
    "report",
    cls=Described,
    epilog="""\b
Examples:
  sgmc report --open                 the latest run, in the browser
  sgmc report bible-scir --noun chapters --title 'King James Bible'
  sgmc report runs/a                 a folder of chains, compared on one page
  sgmc report --by section --along date -o news.html
  sgmc report --no-text -o for-everybody.html
  sgmc report --serve                all documents, served on this machine
  sgmc report --json facts.json      the same for other programs""",
)
@run_argument
@plain("-o/--out", "RUN/report.html", "file of the page", parse=str, metavar="FILE.html")
@flag("--open", "show the page in the browser")
@plain(
    "--folder",
    "none",
    "write a folder with the page and all documents instead of a file",
    parse=str,
    metavar="DIR",
)
@flag("--serve", "serve the folder (RUN/page) on this computer until Ctrl-C")
@plain("--port", "8000 if free", "of --serve", parse=integer(1, 65_535), metavar="N")
@plain(
    "--by",
    "all with few values",
    "group documents by this column (may be repeated)",
    parse=str,
    metavar="COLUMN",
    multiple=True,
)
@plain(
    "--along",
    "order of the corpus",
    "show topics along this column of dates or numbers",
    parse=str,
    metavar="COLUMN",
)
@plain(
    "--cluster",
    "documents are independent",
    "column with the source (author, book) of documents that are not independent",
    parse=str,
    metavar="COLUMN",
)
@plain(
    "--effect",
    "none",
    "effects of columns on topics: '~ party + year'; see sgmc effect",
    parse=str,
    metavar="FORMULA",
)
@plain(
    "--texts",
    "as kept",
    "texts of the same documents, matched by id or order",
    parse=str,
    metavar="FILE",
)
@plain(
    "--metadata",
    "as kept",
    "table of titles and columns, one row per document",
    parse=str,
    metavar="FILE",
)
@plain("--labels", "RUN/labels.json", "file of topic names by number", parse=str, metavar="FILE")
@plain("--title", "the corpus", "title of the page", parse=str, metavar="TEXT")
@plain(
    "--noun",
    "documents",
    "what documents are called on the page, such as chapters",
    parse=str,
    metavar="NOUNS",
)
@plain("--documents", "2 MB of them", "number of documents shown", parse=integer(0), metavar="N")
@flag("--no-text", "omit texts and words of documents")
@word_order
@plain(
    "--lookup", "200000", "number of words in the page's word search", parse=integer(1), metavar="N"
)
@layer
@population
@plain("--json", "none", "also write all facts as JSON", parse=str, metavar="FILE")
@flag("--force", "replace existing files")
@quiet
@threads
def command(
    run: str | None,
    out: str | None,
    open: bool,
    folder: str | None,
    serve: bool,
    port: int | None,
    by: tuple[str, ...],
    along: str | None,
    cluster: str | None,
    effect: str | None,
    texts: str | None,
    metadata: str | None,
    labels: str | None,
    title: str | None,
    noun: str | None,
    documents: int | None,
    no_text: bool,
    words: Any,
    lookup: int | None,
    layer: int | None,
    population: str | None,
    json: str | None,
    force: bool,
    **values: Any,
) -> None:
    """Make a web page about a run: its topics, their reliability, and their documents.

    The page is a single HTML file that needs no network and no other file. For several chains, it
    compares the chains. It can be made during training. Parts that need missing samples, held-out
    documents or the corpus are omitted, and the page lists them. 'sgmc export' writes
    the same results as tables for spreadsheets and other programs. See docs/report.md.
    """
    import webbrowser

    from pysgrld.errors import UsageError
    from pysgrld.reading.find_runs import find_folder
    from pysgrld.report import page_folder
    from pysgrld.report.making import report
    from pysgrld.report.page_file import compact
    from pysgrld.report.page_server import PageServer
    from pysgrld.run.layout import check_outputs, claim_outputs
    from pysgrld.run.output_files import open_output

    from .progress import Screen

    if out is not None and (folder is not None or serve):
        raise UsageError("-o and --folder cannot be combined; give one of them")
    if port is not None and not serve:
        raise UsageError("--port requires --serve")
    with Screen(quiet=values["quiet"]) as screen, contextlib.ExitStack() as held:
        place = find_folder(run, chains=True)
        read = [name for name in (texts, metadata, labels) if name is not None]
        facts = [Path(json)] if json else []
        folder_page = None
        if folder is not None or serve:
            check_outputs(facts, force=force, inputs=read)
            where = Path(folder) if folder is not None else place / "page"
            folder_page = held.enter_context(page_folder.PageFolder(where, force=force))
            path = where / page_folder.INDEX
        else:
            path = Path(out) if out is not None else place / PAGE
            check_outputs(facts if out is None else [path, *facts], force=force, inputs=read)
            if out is None:
                claim_outputs(place, [PAGE], force=force)
        effects = None
        if effect is not None:
            effects = _effects(
                screen,
                run,
                effect,
                cluster,
                metadata,
                layer,
                values["threads"],
                these=population == "these",
            )
        with screen.steps() as moved:
            page = report(
                run,
                by=by,
                along=along,
                cluster=cluster,
                labels=labels,
                title=title,
                noun=noun or "documents",
                documents=documents,
                text=not no_text,
                words=words,
                lookup=lookup or 200_000,
                layer=layer,
                texts=texts,
                metadata=metadata,
                effects=effects,
                these=population == "these",
                beside=folder_page,
                log=screen.note,
                threads=values["threads"],
                tell=moved,
            )
        if folder_page is not None:
            folder_page.finish(page.html)
        else:
            with open_output(path) as file:
                file.write(page.html)
        if json is not None:
            with open_output(Path(json)) as file:
                file.write(compact(finite(page.facts)) + b"\n")
        screen.note(f"{path}: {len(page.html) / 1e6:.1f} MB, {page.summary}")
        if serve:
            with PageServer(path.parent, port, screen.note) as server:
                screen.address(
                    f"the page is at {server.address} (only on this computer); stop with Ctrl-C"
                )
                if open:
                    webbrowser.open(server.address)
                with contextlib.suppress(KeyboardInterrupt):
                    server.serve_forever()
        elif open:
            webbrowser.open(path.absolute().as_uri())


def _effects(
    screen: Any,
    run: str | None,
    formula: str,
    cluster: str | None,
    metadata: str | None,
    layer: int | None,
    threads: int | None,
    *,
    these: bool,
) -> dict[str, Any]:
    """Estimate the effects of metadata columns on topics, for the page."""
    from pysgrld.effects.answers import EffectRequest
    from pysgrld.reading.find_runs import open_run
    from pysgrld.run.machine import threads as count

    from .effect import estimate

    results = open_run(run, count(threads).number, missing=screen.warn, these=these)
    request = EffectRequest(formula, (), cluster, layer)
    return estimate(screen, results, request, metadata).plain()
