"""Manual pages for ``man``; the build makes them from the text of ``--help`` and installs them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from pysgrld import errors

from . import COMMANDS, main
from .options import ALL

#: Headings in help texts, and the headings that replace them in manual pages.
_HEADINGS = {"examples": "EXAMPLES", "example": "EXAMPLES", "options": "OPTIONS"}


class Roff(click.HelpFormatter):
    """Click formatter that writes help as roff, the source format of manual pages."""

    def __init__(self) -> None:
        super().__init__()
        self.described = False

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the synopsis, which consists of the command and its arguments."""
        del prefix
        self.write(f".SH SYNOPSIS\n.B {_text(prog)}\n{_text(args)}\n")

    def write_heading(self, heading: str) -> None:
        """Write a section heading."""
        name = _HEADINGS.get(heading.lower(), heading.upper())
        self.write(f'.{"SS" if self.current_indent else "SH"} "{_text(name)}"\n')

    def write_paragraph(self) -> None:
        """Write nothing, because roff's macros for sections and paragraphs add blank lines."""

    def write_text(self, text: str) -> None:
        """Write paragraphs; if the first character is a backspace, line breaks are kept."""
        if not self.described:
            self.write(".SH DESCRIPTION\n")
            self.described = True
        for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
            first, *lines = paragraph.split("\n")
            if first.strip() != "\b":
                self.write(f".PP\n{_text(' '.join(paragraph.split()))}\n")
                continue
            if lines and (name := _HEADINGS.get(lines[0].strip().rstrip(":").lower())):
                self.write(f".SH {name}\n")
                lines = lines[1:]
            self.write(".PP\n.nf\n" + "".join(f"{_text(line)}\n" for line in lines) + ".fi\n")

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Write a list of terms and their descriptions."""
        del col_max, col_spacing
        for name, meaning in rows:
            self.write(f".TP\n.B {_text(name.strip())}\n{_text(' '.join(meaning.split()))}\n")


def _text(line: str) -> str:
    """Escape hyphens and other characters that roff interprets."""
    line = line.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return f"\\&{line}" if line.startswith((".", "'")) else line


def paths() -> Iterator[tuple[str, ...]]:
    """Yield each manual page's command as a tuple of names, which is empty for ``sgmc`` itself."""
    yield ()
    for name in COMMANDS:
        yield (name,)
        yield from ((name, sub) for sub in getattr(_command(name), "commands", ()))


def _command(name: str) -> click.Command:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    return command


def page(path: Sequence[str], version: str) -> str:
    """Return a command's manual page as roff source."""
    command: click.Command = main
    context = click.Context(main, info_name="sgmc", **main.context_settings)
    line = "topic models by stochastic-gradient MCMC"
    for word in path:
        above, command = command, _command(word) if command is main else command.commands[word]  # type: ignore[attr-defined]
        context = click.Context(command, info_name=word, parent=context)
        line = COMMANDS[word] if above is main else command.get_short_help_str(limit=200)
    context.meta[ALL] = True
    formatter = Roff()
    command.format_help(context, formatter)
    name = "-".join(("sgmc", *path))
    # The section "SEE ALSO" names the parent command of a subcommand. For ``sgmc`` it names all
    # subcommands.
    related = [path[:-1]] if path else [(name,) for name in COMMANDS]
    see = [rf"\fB{_text('-'.join(('sgmc', *other)))}\fR(1)" for other in related]
    parts = [
        f'.TH {name.upper()} 1 "" "sgmc {version}" "sgmc"\n'
        f".SH NAME\n{_text(name)} \\- {_text(line.rstrip('.'))}\n",
        formatter.getvalue(),
        "" if path else _of_all(),
        f".SH SEE ALSO\n{', '.join(see)}\n",
    ]
    return "".join(parts)


def _of_all() -> str:
    """Return the sections that all manual pages have: files, and exit codes with their meaning."""
    codes: dict[int, str] = {}
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.SgmcError):
            match = re.match(r"(.*) \(exit (\d+)\)\.", (kind.__doc__ or "").replace("\n", " "))
            if match:
                codes.setdefault(int(match[2]), match[1])
    codes[errors.SgmcError.exit_code] = "A bug in sgmc; the message explains how to report it"
    rows = [(0, "Done"), *sorted(codes.items()), (130, "Stopped at once, by a second Ctrl\\-C")]
    return (
        ".SH FILES\n.TP\n.I ./sgmc\\-runs\nRuns, each a folder, and the name of the latest.\n"
        '.SH "EXIT STATUS"\n' + "".join(f".TP\n.B {code}\n{meaning}.\n" for code, meaning in rows)
    )


def write(folder: Path, version: str) -> None:
    """Write all manual pages into a folder; a missing folder is created."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths():
        name = f"{'-'.join(('sgmc', *path))}.1"
        (folder / name).write_text(page(path, version), encoding="utf-8")
