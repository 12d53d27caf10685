"""Options of commands: training options (from `OPTIONS`), and shared options."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from pysgrld.errors import CorpusError, Log, UsageError
from pysgrld.models.options import OPTIONS
from pysgrld.options.option import Option
from pysgrld.options.parse import choice, integer
from pysgrld.options.peers import hint, peer

from .settings import ALIKE, SettingValue, shortened, table
from .terminal import shown_in_json, write
from .values import of_option, runs, takes_path

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

SHORT = {"topics": "-k"}
#: Maximum width of the left column of a help text.
COLUMN = 28
#: Key in the dict `meta` of a click context. Its value is True if the help shows all options.
ALL = "pysgrld.help_all"


@dataclass(frozen=True)
class Value(click.ParamType):  # type: ignore[type-arg]
    """Click type that parses a value's text by `parse`; the help shows `name` for the value."""

    parse: Callable[[str], Any]
    name: str

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse the text of a value; add the option's name to the message of an error."""
        del ctx
        if not isinstance(value, str):
            return value
        try:
            return self.parse(value)
        except UsageError as error:
            name = max(param.opts, key=len) if param else "option"
            message = f"{name}: {shortened(str(error), value)}"
            raise click.BadOptionUsage(name, message) from None

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the possible completions of a partly typed value, for the shell."""
        del ctx, param
        return of_option(self.parse, self.name, incomplete)


class Described(click.Command):
    """Command with a help that groups options under headings and gives their defaults in brackets.

    If the command has ``--help-all`` (`help_all`), ``--help`` lists only the options that most
    people use, and no headings, and ``--help-all`` lists all options.

    Parameters
    ----------
    instead : mapping of str to str, optional
        Advice by option, for options that people may expect here but that only other commands have.
    """

    def __init__(self, *args: Any, instead: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.instead = instead or {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; the message of an error refers to the help of this command."""
        try:
            rest = super().parse_args(ctx, args)
            self._refuse_empty_paths(ctx)
            self._read_settings(ctx)
            return rest
        except click.NoSuchOption as error:
            if hint := self._instead_of(error.option_name):
                raise click.UsageError(hint, ctx) from None
            names = [name for param in self.params for name in param.opts]
            names += [f"--set {name}" for name in self.settings]
            import difflib  # This import is only needed for a misspelled name.

            near = difflib.get_close_matches(error.option_name, names, 2, ALIKE)
            raise click.NoSuchOption(error.option_name, possibilities=near, ctx=ctx) from None
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    @property
    def settings(self) -> Mapping[str, Option]:
        """The settings that ``--set`` takes, by name; empty if the command has no ``--set``."""
        types = (param.type for param in self.params)
        return next((kind.rows for kind in types if isinstance(kind, SettingValue)), {})

    def _read_settings(self, ctx: click.Context) -> None:
        """Add the values of ``--set`` to the context's values, like values of separate options."""
        typed = ctx.params.pop("set", None) or ()
        # The shell completes an unfinished line, whose settings may still be wrong.
        if ctx.resilient_parsing:
            return
        options = [param for param in self.params if isinstance(param, click.Option)]
        metavars = {
            name.removeprefix("--"): param.metavar or ""
            for param in options
            for name in param.opts
            if name != "--set"
        }
        chosen = typed_values(ctx.params) if "algo" in metavars else None
        try:
            values = SettingValue(self.settings).read(typed, chosen, self.instead, metavars)
        except UsageError as error:
            raise click.BadOptionUsage("--set", str(error), ctx) from None
        ctx.params.update({name.replace("-", "_"): value for name, value in values.items()})

    def _refuse_empty_paths(self, ctx: click.Context) -> None:
        """Refuse an empty path, as from an unset shell variable; `Path` would turn it into "."."""
        for param in self.params:
            value = ctx.params.get(param.name or "")
            if takes_path(param) and ("" in value if isinstance(value, tuple) else value == ""):
                name = max(param.opts, key=len) if isinstance(param, click.Option) else param.name
                raise click.UsageError(f"{name}: the path is empty; give a path", ctx)

    def _instead_of(self, name: str) -> str | None:
        """Return advice if an option exists only in another command or program, else None."""
        if name in self.instead:
            return f"{self.name} has no {name}: {self.instead[name]}"
        if (row := self.settings.get(name.removeprefix("--"))) is not None:
            return f"no option {name}; give --set {name.removeprefix('--')}={row.metavar}"
        if (match := peer(name)) is None:
            return None
        counterpart = match.here
        names = {option for param in self.params for option in param.opts}
        command, _, option = counterpart.rpartition(" --")
        if command == f"sgmc {self.name}":
            counterpart = f"--{option}"
        elif counterpart.startswith("sgmc "):
            counterpart = f"'{counterpart}'"
        elif counterpart and counterpart.split()[0] not in names:
            counterpart = f"'sgmc train {counterpart}'"
        return hint(name, match, counterpart)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, each under the heading of its group."""
        groups: dict[str, list[tuple[str, str]]] = {}
        params = self.get_params(ctx)
        whole = ctx.meta.get(ALL) or all(getattr(param, "first", True) for param in params)
        for param in params:
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None and (whole or getattr(param, "first", True)):
                group = getattr(param, "group", "Options") if whole else "Options"
                groups.setdefault(group, []).append(record)
        # The group "Options" is removed and added again, so that it comes last.
        groups["Options"] = groups.pop("Options")
        widths = [len(column) for records in groups.values() for column, _ in records]
        width = max(w for w in widths if w <= COLUMN)
        for heading, records in groups.items():
            with formatter.section(heading):
                aligned = [(column.ljust(width), right) for column, right in records]
                formatter.write_dl(aligned, col_max=COLUMN)
        if whole and self.settings:
            table(self.settings, formatter, COLUMN)


class Grouped(click.Option):
    """Option that is listed under a heading of the help, with its default in brackets."""

    def __init__(
        self, *args: Any, group: str, shown: str, first: bool = True, **kwargs: Any
    ) -> None:
        self.group, self.shown, self.first = group, shown, first
        super().__init__(*args, **kwargs)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the two columns of the line about the option in the help."""
        record = super().get_help_record(ctx)
        # For a required option, click's own text states that it is required.
        if record is None or self.required:
            return record
        return record[0], f"{record[1]} [{self.shown}]"


