"""The command ``sgmc corpus``, whose subcommands build, merge and describe corpora."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from pysgrld.errors import UsageError, plural
from pysgrld.models.options import OPTIONS
from pysgrld.options.parse import integer, part, real, share_or_count

from .options import (
    READ_GROUP,
    Described,
    as_json,
    flag,
    given,
    options_of,
    options_of_training,
    plain,
    quiet,
    show_json,
    threads,
)
from .terminal import echo, room, shown, width, wrap
from .values import files

if TYPE_CHECKING:
    from pysgrld.corpus import Corpus, CorpusOptions

    from .progress import Screen


@click.group("corpus")
def command() -> None:
    """Build, merge, sample and describe corpora for training."""


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
@click.argument("corpus", nargs=-1, shell_complete=files, required=True)
@plain("-o/--out", "", "output folder", parse=str, metavar="DIR", required=True)
@plain("--shard", "whole", "build shard I of N, for 'corpus merge'", parse=part, metavar="I/N")
@options_of_training("Corpus")
@threads
@quiet
def build(
    corpus: tuple[str, ...], out: str, shard: tuple[int, int] | None, quiet: bool, **values: Any
) -> None:
    """Convert CORPUS to a folder that training reads directly and that processes share.

    Stopped by Ctrl-C or SIGTERM (exit code 85), or killed? Run the same command again to resume.
    """
    options = corpus_options(values)

    from pysgrld.corpus.build import build as make
    from pysgrld.corpus.shards import build_shard
    from pysgrld.run.machine import threads as count

    from .progress import Screen

    number = count(values["threads"]).number
    with Screen(quiet=quiet) as screen:
        if shard is None:
            made = make(corpus, options, Path(out), number, screen)
        else:
            made = build_shard(corpus, options, Path(out), shard, number, screen)
        _said(screen, str(made.path), made)


@command.command(
    "merge",
    cls=Described,
    short_help="make one corpus of its shards",
    instead={name: "the corpus is written to DIR, next to its shards" for name in ("-o", "--out")},
    epilog="""\b
