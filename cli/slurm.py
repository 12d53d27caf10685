"""``sgmc slurm``: batch scripts for SLURM, for one job or for an array of jobs.

A script starts ``sgmc`` with ``srun``, so that ``sgmc`` and not the shell gets the signal before
the time limit. ``sgmc`` then writes a checkpoint and exits with code 85, and the script puts the
job back into the queue. ``scancel`` ends the shell too, so the job is not put back.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from pysgrld.errors import CorpusError, SgmcError, UsageError, plural
from pysgrld.options.parse import choice, duration, integer
from pysgrld.options.paths import is_there, read_input

from .options import Described, flag, given, plain
from .terminal import echo, named, standard_output

#: Default number of seconds before the time limit at which SLURM shall send its signal. SLURM
#: checks every 30 seconds and may send it 60 seconds early; writing a checkpoint takes time, too.
NOTICE = 180
#: Maximum number of jobs in an array, and SLURM's default limit.
MOST_JOBS, USUAL_JOBS = 100_000, 1000
#: Maximum size, in bytes, of the file of ``--setup``.
LARGEST = 1 << 20
#: Default maximum number of times that a job is requeued, unless its command detects by itself that
#: restarts make no progress.
RESTARTS = 20
#: Minimum time limit in seconds with the default notice; and minimum seconds by which a time limit
#: must exceed a given notice.
SHORTEST, BESIDE = 600, 60
#: Options of ``sbatch`` set by the script, which ``--sbatch`` must not set.
_OWN = {
    *("job-name", "J", "ntasks", "n", "cpus-per-task", "c", "time", "t", "signal", "requeue"),
    *("no-requeue", "open-mode", "array", "a", "nodes", "N", "ntasks-per-node", "mem"),
    *("partition", "p", "account", "A"),
}


def _notice(value: str) -> int:
    seconds = duration(value)
    if not 10 <= seconds <= 65535:
        raise UsageError(f"'{value}': SLURM accepts 10s to 18h")
    return math.ceil(seconds)


def _request(value: str) -> str:
    match = re.fullmatch(r"--([a-z][a-z-]*)(?:[= ].*)?|-([A-Za-z])(?:\s*\S.*)?", value)
    if match is None or not value.isprintable():
        raise UsageError(
            f"'{value}' is not an option of sbatch; write it like --sbatch '--gres=gpu:1'"
        )
    if (name := match[1] or match[2]) in _OWN:
        raise UsageError(
            f"'{value}': sgmc sets {name} in the script; see the options in 'sgmc slurm --help'"
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
        raise UsageError(f"'{value}' is not NAME=VALUE,VALUE,...")
    if len(set(items)) < len(items):
        raise UsageError(f"'{value}' has the same value twice")
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
  sgmc slurm --time 8h --nodes 8 --ranks-per-node 2 --cpus 32 -o big.sh -- \\
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
    "20; train: as long as it makes progress",
    "maximum number of times a job returns to the queue",
    parse=integer(0, 1000),
    metavar="N",
)
@plain("--setup", "none", "file with lines to run before the command", parse=str, metavar="FILE")
@plain("-o/--out", "standard output", "output file of the script", parse=str, metavar="FILE")
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

    The job writes a checkpoint before its time limit and returns to the queue until it is finished.
    COMMAND is checked now instead of after hours in the queue. The script is not submitted.
    """
    from pysgrld.run.layout import check_outputs
    from pysgrld.run.output_files import whole_file

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
    if time < least:
        raise UsageError(
            f"--time: {time:g} s are too short, because the stop signal comes {job.notice} s "
            f"before the end; give at least {least} s, or a shorter --notice"
        )
    if mpi_plugin and not job.shared:
        raise UsageError("--mpi-plugin requires --nodes or --ranks-per-node")
    written = os.fsencode(script(job))  # arguments may contain bytes that are not UTF-8
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
    with whole_file(path) as file:
        file.write(written)
    echo(f"submit the script with: sbatch {path}", err=True)


def _setup(path: str | None) -> str:
    if path is None:
        return ""
    try:
        return read_input(path, LARGEST, "setup of a job").decode()
    except UnicodeDecodeError:
        raise CorpusError(f"--setup {path}: is not a text in UTF-8") from None


