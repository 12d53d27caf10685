"""Batch scripts for SLURM: one job, or an array of jobs that differ in some values.

A script starts ``sgmc`` by ``srun``, so that the signal before the time limit reaches it and not the
shell; it writes a checkpoint and ends with 85, and the script asks for the job to be put back into
the queue. ``scancel`` ends the shell as well, and with it the job for good.
"""

from __future__ import annotations

import itertools
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pysgrld.errors import UsageError

#: Seconds before the time limit at which SLURM is to send its signal: it looks every half minute,
#: may send it a minute early, and a checkpoint has to be written.
NOTICE = 180
#: Jobs of an array at most, as SLURM is usually set up.
MOST_JOBS = 1000
#: Seconds after which ranks are ended that have not ended with another one: it has died.
LAST_RANK = 30

_PLACE = re.compile(r"\{([A-Za-z_]\w*)\}")


class Job(NamedTuple):
    """A request to SLURM: what a batch script asks for, and the command that it runs.

    Attributes
    ----------
    command : tuple of str
        Arguments of ``sgmc``. ``{i}`` stands for the number of a job of an array, from 1, ``{n}`` for how
        many there are, and ``{NAME}`` for its value of ``over``.
    seconds : float
        Time limit of each job.
    cpus : int
        Processors of a job, and threads of ``sgmc``.
    memory, partition, account : str or None
        As SLURM takes them; None: as the site has them by default.
    array : int or None
        Number of jobs; None for one job, or for one for each combination of ``over``.
    over : mapping of str to tuple of str
        Values of each name; jobs are all their combinations.
    restarts : int
        How many times a job is put back into the queue at most.
    setup : str
        Lines that come before ``srun``: modules, an environment.
    program : tuple of str
        The words that start ``sgmc``.
    nodes, ranks : int or None
        Nodes of a job, and MPI processes on each, with ``cpus`` each; None for both: one process.
    plugin : str
        How SLURM starts MPI processes, by its name for it.
    """

    command: tuple[str, ...]
    seconds: float
    cpus: int = 1
    memory: str | None = None
    partition: str | None = None
    account: str | None = None
    array: int | None = None
    over: Mapping[str, tuple[str, ...]] = {}
    restarts: int = 20
    setup: str = ""
    program: tuple[str, ...] = ("sgmc",)
    nodes: int | None = None
    ranks: int | None = None
    plugin: str = "pmi2"

    @property
    def shared(self) -> bool:
        """Whether several processes run the command together."""
        return bool(self.nodes or self.ranks)

    def values(self) -> list[dict[str, str]]:
        """Give what stands for each name, for each job in turn; one without names for a single job.

        Raises
        ------
        UsageError
            If there are both an array and combinations, or too many jobs, or a name of SGMC's own.
        """
        if not self.over and self.array is None:
            return [{}]
        if self.over and self.array is not None:
            raise UsageError("--array counts jobs and --over lists their values: give one of them")
        for name in self.over:
            if name in ("i", "n"):
                raise UsageError(
                    f"--over {name}=...: {{{name}}} is the array's own; name it otherwise"
                )
        combinations = list(itertools.product(*self.over.values()))
        number = self.array or len(combinations)
        if number > MOST_JOBS:
            raise UsageError(f"{number:,} jobs: at most {MOST_JOBS:,} are possible in an array")
        named = [dict(zip(self.over, each, strict=True)) for each in combinations] * (
            self.array or 1
        )
        return [{"i": str(i), "n": str(number)} | each for i, each in enumerate(named, 1)]

    def commands(self) -> list[tuple[str, ...]]:
        """Give the arguments of ``sgmc`` in each job.

        Raises
        ------
        UsageError
            If a name in braces stands for nothing, or two jobs would do the same.
        """
        found = [tuple(_filled(word, each) for word in self.command) for each in self.values()]
        seen: dict[tuple[str, ...], int] = {}
        for i, command in enumerate(found, 1):
            other = seen.setdefault(command, i)
            if other != i:
                same = "{i}" if self.array else "every {NAME} of --over"
                raise UsageError(
                    f"jobs {other} and {i} of the array would run the same command: write {same} into "
                    "it, as in --chain-id {i} --out runs/a/chain-{i}"
                )
        return found


