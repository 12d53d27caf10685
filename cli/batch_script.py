"""Batch scripts for SLURM, for one job or for an array of jobs.

A script starts ``sgmc`` with ``srun``, so that SLURM sends the signal before the time limit to
``sgmc`` and not to the shell. After this signal, a command that can resume (`RESUMING`) saves its
state and exits with code 85, and the script puts the job back into the queue. ``scancel`` ends the
shell too, so the job is not put back. For other commands the script requests no signal.
"""

from __future__ import annotations

import itertools
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pysgrld.errors import UsageError

#: By default, SLURM is asked to send its signal this number of seconds before the time limit. SLURM
#: checks every 30 seconds and may send the signal 60 seconds early. A checkpoint takes time, too.
NOTICE = 180
#: Maximum number of jobs in an array.
MOST_JOBS = 100_000
#: Default maximum number of times that a job returns to the queue. ``train`` has no maximum,
#: because it ends by itself if restarts make no progress.
RESTARTS = 20
#: When one MPI process has ended, SLURM waits this number of seconds and then kills the others.
LAST_RANK = 30

#: Commands that stop at a signal, and resume when the same command is run again.
RESUMING = (("train",), ("search",), ("corpus", "build"))

_PLACE = re.compile(r"\{([A-Za-z_]\w*)\}")


class Job(NamedTuple):
    """Contents of a batch script: the requested resources, and the command that it runs.

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

    @property
    def name(self) -> str:
        """Name of the command, such as ``train`` or ``merge``."""
        return self.command[1 if self.command[0] == "corpus" and self.command[1:] else 0]

    @property
    def resumes(self) -> bool:
        """True if the command can be stopped and continues when it is started again."""
        return self.writes_parts or any(self.command[: len(words)] == words for words in RESUMING)

    @property
    def writes_parts(self) -> bool:
        """True if the command is ``infer`` and writes a folder of parts, so that it can resume."""
        outputs = [
            value
            for option, value in itertools.pairwise(self.command)
            if option in ("-o", "--out") and value.endswith("/")
        ]
        return self.command[:1] == ("infer",) and ("--part" in self.command or bool(outputs))

    def values(self) -> list[dict[str, str]]:
        """Return each job's values of placeholders such as ``{seed}``; none for a single job.

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
                    f"--over {name}=...: the name {name} is reserved, because {{{name}}} is "
                    + ("the number of the job" if name == "i" else "the number of jobs")
                    + "; choose another name"
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
                    f"jobs {other} and {i} of the array have the same command; write {same} in "
                    "the command, for example --chain-id {i} --out runs/a/chain-{i}"
                )
        return commands


def _filled(word: str, values: Mapping[str, str]) -> str:
    """Replace names in braces in a word of the command, such as ``{seed}``, by their values."""
    for name in _PLACE.findall(word):
        if name not in values:
            names = ", ".join(f"{{{n}}}" for n in values)
            advice = f"available names: {names}" if names else "give --array or --over"
            raise UsageError(f"{{{name}}} in the command has no value; {advice}")
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
        # When a run stops, its ranks exit with code 85, one after another. Without the last two
        # options, SLURM would kill the last ranks, and their exit code would be 143.
        together = f"--mpi={job.plugin} --kill-on-bad-exit=0 --wait={LAST_RANK} "
    requests = [
        f"--job-name=sgmc-{job.name} {tasks} --cpus-per-task={job.cpus} --time={_clock(job.seconds)}",
        (f"--signal=USR1@{job.notice} " if job.resumes else "") + "--requeue --open-mode=append",
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
        *_comment(job),
        *_chosen(job, values),
        *job.setup.splitlines(),
        'export OMP_NUM_THREADS="$SLURM_CPUS_PER_TASK"',
        f'srun {together}--cpus-per-task="$SLURM_CPUS_PER_TASK" \\',
        f"  {shlex.join(job.program)} {words}",
    ]
    if job.resumes:
        lines += ["code=$?", f"if {again}; then", f'  scontrol requeue "{me}"', "fi", "exit $code"]
    return "\n".join(lines) + "\n"


def _comment(job: Job) -> list[str]:
    """Return the script's comments, which explain the time limit and the MPI options."""
    if job.shared:
        return [
            *_comment(job._replace(nodes=None, ranks=None)),
            f"# --mpi={job.plugin}: how srun starts MPI processes; 'srun --mpi=list' lists the "
            "plugins of this cluster.",
            "# --kill-on-bad-exit=0: if one process exits, the others may still write their files.",
            f"# --wait={LAST_RANK}: {LAST_RANK} seconds after one process has ended, the others are "
            "killed.",
            "# Not tested with sgmc: a real network, over two threads in a process, Lustre, GPFS.",
        ]
    if not job.resumes:
        return [
            "# This command cannot resume: it must end within the time limit. Submit the script "
            "again if it fails."
        ]
    return [
        f"# {job.notice} seconds before the time limit, SLURM sends USR1. sgmc then saves its state "
        "and exits with",
        "# code 85, and the job returns to the queue and resumes. To end the job, use scancel.",
    ]


def _chosen(job: Job, values: Sequence[Mapping[str, str]]) -> list[str]:
    """Return shell lines that set a variable for each placeholder of the command."""
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
    """Quote a word for the shell; each name in braces becomes a shell variable."""
    if not _PLACE.search(word):
        return shlex.quote(word)
    # `split` returns the texts between names at even positions, and the names at odd positions.
    pieces = _PLACE.split(word)
    text = [re.sub(r'([\\"$`])', r"\\\1", piece) for piece in pieces]
    text[1::2] = [f"${{{name}}}" if "".join(pieces[::2]) else f"${name}" for name in pieces[1::2]]
    return f'"{"".join(text)}"'


def _clock(seconds: float) -> str:
    """Format a duration for SLURM as days-hours:minutes:seconds, rounded up to a minute."""
    minutes = math.ceil(seconds / 60)
    days, minutes = divmod(minutes, 24 * 60)
    day = f"{days}-" if days else ""
    return f"{day}{minutes // 60:02}:{minutes % 60:02}:00"