def _program() -> tuple[str, ...]:
    """Return the command that starts this sgmc installation from any environment."""
    program = shutil.which(sys.argv[0])
    if program is not None and Path(program).name == "sgmc":
        return (str(Path(program).absolute()),)
    return (sys.executable, "-m", "pysgrld")


def _check(args: tuple[str, ...], *, shared: bool) -> list[str]:
    """Refuse arguments that ``sgmc`` itself would refuse at once; return missing input files.

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
            if shared != bool(values.get("mpi")):
                raise UsageError(
                    "--nodes and --ranks-per-node start several processes, which only 'train "
                    "--mpi' can use; give both or neither"
                )
            return _check_training(values) if args[0] == "train" else []


def _check_training(values: dict[str, Any]) -> list[str]:
    from pysgrld.models.choices import Choices

    choices = Choices(given(values))
    if values["mpi"]:
        choices.check_shared()
    corpus = values["corpus"]
    if "-" in corpus:
        raise UsageError("a batch job has no standard input; give the corpus instead of -")
    if corpus:
        choices.check()
    return [name for name in corpus if not is_there(name)]


def _doubts(job: Job, args: tuple[str, ...]) -> Iterator[str]:
    """Yield warnings if training does not fit its job's processors, memory or nodes."""
    if args[0] != "train":
        return
    from pysgrld.corpus.stored_files import is_stored
    from pysgrld.models.choices import Choices
    from pysgrld.train.estimate import estimate
    from pysgrld.train.request import Request

    from . import main
    from .ranks import Mute

    with main.make_context("sgmc", ["train"], resilient_parsing=True) as above:
        _, command, _ = main.resolve_command(above, ["train"])
        assert command is not None
        with command.make_context("train", list(args[1:]), parent=above) as context:
            corpus, typed = context.params["corpus"], given(context.params)
    if not corpus or not is_there(corpus[0]):
        return
    ranks = (job.nodes or 1) * (job.ranks or 1)
    if len(corpus) > 1 or not is_stored(Path(corpus[0])):
        if ranks > 1:
            yield (
                f"{corpus[0]}: is not a stored corpus, so one of {ranks} processes would read it "
                "while the others wait; run 'sgmc corpus build' before, and give its folder"
            )
        return
    request = Request(corpus, Choices({"threads": job.cpus, **typed}))
    with contextlib.suppress(SgmcError), Mute(quiet=True) as screen:
        needs = estimate(request, screen, ranks)
        if needs.threads > needs.useful_threads:
            yield (
                f"--cpus {job.cpus}: {plural(needs.useful_threads, 'processor')} per process are "
                f"enough for {needs.minibatch:,} documents in each iteration; give fewer, or "
                f"--minibatch {needs.enough_documents}"
            )
        allowed, here = _bytes(job.memory), needs.bytes * (job.ranks or 1)
        if allowed is not None and here > allowed:
            yield (
                f"--mem {job.memory}: training needs about {math.ceil(here / 2**20):,}M on each "
                "node; ask for more"
            )


def _bytes(memory: str | None) -> int | None:
    """Convert SLURM's memory size to bytes; without a unit, it is in megabytes."""
    if memory is None:
        return None
    number, unit = re.fullmatch(r"(\d+)([KMGT]?)", memory).groups()  # type: ignore[union-attr]
    return int(number) << {"K": 10, "": 20, "M": 20, "G": 30, "T": 40}[unit]


#: Options by which several jobs of an array write parts of one result.
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
                    f"its own, such as --out runs/a/chain-{i}"
                )


# ---- the script

#: Seconds after one rank's end at which remaining ranks are killed.
LAST_RANK = 30

_PLACE = re.compile(r"\{([A-Za-z_]\w*)\}")