Example:
  sgmc slurm --time 2h --array 64 -o build.sh -- \\
    corpus build crawl/*.jsonl.gz --vocab words.txt -o all --shard {i}/{n}
  sgmc corpus merge all                           when all of them are done""",
)
@click.argument("named", nargs=-1, required=True, metavar="DIR", shell_complete=files)
@quiet
def merge(named: tuple[str, ...], quiet: bool) -> None:
    """Merge the shards of 'sgmc corpus build -o DIR --shard I/N' into the corpus DIR.

    The result is the corpus that a single process would have written. The shards stay in DIR.shards;
    remove them when you like.
    """
    if len(named) > 1:
        raise UsageError(
            f"give one folder DIR (its shards are in DIR.shards), not {len(named)}; to combine "
            "separate corpora, build one corpus from all inputs"
        )
    from pysgrld.corpus.shards import merge as join

    from .progress import Screen

    (folder,) = named
    with Screen(quiet=quiet) as screen:
        _said(screen, folder, join(Path(folder), screen))


@command.command(
    "sample",
    cls=Described,
    short_help="cut a random sample of the documents",
    epilog="""\b
Examples:
  sgmc corpus sample news -n 1000 -o news-1000
  sgmc corpus sample enwiki -n 0.01 -o enwiki-small --seed 7""",
)
@click.argument("corpus", nargs=-1, shell_complete=files, required=True)
@plain("-o/--out", "", "output folder", parse=str, metavar="DIR", required=True)
@plain(
    "-n/--size",
    "",
    "number of documents, or fraction",
    parse=share_or_count,
    metavar="N|SHARE",
    required=True,
)
@plain("--seed", "0", "seed of the random choice", parse=integer(0, 2**63 - 1), metavar="N")
@options_of_training("Corpus")
@threads
@quiet
def sample(
    corpus: tuple[str, ...],
    out: str,
    size: int | float,
    seed: int | None,
    quiet: bool,
    **values: Any,
) -> None:
    """Cut a random sample of the documents of CORPUS; words keep their ids."""
    options = corpus_options(values)
    if not size:
        raise UsageError("-n 0 is too small; give at least 1 document, or a fraction")

    from pysgrld.corpus.build import OTHER_FOLDER
    from pysgrld.corpus.build import sample as cut
    from pysgrld.run.files import refuse_full_folder

    refuse_full_folder(Path(out), OTHER_FOLDER)
    with _opened(corpus, options, quiet, values["threads"]) as (screen, opened):
        _said(screen, out, cut(opened, size, seed or 0, Path(out)))


#: Options of the subcommands that read texts and write a list of words.
_OF_TEXTS = (
    "text-field",
    "encoding",
    "keep-links",
    "mask",
    "header-line",
    "quote",
    "sheet",
    "on-bad-document",
    "max-line",
    "max-input",
)


@command.command(
    "phrases",
    cls=Described,
    short_help="find words that occur together more often than by chance",
    epilog="""\b
Examples:
  sgmc corpus phrases news.txt -o phrases.txt   look at it, delete some lines
  sgmc train news.txt --phrases phrases.txt     new_york is then a word""",
)
@click.argument("corpus", nargs=-1, shell_complete=files, required=True)
@plain("-o/--out", "", "output file", parse=str, metavar="FILE", required=True)
@plain("--npmi", "0.5", "minimum association (NPMI), 0 to 1", parse=real(0.0, 1.0), metavar="SHARE")
@plain("--min-count", "20", "minimum occurrences", parse=integer(1), metavar="N")
@flag("--force", "replace an existing file")
@options_of(
    {
        name: OPTIONS[name]._replace(group=READ_GROUP, first=True)
        for name in ("stop-words", *_OF_TEXTS)
    }
)
@threads
@quiet
def phrases(
    corpus: tuple[str, ...],
    out: str,
    npmi: float | None,
    min_count: int | None,
    force: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Find phrases of two and three words in the texts of CORPUS, and write one per line.

    A phrase is a frequent sequence of words in a sentence, without stop words, that occur together
    far more often than by chance. With --phrases FILE each phrase in FILE counts as one word.
    """
    options = corpus_options(values)

    from pysgrld.corpus.phrases import LEAST_COUNT, LEAST_NPMI, find_phrases, lines

    with _finding(corpus, out, force, quiet, values["threads"]) as search:
        found = find_phrases(
            corpus,
            options,
            npmi=LEAST_NPMI if npmi is None else npmi,
            count=LEAST_COUNT if min_count is None else min_count,
            **search.how,
        )
        given = ", ".join(Path(name).name for name in corpus)
        search.write(lines(found, given), "phrase", [phrase.words for phrase in found])


@command.command(
    "names",
    cls=Described,
    short_help="find names of persons and places, by their capital letters",
    epilog="""\b
Examples:
  sgmc corpus names novels/ -o names.txt        look at it, delete some lines
  sgmc train novels/ --stop-words english,names.txt""",
)
@click.argument("corpus", nargs=-1, shell_complete=files, required=True)
@plain("-o/--out", "", "output file", parse=str, metavar="FILE", required=True)
@plain("--min-count", "10", "minimum occurrences within sentences", parse=integer(1), metavar="N")
@flag("--force", "replace an existing file")
@options_of({name: OPTIONS[name]._replace(group=READ_GROUP, first=True) for name in _OF_TEXTS})
@threads
@quiet
def names(
    corpus: tuple[str, ...],
    out: str,
    min_count: int | None,
    force: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Find the proper names in the texts of CORPUS, and write one per line, as a stop-word list.

    A name is a word that has a capital letter in at least 90 % of its occurrences within sentences.
    """
    options = corpus_options(values)

    from pysgrld.corpus.proper_names import LEAST_COUNT, find_names

    with _finding(corpus, out, force, quiet, values["threads"]) as search:
        count = LEAST_COUNT if min_count is None else min_count
        words = [name.word for name in find_names(corpus, options, count=count, **search.how)]
        search.write("".join(f"{word}\n" for word in words), "name", words)


@command.command(
    "stop-words",
    cls=Described,
    short_help="print a list of stop words",
    epilog="""\b
Examples:
  sgmc corpus stop-words                    which lists there are
  sgmc corpus stop-words french > mine.txt  to edit, for --stop-words mine.txt""",
)
@click.argument("language", required=False, metavar="[LANGUAGE]")
def stop_words(language: str | None) -> None:
    """Print the stop words of LANGUAGE, one per line; without LANGUAGE, the names of the lists."""
    from pysgrld.corpus.stopwords import NAMED, named

    if language is not None and language not in NAMED:
        raise UsageError(f"unknown list '{language}'; the lists are {', '.join(NAMED)}")
    for line in NAMED if language is None else sorted(named(language)):
        echo(line)


@command.command(
    "info",
    cls=Described,
    short_help="documents, words, lengths, frequent words",
    epilog="""\b
Examples:
  sgmc corpus info news
  sgmc corpus info --json docword.nips.txt.gz | jq .tokens
  sgmc corpus info news --verify         compare every byte with its checksum""",
)
@click.argument("corpus", nargs=-1, shell_complete=files, required=True)
@flag("--verify", "compare every byte of a stored corpus with its checksum")
@options_of_training("Corpus")
@threads
@as_json
@quiet
def info(corpus: tuple[str, ...], verify: bool, json: bool, quiet: bool, **values: Any) -> None:
    """Describe CORPUS: documents, words, lengths, the most frequent words."""
    options = corpus_options(values)

    from pysgrld.corpus.store import describe

    with _opened(corpus, options, quiet, values["threads"]) as (_, opened):
        stored = opened.path in map(Path, corpus)
        if verify and not stored:
            raise UsageError(
                "--verify applies only to a folder written by 'sgmc corpus build'; give this "
                "folder, and leave out all options about reading"
            )
        figures = describe(opened)
        if verify:
            opened.verify()
            figures["verified"] = True
        if not stored:
            figures["path"] = corpus[0] if len(corpus) == 1 else list(corpus)
    if json:
        show_json(figures)
    else:
        _show(figures, stored)


@command.command(
    "words",
    cls=Described,
    short_help="which words are kept, and which are removed by which rule",
    epilog="""\b
Examples:
  sgmc corpus words news.txt                   how many each rule leaves out
  sgmc corpus words news.txt --dropped | less  each of them, with its rule
  sgmc corpus words news.txt --json | jq '.words[0]'""",
)
@click.argument("corpus", nargs=-1, shell_complete=files, required=True)
@flag("--kept", "list each kept word: tokens, documents, word")
@flag("--dropped", "list each removed word: tokens, documents, rule, word")
@options_of_training("Corpus")
@threads
@as_json
@quiet
def words(
    corpus: tuple[str, ...], kept: bool, dropped: bool, json: bool, quiet: bool, **values: Any
) -> None:
    """Show the kept and the removed words of CORPUS, the most frequent first.

    Rules apply in this order: stop words, numbers, --min-df, --max-df, --max-vocab. A stored corpus
    has only its kept words; to see removed words, give the texts from which it was built.
    """
    options = corpus_options(values)

    from pysgrld.corpus.vocabulary import RULES
    from pysgrld.corpus.words import list_words
    from pysgrld.run.machine import threads as count

    from .progress import Screen

    with Screen(quiet=quiet) as screen:
        how: dict[str, Any] = {"notify": screen.reading, "log": screen.note}
        found = list_words(corpus, options, threads=count(values["threads"]).number, **how)
    lists_both = kept == dropped
    listed = [word for word in found if lists_both or kept == (word.rule is None)]
    if json:
        show_json({"words": [word._asdict() for word in listed]})
        return
    if not lists_both:
        for word in listed:
            rule = f"{word.rule:<11} " if word.rule else ""
            echo(f"{word.tokens:>11,} {word.documents:>10,}  {rule}{word.word}")
        return
    echo(f"{'':<12}{'words':>10}{'tokens':>14}  most frequent words")
    for name in (None, *RULES):
        matches = [word for word in found if word.rule == name]
        if matches or name is None:
            head = f"{name or 'kept':<12}{len(matches):>10,}{sum(w.tokens for w in matches):>14,}"
            first = wrap([word.word for word in matches[:30]], max(20, room() - width(head) - 2))
            echo(f"{head}  {first[0] if first else ''}")


@command.command(
    "drop-text",
    cls=Described,
    short_help="delete the texts of a stored corpus",
    epilog="""\b
Examples:
  sgmc corpus drop-text news                     a corpus in this folder
  sgmc corpus drop-text sgmc-runs/news-scir/corpus     a run's own copy""",
)
@click.argument("folder", metavar="DIR")
@quiet
def drop_text(folder: str, quiet: bool) -> None:
    """Delete the texts of DIR, a folder written by 'sgmc corpus build' or the corpus of a run.

    Counts, ids, titles and columns stay, and runs can be resumed. Other copies keep their texts.
    """
    from pysgrld.corpus.build import drop_text as drop

    from .progress import Screen

    with Screen(quiet=quiet) as screen:
        freed = drop(Path(folder))
        screen.note(f"{folder}: {freed / 2**20:,.1f} MB of texts deleted")


class _Finding(NamedTuple):
    """Output file and progress screen of a command that finds words in texts.

    Attributes
    ----------
    path : Path
    screen : Screen
    how : dict
        Arguments of the function that searches: threads, and where progress goes.
    """

    path: Path
    screen: Screen
    how: dict[str, Any]

    def write(self, text: str, noun: str, found: list[str]) -> None:
        """Write ``text`` to the file; print the number of found words and the first words."""
        from pysgrld.run.output_files import open_output

        with open_output(self.path) as file:
            file.write(text.encode())
        first = f": {'; '.join(found[:5])}" if found else ""
        self.screen.note(f"{self.path}: {plural(len(found), noun)}{first}")


@contextlib.contextmanager
def _finding(
    corpus: tuple[str, ...], out: str, force: bool, quiet: bool, number: int | None
) -> Iterator[_Finding]:
    """Context manager that checks the output file, and shows the progress of finding words."""
    from pysgrld.run.layout import check_outputs
    from pysgrld.run.machine import threads as count

    from .progress import Screen

    path = Path(out)
    check_outputs([path], force=force, inputs=corpus)
    with Screen(quiet=quiet) as screen:
        how = {"threads": count(number).number, "notify": screen.reading, "log": screen.note}
        yield _Finding(path, screen, how)


@contextlib.contextmanager
def _opened(
    corpus: tuple[str, ...], options: CorpusOptions, quiet: bool, number: int | None
) -> Iterator[tuple[Screen, Corpus]]:
    """Context manager that opens a stored corpus, or reads inputs into a temporary folder."""
    from pysgrld.corpus import open_corpus
    from pysgrld.run.machine import threads as count

    from .progress import Screen

    with Screen(quiet=quiet) as screen, tempfile.TemporaryDirectory(prefix="sgmc-") as scratch:
        yield (
            screen,
            open_corpus(
                corpus,
                options,
                store=Path(scratch) / "corpus",
                threads=count(number).number,
                notify=screen.reading,
                log=screen.note,
            ),
        )


def _said(screen: Screen, out: str, made: Corpus) -> None:
    screen.note(
        f"{out}: {plural(made.documents, 'document')}, {plural(made.words, 'word')}, "
        f"{plural(made.tokens, 'token')}"
    )


def corpus_options(values: dict[str, Any]) -> CorpusOptions:
    from pysgrld.corpus import CorpusOptions

    return CorpusOptions.from_values(given(values))


_QUANTILES = {"0": "least", "0.5": "median", "1": "most"}


def _show(figures: dict[str, Any], stored: bool) -> None:
    path = figures["path"]
    echo(path if isinstance(path, str) else f"{path[0]} and {len(path) - 1} more")
    empty, unused = figures["empty"], figures["unused_words"]
    rows = [
        ("documents", f"{figures['documents']:,}" + (f", {empty:,} of them empty" * bool(empty))),
        ("words", f"{figures['words']:,}" + (f", {unused:,} of them never occur" * bool(unused))),
        ("tokens", f"{figures['tokens']:,}"),
        ("entries", f"{figures['nnz']:,}"),
        ("on disk", f"{figures['bytes'] / 2**20:,.1f} MB" + ("" if stored else " once built")),
        (
            "length",
            "  ".join(
                f"{_QUANTILES.get(q, f'{100 * float(q):.0f} %:')} {n:,}"
                for q, n in figures["length_quantiles"].items()
                if q in ("0", "0.25", "0.5", "0.75", "0.99", "1")
            ),
        ),
        (
            "fingerprint",
            figures["fingerprint"][:16] + ", verified" * figures.get("verified", False),
        ),
    ]
    texts = figures["texts"]
    if texts["documents"]:
        rows.append(
            ("texts kept", f"{texts['documents']:,} documents, {texts['bytes'] / 2**20:,.1f} MB")
        )
    names = [name for name in ("ids", "titles") if figures[name]]
    if names:
        rows.append(("documents", f"have their own {' and '.join(names)}"))
    for name, value in rows:
        echo(f"  {name:<12}{value}")
    if figures["columns"]:
        echo("  columns")
    for column in figures["columns"]:
        missing = f", {column['missing']:,} missing" if column["missing"] else ""
        echo(f"    {column['kind']:>12}  {shown(column['name'])[:60]}{missing}")
    echo("  frequent")
    for word, n in figures["frequent"]:
        echo(f"    {n:>12,}  {word}")
