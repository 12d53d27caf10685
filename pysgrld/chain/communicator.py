"""Communication between the processes (ranks) that train one chain, and details of an MPI launch.

This module must not import NumPy, so that help texts appear at once.
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
    """Actions that any rank may request before an iteration; all ranks then do them."""

    NONE = 0
    #: Stop early, due to a signal or the time limit.
    STOP = 1
    #: End, because no work is left.
    END = 2
    #: Write a checkpoint before anything else.
    SAVE = 4
    #: A rank has failed.
    FAIL = 8
    #: After the iteration, gather all topics on the first rank.
    LOOK = 16


class ExchangedRequests(NamedTuple):
    """Requests of all ranks (such as to stop) before an iteration, and the size of its minibatch.

    Attributes
    ----------
    orders : Orders
    documents, tokens : int
        Size of the minibatch: totals over all ranks.
    """

    orders: Orders
    documents: int = 0
    tokens: int = 0


class Collected(NamedTuple):
    """Statistics of sampled documents: by word, summed over documents, and for each document.

    Attributes
    ----------
    by_word : tuple of int64 array
        Arrays of counts with one row, or one number, for each word.
    sums : tuple of int64 array
        Other sums over documents; they are integers, so that the order of addition does not matter.
    values : (n,) float64 or None
        A value for each document, in their order, or None if documents have none.
    words : (R,) int32 or None
        Sorted ids of the words of the rows of ``by_word``, or None if the rows are the words of the
        minibatch.
    """

    by_word: tuple[Int64s, ...]
    sums: tuple[Int64s, ...] = ()
    values: Doubles | None = None
    words: Int32s | None = None


class RowsHere(NamedTuple):
    """Topic rows of the words that a rank owns, as input of the kernels that sample documents.

    Attributes
    ----------
    phi : (n, Kp) float32
        The rows with numbers from 0 to n - 1.
    theirs : (m, Kp) float32 or None
        The rows with numbers from n.
    order : (R,) int64 or None
        The row number of each word, or None if word i has row i of ``phi``.
    """

    phi: Floats
    theirs: Floats | None = None
    order: Int64s | None = None


class RequestedRows(NamedTuple):
    """A minibatch with its words sorted by owner, and the words that other ranks request.

    Attributes
    ----------
    batch, ordered : Minibatch
        The original batch, and the batch with its words sorted by owner.
    sent, taken : (P,) int64
        For each rank, the number of words that this rank requests from it, and the number of words
        that it requests from this rank.
    requested : (n,) int32
        Words that are requested from this rank, one rank after the other.
    held : (R,) int32
        The distinct requested words, sorted.
    order : (n,) int64
        Row numbers of ``requested`` sorted by word; requests of this rank itself have the first
        numbers.
    begins : (R + 1,) int64
        Start of each distinct word in ``order``, and the end of the last one.
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
    """The ranks (processes) that train one chain; this base class is for a single rank.

    The rows of the topics over words are divided among the ranks. Each rank owns the rows of a part
    of the words, updates them, and sends the other ranks the rows that their documents read. The
    first rank receives all rows when it needs them. Every rank makes the collective calls in the
    same order. `pysgrld.chain.mpi.Ranks` implements the communicator for an MPI launch.

    Attributes
    ----------
    rank, size : int
        Number of this process, from 0, and number of processes. Only the first process writes
        files.
    read : callable
        Returns the rows that documents of this iteration read, for the words that this rank owns.
        The chain sets it if other ranks exist.
    fetched : RowsHere
        The rows that the last `fetch` has read for the words that this rank owns. `fetch` sets it
        if other ranks exist.
    host, library : str
        Host of this process, and the library that sends the messages.
    """

    rank: int = 0
    size: int = 1
    read: Callable[[Int32s], RowsHere]
    fetched: RowsHere
    host: str = ""
    library: str = ""

    def exchange_requests(
        self,
        batch: Minibatch | None = None,
        orders: Orders = Orders.NONE,
        same: Callable[[], Iterable[Array]] = tuple,
    ) -> ExchangedRequests:
        """Combine the requests of all ranks before an iteration, and add up documents and tokens.

        Parameters
        ----------
        batch : Minibatch, optional
            Documents of this rank, or None if it has nothing to sample.
        orders : Orders
        same : callable
            Returns arrays of the state that must be equal on all ranks.

        Raises
        ------
        DisagreementError
            If the arrays are not equal.
        SgmcError
            The error of the first failed rank.
        """
        del same
        if batch is None:
            return ExchangedRequests(orders)
        return ExchangedRequests(orders, len(batch.doc_ids), batch.tokens)

    # ---- rows of the topic matrix, each owned by one rank

    def request_rows(self, batch: Minibatch) -> tuple[Minibatch, Int32s]:
        """Request the topic rows of a minibatch's words from the ranks that own these words.

        Returns
        -------
        batch : Minibatch
            The same documents with their words sorted by owner.
        words : (R,) int32
            Sorted ids of the words that this rank owns and that occur in the documents of any rank.
        """
        return batch, batch.words

    def fetch(self, words: Int32s, read: Callable[..., Floats]) -> Floats:
        """Return the topic rows that the last call of `request_rows` has requested.

        Parameters
        ----------
        words : (R,) int32
            The words of the minibatch that `request_rows` has returned.
        read : callable (words, out)
            Returns the rows of words that this rank owns, in ``out`` if given, else in new memory.
        """
        return read(words)

    def collect(self, sample: Callable[[Minibatch], Collected], batch: Minibatch) -> Collected:
        """Sample the documents of this rank, and combine the statistics of all ranks.

        Each rank gets the sums of statistics by word for the words that it owns; all ranks get the
        other results. Values of documents are in the order of the ranks.

        Parameters
        ----------
        sample : callable
            Samples the documents of a minibatch.
        batch : Minibatch
            The documents of this rank, as `request_rows` has returned them.
        """
        return sample(batch)._replace(words=batch.words)

    def allgather_rows_by_word(self, words: Int32s, rows: Array) -> tuple[Int32s, Array]:
        """Allgather rows: return the rows of all ranks on every rank, sorted by word.

        Parameters
        ----------
        words : (R,) int32
            Words that this rank owns.
        rows : (R, ...) array
        """
        return words, rows

    def owns(self, words: Int32s) -> Array:
        """Return True for each word with a topic row that this rank owns."""
        return words >= 0

    def move(self, step: Callable[[], None]) -> None:
        """Call `step`, which updates the rows that this rank owns."""
        step()

    def allgather_rows(self, units: Array) -> None:
        """Allgather an array; each rank has computed a part of the rows.

        The array has a row for each unit of topic rows.
        """

    def sum_over_processes(self, counts: Int64s) -> Int64s:
        """Return the sum over the ranks of each element of a small integer array."""
        return counts

    def gather_topic_rows(self, array: Array) -> None:
        """Gather all rows of an array over words on the first rank, from the rows' owners."""

    def scatter_topic_rows(self, array: Array) -> None:
        """Send each row of an array from the first rank to the rank that owns the row's word."""

    # ---- exchange of Python objects, and of whole arrays

    def allgather(self, value: Any) -> list[Any]:
        """Allgather a Python object, and return the objects of all ranks in rank order.

        Raises
        ------
        SgmcError
            The error of the first failed rank.
        """
        return [value]

    def broadcast(self, value: Any = None) -> Any:
        """Broadcast a Python object from the first rank, and return the object.

        Raises
        ------
        SgmcError
            The error of the first failed rank.
        """
        return value

    def broadcast_arrays(self, arrays: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Broadcast arrays from the first rank, and return them.

        Raises
        ------
        SgmcError
            The error of the first failed rank.
        """
        return dict(arrays or {})

    def gather_rows(self, rows: Array) -> Array:
        """Gather the rows of all ranks on the first rank, in rank order.

        Other ranks return their own rows.
        """
        return rows

    def scatter_rows(self, rows: Array | None, part: Array) -> Array:
        """Scatter rows from the first rank; return the rows of this rank.

        Parameters
        ----------
        rows : array or None
            The rows of all ranks on the first rank, None on other ranks.
        part : array
            An array with the length and type of this rank's part.

        Raises
        ------
        CheckpointError
            If the number of rows differs from the total length of the parts.
        """
        return part if rows is None else rows

    def metrics(self) -> dict[str, float]:
        """Return metrics of messages between ranks, by name, for a line of ``metrics.jsonl``."""
        return {}

    def end_all_ranks(self) -> None:
        """End the work of all ranks; every rank must call this method."""

    def fail(self, error: SgmcError) -> NoReturn:
        """Send this rank's error to the other ranks, and raise the first failed rank's error.

        All ranks raise the same error.

        Raises
        ------
        SgmcError
        """
        raise error


#: Communicator of a single process.
ALONE = Communicator()


# ---- launchers


#: Environment variables in which launchers set the rank and the number of processes. The launchers
#: are Open MPI, then MPICH and Intel MPI (also under ``srun --mpi=pmi2``), then SLURM. SLURM comes
#: last, because its variables are set even if it starts another launcher, which counts instead.
_VARIABLES = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
)


class Launch(NamedTuple):
    """Number of this process in a launch, from 0, and number of all launched processes."""

    rank: int
    size: int


def launch(environment: Mapping[str, str] | None = None) -> Launch:
    """Return the rank of this process and the number of processes in an MPI launch.

    The default is 0 and 1, if no launcher has set the environment variables.

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
    """Raise an error if a launcher has started several processes without ``--mpi``.

    Parameters
    ----------
    started : Launch
        Rank and size of this process in an MPI launch.

    Raises
    ------
    UsageError
    """
    if started.size > 1:
        raise UsageError(
            f"{started.size} MPI processes run the same command; give --mpi to train one chain "
            "on all processes, or give each process its own --chain-id and --out"
        )


def check_launch(started: Launch, size: int, library: str) -> None:
    """Raise an error if the launcher and mpi4py use different MPI libraries.

    Without this error, each process would run alone.

    Parameters
    ----------
    started : Launch
        Rank and size from the launcher.
    size : int
        Number of processes according to the library.
    library : str
        Name and version of the library.

    Raises
    ------
    LaunchError
    """
    if started.size != size:
        raise LaunchError(
            f"--mpi: the launcher started {started.size} processes, but the MPI library "
            f"({library}) sees {size}; launch with the mpiexec of that library, or with 'srun "
            "--mpi=pmi2' or 'srun --mpi=pmix', whichever it supports"
        )