class Job(NamedTuple):
    """Contents of a batch script: requested resources, and the command to run.

    Attributes
    ----------
    command : tuple of str
        Arguments of ``sgmc``. ``{i}`` stands for the number of a job in the array, from 1, ``{n}``
        for the number of jobs, and ``{NAME}`` for the job's value of ``over``.
    seconds : float
        Time limit of each job.
    cpus : int
        Processors of each process, and threads of ``sgmc`` in it.
    memory, partition, account : str or None
        Values in SLURM's format, or None for the site's default.
    array : int or None
        Number of jobs. None for a single job or, with ``over``, one job for each combination.
    over : mapping of str to tuple of str
        Values of each name; the array has one job for each combination of values.
    restarts : int or None
        Maximum number of times that a job is put back into the queue. With None, training is put
        back whenever it exits with 85, as it refuses a third start without progress by itself; any
        other command `RESTARTS` times.
    setup : str
        Shell lines before ``srun``, for example to load modules or activate an environment.
    program : tuple of str
        The command that starts ``sgmc``.
    nodes, ranks : int or None
        Number of nodes, and of MPI processes on each node, each process with ``cpus`` processors.
        None for both if the job runs a single process.
    plugin : str
        SLURM's name for its way to start MPI processes (``srun --mpi``).
    notice : int
        Seconds before the time limit at which SLURM is to send the signal.
    at_once : int or None
        Maximum number of jobs of the array that run at the same time.
    requests : tuple of str
        Additional options of ``sbatch``.
    """

    command: tuple[str, ...]
    seconds: float
    cpus: int = 1
    memory: str | None = None
    partition: str | None = None
    account: str | None = None
    array: int | None = None
    over: Mapping[str, tuple[str, ...]] = {}
    restarts: int | None = None
    setup: str = ""
    program: tuple[str, ...] = ("sgmc",)
    nodes: int | None = None
    ranks: int | None = None
    plugin: str = "pmi2"
    notice: int = NOTICE
    at_once: int | None = None
    requests: tuple[str, ...] = ()

    @property
    def shared(self) -> bool:
        """True if several MPI processes run the command."""
        return bool(self.nodes or self.ranks)

    def values(self) -> list[dict[str, str]]:
        """Return each job's mapping from names to values, which is empty for a single job.

        Raises
        ------
        UsageError
            If both ``array`` and ``over`` are given, if there are too many jobs, or if ``over`` has
            a reserved name (``i``, ``n``).
        """
        if not self.over and self.array is None:
            return [{}]
        if self.over and self.array is not None:
            raise UsageError("--array and --over cannot be combined; give one of them")
        for name in self.over:
            if name in ("i", "n"):
                raise UsageError(
                    f"--over {name}=...: {{{name}}} is the array's own; name it otherwise"
                )
        combinations = list(itertools.product(*self.over.values()))
        number = self.array or len(combinations)
        if number > MOST_JOBS:
            raise UsageError(
                f"{number:,} jobs are too many for an array; the maximum is {MOST_JOBS:,}"
            )
        named = [dict(zip(self.over, combination, strict=True)) for combination in combinations] * (
            self.array or 1
        )
        return [
            {"i": str(i), "n": str(number)} | combination for i, combination in enumerate(named, 1)
        ]

    def commands(self) -> list[tuple[str, ...]]:
        """Return the ``sgmc`` arguments of each job.

        Raises
        ------
        UsageError
            If a name in braces has no value, or two jobs would run the same command.
        """
        commands = [tuple(_filled(word, each) for word in self.command) for each in self.values()]
        seen: dict[tuple[str, ...], int] = {}
        for i, command in enumerate(commands, 1):
            other = seen.setdefault(command, i)
            if other != i:
                same = "{i}" if self.array else "every {NAME} of --over"
                raise UsageError(
                    f"jobs {other} and {i} of the array would run the same command; use {same} in "
                    f"it, such as --chain-id {i} --out runs/a/chain-{i}"
                )
        return commands


def _filled(word: str, values: Mapping[str, str]) -> str:
    """Replace names in braces by their values."""
    for name in _PLACE.findall(word):
        if name not in values:
            placeholders = ", ".join(f"{{{n}}}" for n in values) or "none, as this is one job"
            raise UsageError(
                f"{{{name}}} in the command stands for nothing; there is {placeholders}"
            )
    return _PLACE.sub(lambda match: values[match[1]], word)