def option(name: str, entry: Option, **kwargs: Any) -> Callable[[Decorated], Decorated]:
    """Return a decorator that adds an option from the table of options; its default is None."""
    names = ([SHORT[name]] if name in SHORT else []) + [f"--{name}", name.replace("-", "_")]
    if entry.flag:
        how = {"group": entry.group, "shown": entry.shown, "first": entry.first}
        return click.option(
            *names, is_flag=True, default=None, cls=Grouped, help=entry.help, **how, **kwargs
        )
    metavar = entry.metavar or "VALUE"
    value = Value(entry.parse, metavar)
    if entry.joins:

        def joined(ctx: click.Context, param: click.Parameter, typed: tuple[str, ...]) -> Any:
            return value.convert(",".join(typed), param, ctx) if typed else None

        kwargs |= {"multiple": True, "callback": joined}
    if entry.alone:
        kwargs |= {"is_flag": True, "flag_value": entry.alone}
    else:
        kwargs |= {"metavar": metavar}
    return click.option(
        *names,
        type=str if entry.joins or entry.alone else value,
        cls=Grouped,
        group=entry.group,
        shown=entry.shown,
        help=entry.help,
        first=entry.first,
        **kwargs,
    )


def options_of(entries: Mapping[str, Option]) -> Callable[[Decorated], Decorated]:
    """Return a decorator that adds options to a command; the help lists options in the given order.

    Settings share the option ``--set NAME=VALUE``; the command gets their values as those of options.
    """
    settings = {name: entry for name, entry in entries.items() if entry.setting}

    def decorate(function: Decorated) -> Decorated:
        if settings:
            function = plain(
                "--set",
                "none",
                "set a rare option (may be repeated)",
                metavar="NAME=VALUE",
                type=SettingValue(settings),
                multiple=True,
            )(function)
        for name, entry in reversed(list(entries.items())):
            if not entry.setting:
                function = option(name, entry)(function)
        return function

    return decorate


def options_of_training(
    *groups: str, without: Collection[str] = (), further: Mapping[str, Option] | None = None
) -> Callable[[Decorated], Decorated]:
    """Return a decorator that adds training options of the given groups, or by default all groups.

    If groups are given, ``--help`` lists all their options. `without` names options to leave out;
    `further` has options of the command alone.
    """
    return options_of(
        {
            name: entry._replace(first=entry.first or bool(groups))
            for name, entry in OPTIONS.items()
            if name not in without and (not groups or entry.group in groups)
        }
        | dict(further or {})
    )


#: Heading in the help for the options that decide how documents are read.
READ_GROUP = "How documents are read"
#: Names of the options for reading documents with the vocabulary of an existing run.
READING = (
    "text-field",
    "document-is",
    "chunk",
    "encoding",
    "keep-links",
    "mask",
    "header-line",
    "quote",
    "sheet",
    "missing",
    "date-format",
    "on-bad-document",
    "vocab",
    "max-line",
    "max-input",
    "transpose",
)
_READING = {
    name: OPTIONS[name]._replace(group=READ_GROUP, shown="as in training", first=True)
    for name in READING
}
_READING["vocab"] = _READING["vocab"]._replace(
    shown="next to the counts", help="file with the words of a file of counts, one per line"
)
#: Decorator that adds the options for reading texts to a command. `reading_of` returns the values
#: that the user gave.
options_of_reading = options_of(_READING)


def reading_of(values: Mapping[str, Any], *further: str) -> dict[str, Any]:
    """Return the reading options that the user typed, and any options in `further`."""
    return {name: v for name, v in given(values).items() if name in (*READING, *further)}


