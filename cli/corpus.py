"""``sgmc corpus build`` and ``sgmc corpus info``."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pysgrld.errors import OutputError
from pysgrld.options import text

from .options import Described, as_json, given, options_of_training, plain, quiet, show_json

if TYPE_CHECKING:
    from pysgrld.corpus import Corpus, CorpusOptions


@click.group("corpus")
def command() -> None:
    """Build a corpus for training, or describe one."""


@command.command(
    "build",
    cls=Described,
    short_help="turn any input into the folder that training reads",
    epilog="""\b
Examples:
  sgmc corpus build news.txt -o news              then: sgmc train news
  sgmc corpus build dumps/*.jsonl.zst -o all --text-field body --min-df 20
  sgmc corpus build docword.nips.txt.gz -o nips""",
)
@click.argument("corpus", nargs=-1, required=True)
@plain("-o/--out", "", "folder to write", parse=text, metavar="DIR", required=True)
@options_of_training("Corpus")
@quiet
def build(corpus: tuple[str, ...], out: str, quiet: bool, **values: Any) -> None:
    """Turn CORPUS, of any kind, into a folder that trains at once and is shared by processes."""
    options = _reading(values)

    from pysgrld.corpus import open_corpus

    from .progress import Screen

    place = Path(out)
    if place.exists() and not (place.is_dir() and next(place.iterdir(), None) is None):
        raise OutputError(f"{place}: is there already; name another folder with -o")
    with Screen(quiet=quiet) as screen:
        made = open_corpus(corpus, options, store=place, notify=screen.reading, log=screen.note)
        if made.path.resolve() != place.resolve():  # a stored corpus, opened where it lies
            _copy(made.path, place)
        screen.note(
            f"{place}: {made.documents:,} documents, {made.words:,} words, {made.tokens:,} tokens"
        )


@command.command(
    "info",
    cls=Described,
    short_help="documents, words, lengths, frequent words",
    epilog="""\b
Examples:
  sgmc corpus info news
  sgmc corpus info --json docword.nips.txt.gz | jq .tokens""",
)
@click.argument("corpus", nargs=-1, required=True)
@options_of_training("Corpus")
@as_json
@quiet
def info(corpus: tuple[str, ...], json: bool, quiet: bool, **values: Any) -> None:
    """Describe CORPUS: documents, words, lengths, the most frequent words."""
    options = _reading(values)

    from pysgrld.corpus import describe, open_corpus

    from .progress import Screen

    with (
        Screen(quiet=quiet) as screen,
        tempfile.TemporaryDirectory(prefix="sgmc-") as scratch,
    ):
        opened: Corpus = open_corpus(
            corpus, options, store=Path(scratch) / "corpus", notify=screen.reading,
            log=screen.note,
        )  # fmt: skip
        stored = not opened.path.is_relative_to(scratch)
        figures = describe(opened)
        if not stored:
            figures["path"] = corpus[0] if len(corpus) == 1 else list(corpus)
    if json:
        show_json(figures)
    else:
        _show(figures, stored)


def _reading(values: dict[str, Any]) -> CorpusOptions:
    from pysgrld.corpus import CorpusOptions

    return CorpusOptions(**{name.replace("-", "_"): v for name, v in given(values).items()})


def _copy(source: Path, place: Path) -> None:
    temporary = place.with_name(f".{place.name}.tmp")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, temporary)
        temporary.replace(place)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise OutputError(f"{place}: cannot be written: {error.strerror or error}") from error


def _show(figures: dict[str, Any], stored: bool) -> None:
    path = figures["path"]
    click.echo(path if isinstance(path, str) else f"{path[0]} and {len(path) - 1} more")
    empty, unused = figures["empty"], figures["unused_words"]
    rows = [
        ("documents", f"{figures['documents']:,}" + (f", {empty:,} of them empty" * bool(empty))),
        ("words", f"{figures['words']:,}" + (f", {unused:,} of them never occur" * bool(unused))),
        ("tokens", f"{figures['tokens']:,}"),
        ("entries", f"{figures['nnz']:,}"),
        ("on disk", f"{figures['bytes'] / 2**20:,.1f} MB" + ("" if stored else " once built")),
        ("length", "  ".join(
            f"{_quantile(q)} {n:,}" for q, n in figures["length_quantiles"].items()
            if q in ("0", "0.25", "0.5", "0.75", "0.99", "1")
        )),
        ("fingerprint", figures["fingerprint"][:16]),
    ]  # fmt: skip
    for name, value in rows:
        click.echo(f"  {name:<12}{value}")
    click.echo("  frequent")
    for word, n in figures["frequent"]:
        click.echo(f"    {n:>12,}  {word}")


def _quantile(share: str) -> str:
    names = {"0": "least", "0.5": "median", "1": "most"}
    return names.get(share, f"{100 * float(share):.0f} %:")
