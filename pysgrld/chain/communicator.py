"""The processes that train one chain, their messages, and the number that a launcher has started.

No NumPy here: help must be instant.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from enum import IntFlag
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from pysgrld.errors import LaunchError, SgmcError, UsageError

if TYPE_CHECKING:
    from pysgrld.types import Array, Doubles, Floats, Int32s, Int64s, Minibatch


class Orders(IntFlag):
    """The orders that any rank may give before an iteration; all follow them."""

    NONE = 0
    #: Stop early: a signal, or the time limit.
    STOP = 1
    #: There is nothing left to do.
    END = 2
    #: Write a checkpoint first.
    SAVE = 4
    #: Something is wrong with a member.
    FAIL = 8
    #: Gather all topics on the first rank after the iteration.
    LOOK = 16


class Meeting(NamedTuple):
    """The orders of all members before an iteration, and how much there is to do.

    Attributes
    ----------
    orders : Orders
    documents, tokens : int
        Of all members.
    """

    orders: Orders
    documents: int = 0
    tokens: int = 0


class Collected(NamedTuple):
    """Integers, and values of documents, that a sampler found in some documents.

    Attributes
    ----------
    by_word : tuple of int64 array
        Counts with a row, or a number, for each word.
    sums : tuple of int64 array
        What else adds up over documents: integers, so that order cannot matter.
    values : (n,) float64 or None
        A value for each document, in their order, or None if documents have none.
    words : (R,) int32 or None
        Sorted ids of the words of the rows of ``by_word``; left out by a sampler with the rows of
        the minibatch.
    """

    by_word: tuple[Int64s, ...]
    sums: tuple[Int64s, ...] = ()
    values: Doubles | None = None
    words: Int32s | None = None


class RowsHere(NamedTuple):
    """Rows of topics, as documents read them, of the words that a rank owns.

    Attributes
    ----------
    phi : (n, Kp) float32
        Rows numbered first.
    theirs : (m, Kp) float32 or None
        Rows numbered after the rows of ``phi``.
    order : (R,) int64 or None
        The number of each word's row, or None for the rows of ``phi`` in order.
    """

    phi: Floats
    theirs: Floats | None = None
    order: Int64s | None = None


class Requested(NamedTuple):
    """Words of a minibatch, by owner, and the words that other members have requested from this one.

    Attributes
    ----------
    batch, ordered : Minibatch
        The batch as it came, and with its words in the order of the owners.
    sent, taken : (P,) int64
        Words that each member is asked for, and that each asks of this one.
    requested : (n,) int32
        Words that this one is asked for, member by member.
    held : (R,) int32
        The distinct ones, sorted.
    order : (n,) int64
        Rows of ``requested`` word by word; the rows of this member have the first numbers.
    begins : (R + 1,) int64
        Position of each distinct word's first row in ``order``.
    """

    batch: Minibatch
    ordered: Minibatch
    sent: Int64s
    taken: Int64s
    requested: Int32s
    held: Int32s
    order: Int64s
    begins: Int64s


class Communicator:
    """The ranks that train one chain, as seen by one of them; this class is a single process.

    The rows of the topics over words are divided among the ranks. Each rank owns the rows of some
    words, moves them, and sends the other ranks the rows that their documents read. The first rank
    receives all of them when it reads them. Every rank makes the collective calls in the same
    order. `pysgrld.chain.mpi.Ranks` implements the communicator for an MPI launch.

    Attributes
    ----------
    rank, size : int
        Number of this process, from 0, and how many there are. The first one alone writes.
    read : callable
        Returns the rows of words that this rank owns, as documents of this iteration read them. The
        chain sets it if other ranks exist.
    fetched : RowsHere
        The last rows that `fetch` has read of words that this rank owns. `fetch` sets it if other
        ranks exist.
    host, library : str
        Host of this process, and the library that carries the messages.
    """

    rank: int = 0
    size: int = 1
    read: Callable[[Int32s], RowsHere]
    fetched: RowsHere
    host: str = ""
    library: str = ""

    def meet(
        self,
        batch: Minibatch | None = None,
        orders: Orders = Orders.NONE,
        same: Callable[[], Iterable[Array]] = tuple,
    ) -> Meeting:
        """Send the orders of this rank and its amount of work to all ranks, and return everyone's.

        Parameters
        ----------
        batch : Minibatch, optional
            Documents of this rank; empty if it has nothing to sample.
        orders : Orders
        same : callable
            Returns arrays of the state, which must be the same everywhere.

        Raises
        ------
        DisagreementError
            If they are not.
        SgmcError
            The error of the first failed rank.
        """
        del same
        if batch is None:
            return Meeting(orders)
        return Meeting(orders, len(batch.doc_ids), batch.tokens)

    # ---- rows of topics, each owned by one rank

    def ask(self, batch: Minibatch) -> tuple[Minibatch, Int32s]:
        """Ask the ranks for the topics of a minibatch's words, each for the words that it owns.

        Returns
        -------
        batch : Minibatch
            The same documents, with their words in the order of the owners.
        words : (R,) int32
            Sorted ids of the words that documents of any rank have, and that this rank owns.
        """
        return batch, batch.words

    def fetch(self, words: Int32s, read: Callable[..., Floats]) -> Floats:
        """Return the rows of the words that were asked for last, each as its rank reads it.

        Parameters
        ----------
        words : (R,) int32
            The words of the minibatch that `ask` has returned.
        read : callable (words, out)
            Returns the rows of words that this rank holds, in memory that is given or in its own.
        """
        return read(words)

    def collect(self, sample: Callable[[Minibatch], Collected], batch: Minibatch) -> Collected:
        """Sample the documents of this rank, and add up what all ranks have found, in their order.

        Statistics by word go to the rank that owns the word, the rest to all ranks.

        Parameters
        ----------
        sample : callable
            Samples some documents.
        batch : Minibatch
            The documents of this rank, as `ask` has returned them.
        """
        return sample(batch)._replace(words=batch.words)

    def everywhere(self, words: Int32s, rows: Array) -> tuple[Int32s, Array]:
        """Allgather rows: return the rows of all ranks on every rank, sorted by their words.

        Parameters
        ----------
        words : (R,) int32
            Words that this rank owns.
        rows : (R, ...) array
        """
        return words, rows

    def holds(self, words: Int32s) -> Array:
        """Return for each word whether this rank owns its topics."""
        return words >= 0

    def move(self, step: Callable[[], None]) -> None:
        """Step this rank's part of a state."""
        step()

    def complete(self, units: Array) -> None:
        """Allgather an array with a row for each unit of topics: fill in the rows of other ranks."""

    def total(self, counts: Int64s) -> Int64s:
        """Return the sum of a few integers over the ranks."""
        return counts

    def bring(self, array: Array) -> None:
        """Gather the rows, over words, of an array that other ranks own, on the first rank."""

    def deal(self, array: Array) -> None:
        """Scatter the rows, over words, of the first rank's array to the ranks that own them."""

    # ---- plain values, and arrays of all

    def gather(self, value: Any) -> list[Any]:
        """Allgather a plain value: return the values of all ranks, in their order.

        Raises
        ------
        SgmcError
            The error of the first failed rank.
        """
        return [value]

    def share(self, value: Any = None) -> Any:
        """Broadcast a plain value from the first rank.

        Raises
        ------
        SgmcError
            The error of the first failed rank.
        """
        return value

    def spread(self, arrays: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Broadcast arrays from the first rank.

        Raises
        ------
        SgmcError
            The error of the first failed rank.
        """
        return dict(arrays or {})

    def gather_rows(self, rows: Array) -> Array:
        """Gather rows on the first rank, in the order of the ranks; other ranks get their own rows."""
        return rows

    def scatter_rows(self, rows: Array | None, part: Array) -> Array:
        """Scatter rows of the first rank: return the part of this rank.

        Parameters
        ----------
        rows : array or None
            The rows of all ranks; on the first rank only.
        part : array
            Of the length and the type of this rank's part.

        Raises
        ------
        CheckpointError
            If there are more or fewer rows than the ranks have room for.
        """
        return part if rows is None else rows

    def figures(self) -> dict[str, float]:
        """Return metrics of the exchange for a line of ``metrics.jsonl``, by name."""
        return {}

    def leave(self) -> None:
        """End the work of all ranks together."""

    def fail(self, error: SgmcError) -> NoReturn:
        """Send the other ranks an error of this one, and raise the error that all ranks raise.

        Raises
        ------
        SgmcError
        """
        raise error


#: A single process.
ALONE = Communicator()


# ---- launchers


#: Variables of launchers, the one that is nearest to the process first: Open MPI, MPICH and Intel MPI
#: (also under ``srun --mpi=pmi2``), SLURM.
_VARIABLES = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
)


class Launch(NamedTuple):
    """The number of this process in a launch, from 0, and how many were started."""

    rank: int
    size: int


def launch(environment: Mapping[str, str] | None = None) -> Launch:
    """Return the place of this process in an MPI launch, as the launcher has it; alone without one.

    Parameters
    ----------
    environment : mapping, optional
        Environment variables; by default the variables of this process.

    Returns
    -------
    Launch
    """
    environment = os.environ if environment is None else environment
    for rank, size in _VARIABLES:
        if (n_started := environment.get(size, "")).isdigit() and int(n_started):
            number = environment.get(rank, "")
            return Launch(int(number) if number.isdigit() else 0, int(n_started))
    return Launch(0, 1)


def refuse_launch(started: Launch) -> None:
    """Refuse to run as one of several processes that were launched without ``--mpi``.

    Parameters
    ----------
    started : Launch
        The place of this process in an MPI launch.

    Raises
    ------
    UsageError
    """
    if started.size > 1:
        raise UsageError(
            f"this is process {started.rank + 1} of {started.size} of an MPI launch: give --mpi to train "
            "one chain over all of them, or --chain-id and --out to each for chains of their own"
        )


def check_launch(started: Launch, size: int, library: str) -> None:
    """Refuse a launcher of another MPI library, under which each process would run alone.

    Parameters
    ----------
    started : Launch
        As the launcher has it.
    size : int
        Processes that the library sees.
    library : str
        Its name and version.

    Raises
    ------
    LaunchError
    """
    if started.size != size:
        raise LaunchError(
            f"--mpi: the launcher started {started.size} processes, the library ({library}) sees {size}: "
            "use the mpiexec of that library, or 'srun --mpi=pmi2' or '--mpi=pmix', as it was built"
        )