@contextlib.contextmanager
def reading_by_default() -> Iterator[None]:
    """Context manager that adds advice to errors that ask for an option the command lacks."""
    try:
        yield
    except CorpusError as error:
        if "--" not in error.reason:
            raise
        raise CorpusError(
            f"{error.reason}; this command lacks that option: build the corpus with it ('sgmc "
            "corpus build'), then give the folder of the corpus",
            error.path,
            error.line,
        ) from None


def typed_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the training options that the user typed, by their names in the table of options."""
    named = {name.replace("_", "-"): value for name, value in values.items()}
    return {name: named[name] for name in OPTIONS if named.get(name) is not None}


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the training options that the user typed, with files replaced by their content."""
    chosen = typed_values(values)
    readers = {name: reader for name in chosen if (reader := OPTIONS[name].read)}
    if readers:
        from pysgrld.run.signals import StopFlag

        # A file may be a pipe from which no data come, so a request to stop must interrupt the
        # reading.
        limit, stop_signal = chosen.get("time-limit"), chosen.get("stop-signal")
        with StopFlag(None if limit == "auto" else limit, stop_signal=stop_signal) as stop:
            chosen |= {name: reader(chosen[name]) for name, reader in readers.items()}
            stop.check("while reading options")
    return chosen


# ---- options and functions that several commands share


def plain(
    name: str,
    shown: str,
    help: str,
    *,
    parse: Callable[[str], Any] | None = None,
    metavar: str = "VALUE",
    group: str = "Options",
    **kwargs: Any,
) -> Callable[[Decorated], Decorated]:
    """Return a decorator that adds an option that is not in the table of training options."""
    names = name.split("/")
    if parse is not None:
        kwargs |= {"type": Value(parse, metavar), "metavar": metavar}
    elif not kwargs.get("is_flag"):
        kwargs |= {"metavar": metavar}
    return click.option(*names, cls=Grouped, group=group, shown=shown, help=help, **kwargs)


def flag(
    name: str, help: str, group: str = "Options", **kwargs: Any
) -> Callable[[Decorated], Decorated]:
    """Return a decorator that adds a boolean option, which is off by default."""
    names = name.split("/")
    kwargs |= {"cls": Grouped, "group": group, "shown": "off", "help": help}
    return click.option(*names, is_flag=True, **kwargs)


def help_all(function: Decorated) -> Decorated:
    """Add ``--help-all``, which shows all options; ``--help`` shows only the common ones."""

    def show(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        del param
        if value and not ctx.resilient_parsing:
            ctx.meta[ALL] = True
            write(ctx.get_help())
            ctx.exit()

    return click.option(
        "--help-all",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Show all options, grouped by model, and exit.",
    )(function)


def threads(function: Decorated) -> Decorated:
    """Add ``--threads`` to a command."""
    entry = OPTIONS["threads"]
    return option("threads", entry._replace(group="Options", first=True))(function)


def layer(function: Decorated) -> Decorated:
    """Add ``--layer``, which selects a layer of a deep model, counted from 1."""
    return plain(
        "--layer", "1", "layer of a deep model; 1 is the lowest", parse=integer(1, 100), metavar="L"
    )(function)


def metadata(function: Decorated) -> Decorated:
    """Add ``--metadata``, which names a table with metadata of the training documents."""
    return plain(
        "--metadata",
        "as kept",
        "table of document columns, one row per document",
        parse=str,
        metavar="FILE",
    )(function)


@contextlib.contextmanager
def lent_metadata(results: Any, path: str | None, note: Log) -> Iterator[None]:
    """Context manager that adds a metadata file's columns, if given, to a run's documents."""
    if path is None:
        yield
        return
    import tempfile

    from pysgrld.report.texts_and_metadata import lend_metadata

    with tempfile.TemporaryDirectory(prefix="sgmc-") as folder:
        lend_metadata(results, path, Path(folder), note)
        yield


def population(function: Decorated) -> Decorated:
    """Add ``--population``, which selects the documents for which intervals are valid."""
    return plain(
        "--population",
        "alike",
        "documents for which intervals are valid: other texts like these (alike), or only these",
        parse=choice("alike", "these"),
        metavar="alike|these",
    )(function)


def _parse_order(value: str) -> Any:
    """Parse the name of a word order; the parser is imported here so that the help stays fast."""
    from pysgrld.models.word_order import parse_order

    return parse_order(value)


word_order = plain(
    "--words",
    "distinctive; probable if documents are short",
    "order of words in a topic",
    parse=_parse_order,
    metavar="ORDER",
)
as_json = flag("--json", "print JSON")
quiet = flag("-q/--quiet", "print only errors and warnings")
run_argument = click.argument("run", required=False, metavar="[RUN]", shell_complete=runs)


def show_json(value: Any) -> None:
    """Print a value of plain Python types as JSON, in which NaN and infinity become null."""
    import json

    written = json.dumps(finite(value), ensure_ascii=False, indent=2, allow_nan=False)
    write(shown_in_json(written))


def finite(value: Any) -> Any:
    """Replace NaN and infinity at any depth of a value by None, because JSON lacks them."""
    import math

    if isinstance(value, dict):
        return {str(name): finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [finite(part) for part in value]
    if isinstance(value, Path):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
