"""The command ``sgmc``: a table of its subcommands, and the conversion of errors to exit codes.

Each subcommand is a module next to this file, with a click command called ``command``. The module
is imported when the command is used, and NumPy only when the command computes: therefore ``--help``
prints without delay.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
from typing import IO, Any, NamedTuple

import click

from pysgrld.errors import STOPPED, Interrupted, MemoryLimitError, SgmcError, WriteError

from .terminal import echo

#: Names of the subcommands, in the order in which the help lists them, each with a one-line
#: summary.
COMMANDS = {
    "train": "train a model on a corpus, or resume a stopped run",
    "search": "find a number of topics: train several and compare",
    "eval": "perplexity on held-out documents; coherence",
    "topics": "show the topics: words, weights, coherence",
    "effect": "how topics depend on document columns, such as party and year",
    "report": "make a web page: topics, their reliability, documents",
    "infer": "topic proportions of new documents",
    "diagnose": "which topics the chains share, and whether the chains have mixed",
    "compare": "compare the topics of two runs: shared, split, merged, gone",
    "audit": "check topics made by another program against a corpus",
    "export": "write topics and documents for other programs",
    "corpus": "build a corpus for training, or describe one",
    "reproduce": "rerun a paper's figure or table",
    "plan": "estimate memory, disk, hours and threads of a training",
    "slurm": "write a SLURM batch script that runs one of these commands",
    "runs": "list runs: topics, documents, state, score",
    "checkpoint": "list, show or verify the checkpoints of a run",
    "bench": "measure the speed of the kernels and of training on this machine",
    "completion": "make the Tab key complete commands, options and runs",
    "help": "show the help of a command",
}

REPORT = (
    "This is a bug in sgmc, and your data and last checkpoint are safe. Please report it with the "
    "lines above,\nthe command you typed and the output of 'sgmc --version'."
)

#: Exit code if the program that reads sgmc's output has closed the pipe: 128 + SIGPIPE, as in
#: shells.
BROKEN_PIPE = 141

#: Error numbers (``errno``) of the operating system for a full or failing disk.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class Sgmc(click.Group):
    """Click group that imports subcommands lazily, and maps errors to exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the subcommands, in the order of `COMMANDS`."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import and return a subcommand."""
        del ctx
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{name}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find a subcommand; the error for a misspelt name suggests the most similar name."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(_no_command(args[0]), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands in the help without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run a subcommand; print no error if a program such as ``head`` stops reading the output.

        Ctrl-C is not handled here but reported by `main`, because click would print a blank line
        into a log of JSON lines.
        """
        try:
            result = super().invoke(ctx)
            # Standard output is None if the parent process has closed it.
            if sys.stdout is not None:
                sys.stdout.flush()
        except BrokenPipeError:
            _give_up(1)
            raise click.exceptions.Exit(BROKEN_PIPE) from None
        except KeyboardInterrupt:
            raise click.Abort from None
        return result

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a subcommand and end the process with its exit code."""
        kwargs["standalone_mode"] = False
        for stream in (sys.stdout, sys.stderr):
            # Print the code point (as in \u00e9) of a character that the terminal's encoding cannot
            # represent.
            if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
                stream.reconfigure(errors="backslashreplace")
        typed = args[0] if args else kwargs.get("args")
        json_log = "--json-log" in (sys.argv[1:] if typed is None else typed)
        try:
            code = super().main(*args, **kwargs)
        except BaseException as error:
            code = _exit_code(error, json_log=json_log)
        try:
            if sys.stderr is not None and not sys.stderr.closed:
                sys.stderr.flush()
        # Without `_give_up`, Python would exit with code 120, because some text remains unwritten.
        except OSError:
            _give_up(2)
        sys.exit(code if isinstance(code, int) else 0)


def _exit_code(error: BaseException, *, json_log: bool) -> int:
    """Print an error, as text or as a JSON object, and return its exit code."""
    code, text, _ = explanation = explain(error)
    if code == WriteError.exit_code and isinstance(error, OSError):
        _give_up(1)
    line = explanation.line
    if text and json_log:
        from .progress import json_line

        line = json_line("error", text, code=code)
    if line:
        try:
            echo(line, err=True)
        except OSError:  # Standard error is closed, so only the exit code can report the error.
            _give_up(2)
    return code


