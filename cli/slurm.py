"""``sgmc slurm``."""

from __future__ import annotations

import itertools
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import click

from pysgrld.errors import CorpusError, MissingInputError, OutputError, UsageError
from pysgrld.options.parse import choice, duration, integer, text

from .options import Described, flag, given, plain
from .terminal import echo

#: The shortest time limit: the signal comes three minutes before it.
SHORTEST = 600


def _time(value: str) -> float:
    seconds = duration(value)
    if seconds < SHORTEST:
        raise UsageError(
            f"'{value}' is too short: the signal comes 3 minutes before; give at least 10m"
        )
    return seconds


def _memory(value: str) -> str:
    if not re.fullmatch(r"[1-9]\d{0,8}[KMGT]?", value):
        raise UsageError(f"'{value}' is not a size as SLURM takes it: write 64G or 800M")
    return value


def _name(value: str) -> str:
    if not re.fullmatch(r"[\w.,@+:-]{1,200}", value):
        raise UsageError(f"'{value}' is not a name that SLURM could know")
    return value


def _over(value: str) -> tuple[str, tuple[str, ...]]:
    name, equals, values = value.partition("=")
    found = tuple(values.split(","))
    if not equals or not re.fullmatch(r"[A-Za-z_]\w*", name) or not all(found):
        raise UsageError(f"'{value}' is not NAME=VALUE,VALUE,...")
    if len(set(found)) < len(found):
        raise UsageError(f"'{value}' has a value twice")
    return name, found


@click.command(
    "slurm",
    cls=Described,
    epilog="""\b
Examples:
  sgmc slurm --time 4h --cpus 32 -o job.sh -- train corpus.txt --out runs/a
  sgmc slurm --time 4h --cpus 8 --array 4 -o chains.sh -- \\
    train built --chain-id {i} --out runs/a/chain-{i}
  sgmc slurm --time 2h --cpus 8 --over k=50,100 --over seed=1,2 -o k.sh -- \\
    train built -k {k} --seed {seed} --out runs/k{k}-s{seed}
  sgmc slurm --time 8h --nodes 8 --ranks-per-node 2 --cpus 32 -o big.sh -- \\
    train --mpi built -k 1000 --minibatch 200000 --out runs/big

{i} and {n} are an array's place and size, {NAME} a value of --over.""",
)
@click.argument("command_line", nargs=-1, metavar="-- COMMAND [ARGS]...", required=True)
@plain("--time", "", "time limit of a job: 4h, 1d12h", parse=_time, metavar="TIME", required=True)
@plain(
    "--nodes", "one process", "train --mpi: nodes of a job", parse=integer(1, 100_000), metavar="N"
)
@plain(
    "--ranks-per-node",
    "1",
    "train --mpi: processes on each node",
    parse=integer(1, 4096),
    metavar="R",
)
@plain(
    "--mpi-plugin",
    "pmi2",
    "train --mpi: how SLURM starts processes: pmi2, pmix",
    parse=choice("pmi2", "pmix"),
    metavar="NAME",
)
@plain("--cpus", "1", "processors of each process", parse=integer(1, 4096), metavar="N")
@plain("--mem", "the site's", "memory of a job: 64G", parse=_memory, metavar="SIZE")
@plain("--partition", "the site's", "partition", parse=_name, metavar="NAME")
@plain("--account", "the site's", "account", parse=_name, metavar="NAME")
@plain("--array", "one job", "an array of so many jobs", parse=integer(1, 1000), metavar="N")
@plain(
    "--over",
    "none",
    "a job for each value; of several options, for each combination",
    parse=_over,
    metavar="NAME=V,...",
    multiple=True,
)
@plain(
    "--restarts", "20", "times that a job goes back at most", parse=integer(0, 1000), metavar="N"
)
@plain("--setup", "none", "lines to run first, from a file", parse=text, metavar="FILE")
@plain("-o/--out", "standard output", "file of the script", parse=text, metavar="FILE")
@flag("--force", "replace a file that is there")
def command(
    command_line: tuple[str, ...],
    time: float,
    nodes: int | None,
    ranks_per_node: int | None,
    mpi_plugin: str | None,
    cpus: int | None,
    over: tuple[tuple[str, tuple[str, ...]], ...],
    restarts: int | None,
    setup: str | None,
    out: str | None,
    force: bool,
    **values: Any,
) -> None:
    """Write a batch script for SLURM that runs COMMAND, an sgmc command.

    The job writes a checkpoint before its time limit and goes back into the queue until it is done.
    COMMAND is checked now, not after hours in the queue. Nothing is submitted.
    """
    from pysgrld.cli.slurm_script import Job, script
    from pysgrld.run.files import whole_file

    named = dict(over)
    if len(named) < len(over):
        raise UsageError("--over: a name is given twice; list all its values in one")
    job = Job(
        tuple(command_line),
        time,
        cpus or 1,
        values["mem"],
        values["partition"],
        values["account"],
        values["array"],
        named,
        20 if restarts is None else restarts,
        _setup(setup),
        ("sgmc",) if setup else _program(),
        nodes,
        ranks_per_node,
        mpi_plugin or "pmi2",
    )
    if mpi_plugin and not job.shared:
        raise UsageError("--mpi-plugin has a meaning with --nodes or --ranks-per-node: give one")
    written = script(job)
    commands = job.commands()
    _check_folders(commands)
    missing = {name: None for each in commands for name in _check(each, shared=job.shared)}
    for name in missing:
        echo(f"sgmc: note: {name}: is not there now", err=True)
    if out is None:
        click.echo(written, nl=False)
        echo("write it to a file with -o FILE, and submit it with: sbatch FILE", err=True)
        return
    path = Path(out)
    if path.exists() and not force:
        raise OutputError(f"{path}: is there already; give --force, or another name")
    with whole_file(path) as file:
        file.write(written.encode())
    echo(f"submit it with: sbatch {path}", err=True)


