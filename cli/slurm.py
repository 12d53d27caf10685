"""The command ``sgmc slurm``, which checks a command and writes a batch script that runs it."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from pysgrld.errors import CorpusError, SgmcError, UsageError, plural
from pysgrld.options.parse import choice, duration, integer
from pysgrld.options.paths import path_exists, read_input

from .batch_script import MOST_JOBS, NOTICE, Job, script
from .options import Described, flag, given, plain
from .terminal import echo, named, standard_output

#: SLURM's default maximum number of jobs in an array.
USUAL_JOBS = 1000
#: Word in the scripts of ``sgmc plan`` that stands for all input files.
PLACEHOLDER = "FILES"
#: Names of the options whose values are files or folders of input.
_INPUTS = ("vocab", "metadata", "phrases", "seed_words", "holdout_corpus")
#: Names of the arguments whose values are inputs or runs.
_ARGUMENTS = ("corpus", "run", "runs", "run_and_corpus", "named", "folder")
#: Maximum size, in bytes, of the file given with ``--setup``.
LARGEST = 1 << 20
#: Minimum time limit in seconds if the user does not give ``--notice``.
SHORTEST = 600
#: A time limit must exceed ``--notice`` by at least this number of seconds.
BESIDE = 60
#: Options of ``sbatch`` that the script itself sets, so that ``--sbatch`` must not set them.
_OWN = {
    *("job-name", "J", "ntasks", "n", "cpus-per-task", "c", "time", "t", "signal", "requeue"),
    *("no-requeue", "open-mode", "array", "a", "nodes", "N", "ntasks-per-node", "mem"),
    *("partition", "p", "account", "A"),
}


def _notice(value: str) -> int:
    seconds = duration(value)
    if not 10 <= seconds <= 65535:
        raise UsageError(f"'{value}' is not a time that SLURM accepts here; give 10s to 18h")
    return math.ceil(seconds)


def _request(value: str) -> str:
    match = re.fullmatch(r"--([a-z][a-z-]*)(?:[= ].*)?|-([A-Za-z])(?:\s*\S.*)?", value)
    if match is None or not value.isprintable():
        raise UsageError(
            f"'{value}' is not an option of sbatch; write it like --sbatch '--gres=gpu:1'"
        )
    if (name := match[1] or match[2]) in _OWN:
        raise UsageError(
            f"'{value}' cannot be added, because sgmc sets {name} in the script; use the options in "
            "'sgmc slurm --help'"
        )
    return value


def _memory(value: str) -> str:
    if not re.fullmatch(r"[1-9]\d{0,8}[KMGT]?", value):
        raise UsageError(f"'{value}' is not a size for SLURM; write 64G or 800M")
    return value


def _name(value: str) -> str:
    if not re.fullmatch(r"[\w.,@+:-]{1,200}", value):
        raise UsageError(
            f"'{value}' is not a name for SLURM; use letters, digits and . , @ + : - _"
        )
    return value


def _over(value: str) -> tuple[str, tuple[str, ...]]:
    name, equals, values = value.partition("=")
    items = tuple(values.split(","))
    if not equals or not re.fullmatch(r"[A-Za-z_]\w*", name) or not all(items):
        raise UsageError(f"'{value}' is not of the form NAME=VALUE,VALUE,...")
    if len(set(items)) < len(items):
        raise UsageError(f"'{value}' has the same value twice; remove one")
    return name, items


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
  sgmc slurm --time 8h --nodes 8 --ranks-per-node 2 --cpus 16 -o big.sh -- \\
    train --mpi built -k 1000 --minibatch 200000 --out runs/big

{i} and {n} are an array's place and size, {NAME} a value of --over.""",
)
@click.argument("command_line", nargs=-1, metavar="-- COMMAND [ARGS]...", required=True)
@plain(
    "--time", "", "time limit of a job: 4h, 1d12h", parse=duration, metavar="TIME", required=True
)
@plain(
    "--notice", "3m", "time between the stop signal and the limit", parse=_notice, metavar="TIME"
)
@plain(
    "--nodes",
    "one process",
    "train --mpi: number of nodes of a job",
    parse=integer(1, 100_000),
    metavar="N",
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
    "train --mpi: MPI plugin of srun: pmi2, pmix",
    parse=choice("pmi2", "pmix"),
    metavar="NAME",
)
@plain("--cpus", "1", "number of processors per process", parse=integer(1, 4096), metavar="N")
@plain("--mem", "the site's", "memory of a job: 64G", parse=_memory, metavar="SIZE")
@plain("--partition", "the site's", "partition", parse=_name, metavar="NAME")
@plain("--account", "the site's", "account", parse=_name, metavar="NAME")
@plain(
    "--array", "one job", "write a job array of N jobs", parse=integer(1, MOST_JOBS), metavar="N"
)
@plain(
    "--at-once",
    "all",
    "maximum number of jobs of an array that run at the same time",
    parse=integer(1),
    metavar="N",
)
@plain(
    "--sbatch",
    "none",
    "further #SBATCH line, such as '--gres=gpu:1' (may be repeated)",
    parse=_request,
    metavar="LINE",
    multiple=True,
)
@plain(
    "--over",
    "none",
    "one job for each value, or for each combination of several --over",
    parse=_over,
    metavar="NAME=V,...",
    multiple=True,
)
@plain(
    "--restarts",
    "20; train: no limit while training makes progress",
    "maximum number of times a job returns to the queue",
    parse=integer(0, 1000),
    metavar="N",
)
@plain("--setup", "none", "file with lines to run before the command", parse=str, metavar="FILE")
@plain(
    "-o/--out", "standard output", "file to which the script is written", parse=str, metavar="FILE"
)
@flag("--force", "replace an existing file")
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

    A job of 'train', 'search', 'corpus build' or 'infer' into a folder/ stops before its time limit
    and returns to the queue until it is finished. COMMAND is checked now instead of after hours in
    the queue. The script is not submitted.
    """
    from pysgrld.run.layout import check_outputs
    from pysgrld.run.output_files import open_output

    values_by_name = dict(over)
    if len(values_by_name) < len(over):
        raise UsageError("--over: a name is given twice; list all its values in one --over")
    job = Job(
        tuple(command_line),
        time,
        cpus or 1,
        values["mem"],
        values["partition"],
        values["account"],
        values["array"],
        values_by_name,
        restarts,
        _setup(setup),
        ("sgmc",) if setup else _program(),
        nodes,
        ranks_per_node,
        mpi_plugin or "pmi2",
        values["notice"] or NOTICE,
        values["at_once"],
        values["sbatch"],
    )
    least = max(job.notice + BESIDE, SHORTEST if values["notice"] is None else 0)
    if not job.resumes and (values["notice"] is not None or restarts is not None):
        raise UsageError(
            f"--notice and --restarts: '{' '.join(command_line[:1])}' cannot be stopped and resumed; "
            "leave out these options, and give enough --time"
        )
    if job.resumes and time < least:
        raise UsageError(
            f"--time: {time:g} s are too short, because the stop signal comes {job.notice} s "
            f"before the end; give at least {least} s, or a shorter --notice"
        )
    if mpi_plugin and not job.shared:
        raise UsageError("--mpi-plugin requires --nodes or --ranks-per-node")
    written = os.fsencode(script(job))  # The arguments may contain bytes that are not UTF-8.
    commands = job.commands()
    _check_folders(commands)
    missing = {name: None for command in commands for name in _check(command, shared=job.shared)}
    for name in missing:
        echo(f"sgmc: note: {name}: does not exist yet", err=True)
    for line in _doubts(job, commands[0]):
        echo(f"sgmc: warning: {line}", err=True)
    if len(commands) > USUAL_JOBS:
        echo(
            f"sgmc: note: {len(commands):,} jobs: SLURM accepts {USUAL_JOBS:,} in an array, "
            "unless the site has a higher MaxArraySize",
            err=True,
        )
    if out is None:
        with named("standard output"):
            file = standard_output()
            file.write(written)
            file.flush()
        echo("to submit the script, write it to a file with -o FILE, then: sbatch FILE", err=True)
        return
    path = Path(out)
    check_outputs([path], force=force, inputs=[setup] if setup else [])
    with open_output(path) as file:
        file.write(written)
    echo(f"submit the script with: sbatch {path}", err=True)


def _setup(path: str | None) -> str:
    if path is None:
        return ""
    try:
        return read_input(path, LARGEST, "setup of a job").decode()
    except UnicodeDecodeError:
        raise CorpusError(f"--setup {path}: is not a text in UTF-8; save it as UTF-8") from None


def _program() -> tuple[str, ...]:
    """Return the command line that starts this installation of sgmc from any environment."""
    program = shutil.which(sys.argv[0])
    if program is not None and Path(program).name == "sgmc":
        return (str(Path(program).absolute()),)
    return (sys.executable, "-m", "pysgrld")


def _check(args: tuple[str, ...], *, shared: bool) -> list[str]:
    """Check the command of a batch job as ``sgmc`` would at its start; return missing inputs.

    Raises
    ------
    click.UsageError
        If the command itself would raise it.
    UsageError
        If the command cannot run in a batch job, or its options contradict each other.
    """
    from . import main

    if args[0] == "slurm":
        raise UsageError("a batch job cannot write batch scripts; give another command")
    with main.make_context("sgmc", list(args[:1]), resilient_parsing=True) as above:
        _, command, _ = main.resolve_command(above, list(args[:1]))
        if command is None:
            raise UsageError(f"unknown command '{args[0]}'; 'sgmc help' lists the commands")
        with command.make_context(args[0], list(args[1:]), parent=above) as context:
            values = context.params
            missing = _missing(command, values)
            if isinstance(command, click.Group):
                subcommand, values = _subcommand(command, context, list(args[1:]))
                missing = _missing(subcommand, values)
            if shared != bool(values.get("mpi")):
                raise UsageError(
                    "several processes need both 'train --mpi' and one of --nodes and --ranks-per-node; "
                    "give both, or neither"
                )
            if values.get("shard") and all(map(path_exists, values["corpus"])):
                from pysgrld.corpus.shards import check_shards

                from .corpus import corpus_options

                check_shards(values["corpus"], corpus_options(values), values["shard"][1])
            if args[0] == "train":
                _check_training(values)
            return missing


def _subcommand(
    group: click.Group, above: click.Context, args: list[str]
) -> tuple[click.Command, dict[str, Any]]:
    """Return a subcommand, such as ``corpus build``, and the values of its arguments."""
    name, command, rest = group.resolve_command(above, args)
    assert command is not None
    with command.make_context(name, rest, parent=above) as context:
        return command, context.params


def _missing(command: click.Command, values: Mapping[str, Any]) -> list[str]:
    """Return the inputs of a command (files, folders or names of runs) that do not exist.

    Raises
    ------
    UsageError
        If an input is standard input, or the placeholder of ``sgmc plan``.
    """
    from pysgrld.corpus.shards import shards_of
    from pysgrld.run.choose import ROOT

    names = [values[name] for name in _INPUTS if values.get(name) is not None]
    for parameter in command.params:
        if isinstance(parameter, click.Argument) and parameter.name in _ARGUMENTS:
            value = values[parameter.name] or ()
            names += [value] if isinstance(value, str) else value
    if "-" in names:
        raise UsageError("a batch job has no standard input; give the corpus instead of -")
    if command.name == "merge":
        names = [str(shards_of(Path(name))) for name in names]
    missing = [name for name in names if not (path_exists(name) or path_exists(ROOT / name))]
    if PLACEHOLDER in missing:
        raise UsageError(
            f"{PLACEHOLDER} is a placeholder of 'sgmc plan'; give all input files in its place, such "
            "as crawl/part-*.jsonl.gz"
        )
    return missing


def _check_training(values: dict[str, Any]) -> None:
    from pysgrld.models.choices import Choices

    choices = Choices(given(values))
    if values["mpi"]:
        choices.check_shared()
    if values["corpus"]:
        choices.check()


def _doubts(job: Job, args: tuple[str, ...]) -> Iterator[str]:
    """Yield warnings if the job's processors, memory or nodes do not suit the training command."""
    if args[0] != "train":
        return
    from pysgrld.corpus.stored_files import is_stored
    from pysgrld.models.choices import Choices
    from pysgrld.train.estimate import MOST, estimate
    from pysgrld.train.request import Request

    from . import main
    from .ranks import Mute

    with main.make_context("sgmc", ["train"], resilient_parsing=True) as above:
        _, command, _ = main.resolve_command(above, ["train"])
        assert command is not None
        with command.make_context("train", list(args[1:]), parent=above) as context:
            corpus, typed = context.params["corpus"], given(context.params)
    if not corpus or not path_exists(corpus[0]):
        return
    ranks = (job.nodes or 1) * (job.ranks or 1)
    if len(corpus) > 1 or not is_stored(Path(corpus[0])):
        if ranks > 1:
            yield (
                f"{corpus[0]}: is not a stored corpus, so one of {ranks} processes has to read "
                "it while the others wait; build it first with 'sgmc corpus build', and give "
                "the folder of the corpus"
            )
        return
    request = Request(corpus, Choices({"threads": job.cpus, **typed}))
    with contextlib.suppress(SgmcError), Mute(quiet=True) as screen:
        needs = estimate(request, screen, ranks)
        if needs.threads > needs.useful_threads:
            larger = needs.useful_threads < MOST and needs.enough_documents > needs.minibatch
            yield (
                f"--cpus {job.cpus}: {needs.minibatch:,} documents in each iteration keep only "
                f"{plural(needs.useful_threads, 'processor')} per process busy; give fewer "
                f"--cpus{f', or --minibatch {needs.enough_documents}' if larger else ''}"
            )
        allowed, here = _bytes(job.memory), needs.bytes * (job.ranks or 1)
        if allowed is not None and here > allowed:
            yield (
                f"--mem {job.memory}: training needs about {math.ceil(here / 2**20):,}M on each "
                "node; ask for more"
            )


def _bytes(memory: str | None) -> int | None:
    """Convert a memory size in SLURM's notation to bytes; without a unit, SLURM means megabytes."""
    if memory is None:
        return None
    number, unit = re.fullmatch(r"(\d+)([KMGT]?)", memory).groups()  # type: ignore[union-attr]
    return int(number) << {"K": 10, "": 20, "M": 20, "G": 30, "T": 40}[unit]


#: With one of these options, all jobs of an array may write to one folder, because each job writes
#: another part of the result.
_SHARING = ("--shard", "--part", "--task")


def _check_folders(commands: list[tuple[str, ...]]) -> None:
    """Raise an error if two jobs of an array would write to the same folder."""
    seen: dict[str, int] = {}
    for i, args in enumerate(commands, 1):
        if any(arg.split("=")[0] in _SHARING for arg in args):
            continue
        for option, value in itertools.pairwise(args):
            if option in ("--out", "-o") and (other := seen.setdefault(value, i)) != i:
                raise UsageError(
                    f"jobs {other} and {i} of the array would both write to {value}; give each "
                    f"job another output, such as --out runs/a/chain-{i}"
                )