def _no_command(typed: str) -> str:
    """Return the error message for an unknown subcommand, with a suggestion."""
    import difflib

    from pysgrld.options.peers import hint, peer

    match = peer(typed)
    if match is not None and not match.here.startswith("--"):
        return hint(f"'{typed}'", match, match.here and f"'{match.here}'")
    near = difflib.get_close_matches(typed, COMMANDS, 1)
    said = f"did you mean '{near[0]}'?" if near else f"the commands are {', '.join(COMMANDS)}"
    return f"unknown command '{typed}'; {said}"


def _help_of(error: click.UsageError) -> str:
    """Return the help command that suits a usage error, such as ``sgmc train --help``."""
    if error.ctx is None:
        return "sgmc --help"
    names, params = [getattr(error, "option_name", None)], error.ctx.command.params
    if isinstance(error, click.NoSuchOption):
        names = list(error.possibilities or ())
    matches = [param for param in params if not names or {*names} & {*param.opts}]
    every = any(not getattr(param, "first", True) or "--set" in param.opts for param in matches)
    every &= any("--help-all" in param.opts for param in params)
    return f"{error.ctx.command_path} {'--help-all' if every else '--help'}"


class Explanation(NamedTuple):
    """Exit code and message of an error, and the label printed before the message."""

    code: int
    text: str
    label: str = "sgmc: error: "

    @property
    def line(self) -> str:
        """Label and message, or an empty text if there is no message."""
        return self.label + self.text if self.text else ""


def explain(error: BaseException) -> Explanation:
    """Return the exit code, message and label for an error."""
    if isinstance(error, click.exceptions.Exit):
        return Explanation(error.exit_code, "")
    if isinstance(error, SystemExit):
        return Explanation(error.code if isinstance(error.code, int) else 1, "")
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return Explanation(2, error.ctx.get_help() if error.ctx else REPORT, "")
    if isinstance(error, click.UsageError):
        message = " ".join(error.format_message().split()).rstrip(".")
        return Explanation(2, f"{message} (see '{_help_of(error)}')")
    if _out_of_memory(error):
        advice = "use fewer --topics, a smaller --max-vocab, or a machine with more memory"
        return Explanation(MemoryLimitError.exit_code, f"out of memory: {advice}")
    if isinstance(error, OSError) and not isinstance(error, SgmcError) and error.errno in FULL:
        from pysgrld.run.files import write_advice

        where = error.filename or ("standard output" if _fails(sys.stdout) else "writing failed")
        reason = error.strerror or str(error)
        return Explanation(WriteError.exit_code, f"{where}: {reason}; {write_advice(error)}")
    if isinstance(error, Interrupted):
        return Explanation(error.exit_code, str(error), "sgmc: ")
    if isinstance(error, SgmcError) and type(error) is not SgmcError:
        return Explanation(error.exit_code, str(error))
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return Explanation(STOPPED, "stopped immediately", "sgmc: ")
    import traceback

    lines = "".join(traceback.format_exception(error))
    return Explanation(SgmcError.exit_code, f"{lines}sgmc: internal error\n{REPORT}", "")


def _fails(stream: IO[str] | None) -> bool:
    """Return True if flushing a stream fails, so that its buffered text is lost."""
    try:
        if stream is not None:
            stream.flush()
    except (OSError, ValueError):
        return True
    return False


def _out_of_memory(error: BaseException | None) -> bool:
    """Return True if an error, or the error that caused it, reports exhausted memory."""
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            return True
        error = error.__cause__ or error.__context__
    return False


def _give_up(stream: int) -> None:
    """Redirect a stream to the null device, so that Python reports no error when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


def _show_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if not asked or ctx.resilient_parsing:
        return
    from pysgrld.core import core
    from pysgrld.run.machine import RELEASE, threads

    echo(f"sgmc {RELEASE}")
    count = threads(None)
    have = ", ".join(core.available_isas())
    echo(f"instruction set  {core.isa()} (this machine has {have})")
    echo(f"compiler         {core.compiler}, OpenMP {core.openmp}")
    echo(f"threads          {count.number} ({count.source})")
    echo(f"python           {sys.version.split()[0]}")
    ctx.exit()


@click.group(
    cls=Sgmc,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""\b
Topic models by stochastic-gradient MCMC.
  sgmc train corpus.txt && sgmc report --open""",
    epilog="RUN is the folder or name of a run; by default the latest under ./sgmc-runs.",
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_version,
    help="Show version, instruction set, compiler and threads.",
)
def main() -> None:
    """Run ``sgmc``."""
    # Waiting OpenMP threads would spin, and so take processors from the threads that they wait for.
    # With this setting they sleep. The library reads it when the compiled core is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    # Start no threads of NumPy's OpenBLAS, because sgmc does not use them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