def _setup(path: str | None) -> str:
    if path is None:
        return ""
    from pysgrld.run.files import read_small

    try:
        return read_small(Path(path), links=True).decode()
    except OSError as error:
        raise MissingInputError(f"--setup {path}: {error.strerror or error}") from None
    except ValueError:
        raise CorpusError(f"--setup {path}: is no text in UTF-8") from None


def _program() -> tuple[str, ...]:
    """Give the words that start this very sgmc, whatever the environment of the job."""
    found = shutil.which(sys.argv[0])
    if found is not None and Path(found).name == "sgmc":
        return (str(Path(found).absolute()),)
    return (sys.executable, "-m", "pysgrld")


def _check(args: tuple[str, ...], *, shared: bool) -> list[str]:
    """Refuse what ``sgmc`` would refuse before it reads anything; give inputs that are not there.

    Raises
    ------
    click.UsageError
        As the command itself does.
    UsageError
        If it cannot run in a batch job, or its options contradict each other.
    """
    from . import main

    if args[0] == "slurm":
        raise UsageError("a batch job does not write batch scripts: name another command")
    with main.make_context("sgmc", list(args[:1]), resilient_parsing=True) as above:
        _, found, _ = main.resolve_command(above, list(args[:1]))
        if found is None:
            raise UsageError(f"there is no command '{args[0]}'")
        with found.make_context(args[0], list(args[1:]), parent=above) as context:
            values = context.params
            if shared != bool(values.get("mpi")):
                raise UsageError(
                    "--nodes and --ranks-per-node start several processes, which 'train --mpi' alone can "
                    "use: give all of them, or none"
                )
            return _check_training(values) if args[0] == "train" else []


def _check_training(values: dict[str, Any]) -> list[str]:
    from pysgrld.models.options import check_shared
    from pysgrld.train.request import Request

    if values["mpi"]:
        check_shared(given(values))
    corpus = values["corpus"]
    if "-" in corpus:
        raise UsageError("a batch job has no standard input: name the corpus instead of -")
    if corpus:
        Request(corpus, given(values)).check()
    return [name for name in corpus if not Path(name).exists()]


#: Options by which jobs write parts of one thing.
_SHARING = ("--shard", "--part", "--task")


def _check_folders(commands: list[tuple[str, ...]]) -> None:
    """Refuse an array of which two jobs would write into one folder."""
    seen: dict[str, int] = {}
    for i, args in enumerate(commands, 1):
        if any(arg.split("=")[0] in _SHARING for arg in args):
            continue
        for option, value in itertools.pairwise(args):
            if option in ("--out", "-o") and (other := seen.setdefault(value, i)) != i:
                raise UsageError(
                    f"jobs {other} and {i} of the array would both write to {value}: give each its "
                    "own, as in --out runs/a/chain-{i}"
                )