def script(job: Job) -> str:
    """Return the batch script for a job or an array of jobs.

    Raises
    ------
    UsageError
        If the command or the array is invalid (see `Job.commands`).
    """
    values = job.values()
    job.commands()
    array = len(values) if values[0] else None
    tasks, together = "--ntasks=1", ""
    if job.shared:
        tasks = f"--nodes={job.nodes or 1} --ntasks-per-node={job.ranks or 1}"
        # Ranks exit with 85 one after another; a rank that SLURM killed would exit with 143.
        together = f"--mpi={job.plugin} --kill-on-bad-exit=0 --wait={LAST_RANK} "
    requests = [
        f"--job-name=sgmc {tasks} --cpus-per-task={job.cpus} --time={_clock(job.seconds)}",
        f"--signal=USR1@{job.notice} --requeue --open-mode=append",
        f"--output=%x-{'%A_%a' if array else '%j'}.out",
    ]
    if array:
        requests.append(f"--array=1-{array}{f'%{job.at_once}' if job.at_once else ''}")
    elif job.at_once:
        raise UsageError("--at-once requires --array or --over")
    for name, value in (
        ("mem", job.memory),
        ("partition", job.partition),
        ("account", job.account),
    ):
        if value is not None:
            requests.append(f"--{name}={value}")
    requests += job.requests
    restarts = job.restarts
    if restarts is None and job.command[:1] != ("train",):
        restarts = RESTARTS
    again = "[ $code -eq 85 ]"
    if restarts is not None:
        again += f' && [ "${{SLURM_RESTART_COUNT:-0}}" -lt {restarts} ]'
    me = "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}" if array else "$SLURM_JOB_ID"
    words = " ".join(_word(word, values[0]) for word in job.command)
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {request}" for request in requests),
        "",
        f"# {job.notice} seconds before its time limit sgmc gets USR1, writes a checkpoint and "
        "ends",
        "# with 85; the job goes back into the queue and resumes. scancel ends it.",
        *_chosen(job, values),
        *job.setup.splitlines(),
        'export OMP_NUM_THREADS="$SLURM_CPUS_PER_TASK"',
        f'srun {together}--cpus-per-task="$SLURM_CPUS_PER_TASK" \\',
        f"  {shlex.join(job.program)} {words}",
        "code=$?",
        f"if {again}; then",
        f'  scontrol requeue "{me}"',
        "fi",
        "exit $code",
    ]
    return "\n".join(lines) + "\n"


def _chosen(job: Job, values: Sequence[Mapping[str, str]]) -> list[str]:
    """Return shell lines that set a variable for each name in braces within the command."""
    used = {name for word in job.command for name in _PLACE.findall(word)}
    lines = [
        f"{name}={value}"
        for name, value in (("i", "$SLURM_ARRAY_TASK_ID"), ("n", str(len(values))))
        if name in used
    ]
    if job.over:
        lines.append('case "$SLURM_ARRAY_TASK_ID" in')
        for i, each in enumerate(values, 1):
            assignments = " ".join(
                f"{name}={shlex.quote(each[name])}" for name in job.over if name in used
            )
            lines.append(f"  {i}) {assignments} ;;")
        lines.append("esac")
    return lines


def _word(word: str, values: Mapping[str, str]) -> str:
    """Quote a word for the shell, in which names in braces become variables."""
    if not _PLACE.search(word):
        return shlex.quote(word)
    pieces = _PLACE.split(word)  # alternately text and name, from text to text
    text = [re.sub(r'([\\"$`])', r"\\\1", piece) for piece in pieces]
    text[1::2] = [f"${{{name}}}" if "".join(pieces[::2]) else f"${name}" for name in pieces[1::2]]
    return f'"{"".join(text)}"'


def _clock(seconds: float) -> str:
    """Format a duration for SLURM, days-hours:minutes:seconds, rounded up to a minute."""
    minutes = math.ceil(seconds / 60)
    days, minutes = divmod(minutes, 24 * 60)
    day = f"{days}-" if days else ""
    return f"{day}{minutes // 60:02}:{minutes % 60:02}:00"
