"""``sgmc report``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pysgrld.options.parse import integer

from .options import Described, finite, flag, layer, plain, quiet, run_argument, threads


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
  sgmc report --json facts.json      the same for other programs""",
)
@run_argument
@plain("-o/--out", "RUN/report.html", "the page, one file", parse=str, metavar="FILE.html")
@flag("--open", "show it in the browser")
@plain(
    "--by",
    "all with few values",
    "group documents by this column; may be given again",
    parse=str,
    metavar="COLUMN",
    multiple=True,
)
@plain(
    "--along",
    "the corpus in its order",
    "follow topics along this column of dates or numbers",
    parse=str,
    metavar="COLUMN",
)
@plain(
    "--cluster",
    "each document alone",
    "documents of one value of this column came together",
    parse=str,
    metavar="COLUMN",
)
@plain(
    "--texts",
    "as kept",
    "the same documents with their texts, by id or in order",
    parse=str,
    metavar="FILE",
)
@plain("--metadata", "as kept", "titles and columns, a row a document", parse=str, metavar="FILE")
@plain("--labels", "RUN/labels.json", "names of topics, by number", parse=str, metavar="FILE")
@plain("--title", "the corpus", "title of the page", parse=str, metavar="TEXT")
@plain("--noun", "documents", "what documents are called", parse=str, metavar="NOUNS")
@plain("--documents", "2 MB of them", "documents that are shown", parse=integer(0), metavar="N")
@flag("--no-text", "leave out texts and words of documents")
@plain("--words", "200000", "words that can be looked up", parse=integer(1), metavar="N")
@layer
@plain("--json", "none", "also write all facts as JSON", parse=str, metavar="FILE")
@flag("--force", "replace files that are there")
@quiet
@threads
def command(
    run: str | None,
    out: str | None,
    open: bool,
    by: tuple[str, ...],
    along: str | None,
    cluster: str | None,
    texts: str | None,
    metadata: str | None,
    labels: str | None,
    title: str | None,
    noun: str | None,
    documents: int | None,
    no_text: bool,
    words: int | None,
    layer: int | None,
    json: str | None,
    force: bool,
    **values: Any,
) -> None:
    """Put what a run found on one page: topics, how sure they are, and documents that have them.

    The page is one HTML file that needs no network and no other file. Of a folder of chains it
    compares them. It can be made while the run trains. What cannot be told, as samples, held-out
    documents or the corpus are missing, is left out, and the page says so. 'sgmc export' writes
    tables of the same for spreadsheets and other programs. See docs/report.md.
    """
    from pysgrld.reading.find_runs import find_folder
    from pysgrld.report.making import STEPS, report
    from pysgrld.report.page_file import compact
    from pysgrld.run.files import whole_file
    from pysgrld.run.layout import check_outputs

    from .progress import Screen

    with Screen(quiet=values["quiet"]) as screen:
        path = Path(out) if out is not None else find_folder(run, chains=True) / "report.html"
        read = [name for name in (texts, metadata, labels) if name is not None]
        check_outputs([path, *([Path(json)] if json else [])], force=force, inputs=read)
        with screen.counting("gathering", STEPS) as moved:
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
                words=words or 200_000,
                layer=layer,
                texts=texts,
                metadata=metadata,
                log=screen.note,
                threads=values["threads"],
                tell=lambda done, total: moved(done),
            )
        with whole_file(path) as file:
            file.write(page.html)
        if json is not None:
            with whole_file(Path(json)) as file:
                file.write(compact(finite(page.facts)) + b"\n")
        screen.note(f"{path}: {len(page.html) / 1e6:.1f} MB, {page.summary}")
        if open:
            import webbrowser

            webbrowser.open(path.absolute().as_uri())