def _filled(word: str, values: Mapping[str, str]) -> str:
    """Put values in the place of their names in braces."""
    return _PLACE.sub(lambda found: values[_known(found[1], values)], word)


def _known(name: str, values: Mapping[str, str]) -> str:
    if name not in values:
        there = ", ".join(f"{{{n}}}" for n in values) or "none, as this is one job"
        raise UsageError(f"{{{name}}} in the command stands for nothing; there is {there}")
    return name


def script(job: Job) -> str:
    """Write the batch script of a job or of an array.

    Raises
    ------
    UsageError
        If the command or the array is not possible (`Job.commands`).
    """
    values = job.values()
    job.commands()
    array = len(values) if values[0] else None
    tasks, together = "--ntasks=1", ""
    if job.shared:
        tasks = f"--nodes={job.nodes or 1} --ntasks-per-node={job.ranks or 1}"
        # ranks end with 85 one after the other: who is killed because another has would end with 143
        together = f"--mpi={job.plugin} --kill-on-bad-exit=0 --wait={LAST_RANK} "
    requests = [
        f"--job-name=sgmc {tasks} --cpus-per-task={job.cpus} --time={_clock(job.seconds)}",
        f"--signal=USR1@{NOTICE} --requeue --open-mode=append",
        f"--output=%x-{'%A_%a' if array else '%j'}.out",
    ]
    if array:
        requests.append(f"--array=1-{array}")
    for name, value in (
        ("mem", job.memory),
        ("partition", job.partition),
        ("account", job.account),
    ):
        if value is not None:
            requests.append(f"--{name}={value}")
    me = "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}" if array else "$SLURM_JOB_ID"
    words = " ".join(_word(word, values[0]) for word in job.command)
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {request}" for request in requests),
        "",
        f"# {NOTICE // 60} minutes before its time limit sgmc gets USR1, writes a checkpoint and ends",
        "# with 85; the job goes back into the queue, and the same command goes on. scancel ends it.",
        *_chosen(job, values),
        *job.setup.splitlines(),
        'export OMP_NUM_THREADS="$SLURM_CPUS_PER_TASK"',
        f'srun {together}--cpus-per-task="$SLURM_CPUS_PER_TASK" \\',
        f"  {shlex.join(job.program)} {words}",
        "code=$?",
        f'if [ $code -eq 85 ] && [ "${{SLURM_RESTART_COUNT:-0}}" -lt {job.restarts} ]; then',
        f'  scontrol requeue "{me}"',
        "fi",
        "exit $code",
    ]
    return "\n".join(lines) + "\n"


def _chosen(job: Job, values: Sequence[Mapping[str, str]]) -> list[str]:
    """Give the lines that set the names which the command has in braces."""
    used = {name for word in job.command for name in _PLACE.findall(word)}
    lines = [
        f"{name}={value}"
        for name, value in (("i", "$SLURM_ARRAY_TASK_ID"), ("n", str(len(values))))
        if name in used
    ]
    if job.over:
        lines.append('case "$SLURM_ARRAY_TASK_ID" in')
        for i, each in enumerate(values, 1):
            said = " ".join(
                f"{name}={shlex.quote(each[name])}" for name in job.over if name in used
            )
            lines.append(f"  {i}) {said} ;;")
        lines.append("esac")
    return lines


def _word(word: str, values: Mapping[str, str]) -> str:
    """Quote a word for the shell, with variables where it has names in braces."""
    if not _PLACE.search(word):
        return shlex.quote(word)
    pieces = _PLACE.split(word)  # text, name, text, name, ..., text
    text = [re.sub(r'([\\"$`])', r"\\\1", piece) for piece in pieces]
    text[1::2] = [f"${{{name}}}" if "".join(pieces[::2]) else f"${name}" for name in pieces[1::2]]
    return f'"{"".join(text)}"'


def _clock(seconds: float) -> str:
    """Give a duration as SLURM takes it: days-hours:minutes:seconds."""
    minutes = math.ceil(seconds / 60)
    days, minutes = divmod(minutes, 24 * 60)
    day = f"{days}-" if days else ""
    return f"{day}{minutes // 60:02}:{minutes % 60:02}:00"
