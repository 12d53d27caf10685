"""The processes that train one chain, what they tell each other, and how many a launcher has started.

No NumPy here: help must be instant.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntFlag
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from pysgrld.errors import LaunchError, SgmcError, UsageError

if TYPE_CHECKING:
    from pysgrld.types import Array, Doubles, Int32s, Int64s, Minibatch


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


class Meeting(NamedTuple):
    """The words and the orders of all members, before an iteration.

    Attributes
    ----------
    words : (R,) int32 or None
        Words of all members' documents, sorted; None where there are no documents.
    orders : Orders
    documents, tokens : int
        Of all members.
    """

    words: Int32s | None
    orders: Orders
    documents: int = 0
    tokens: int = 0


class Collected(NamedTuple):
    """The integers, and values of documents, that a sampler has found in some of them.

    Attributes
    ----------
    sums : tuple of int64 array
        What adds up over documents: integers, so that order cannot matter.
    values : (n,) float64 or None
        A value of each document, in their order; None where documents have none.
    """

    sums: tuple[Int64s, ...]
    values: Doubles | None = None


class Communicator:
    """The processes that train one chain, its ranks, as one of them sees them; here a single process.

    Every rank holds the same topics; each moves a part of them, and gets the others' parts from them.
    What they do together, every one calls in the same order. `pysgrld.chain.mpi.Ranks` are those of an
    MPI launch.

    Attributes
    ----------
    rank, size : int
        Number of this process, from 0, and how many there are. The first one alone writes.
    words : int
        Vocabulary V, set by all between the same two meetings; 0 until it is known.
    cuts : sequence of int or None
        Of the minibatch's words rank r steps those from ``cuts[r]`` to before ``cuts[r + 1]``, and needs
        their counts alone; None where each needs all. Set by the chain before documents are sampled.
    host, library : str
        Where this process runs, and what carries the messages.
    """

    rank: int = 0
    size: int = 1
    words: int = 0
    cuts: Sequence[int] | None = None
    host: str = ""
    library: str = ""

    def meet(
        self,
        batch: Minibatch | None = None,
        orders: Orders = Orders.NONE,
        same: Callable[[], Iterable[Array]] = tuple,
    ) -> Meeting:
        """Tell the others the documents' words and the orders of this rank, and return those of all.

        Parameters
        ----------
        batch : Minibatch, optional
            Documents of this rank; none where nothing is to be sampled.
        orders : Orders
        same : callable
            Returns arrays of the state, which must be the same everywhere.

        Raises
        ------
        DisagreementError
            If they are not.
        SgmcError
            What is wrong with the first rank that has failed.
        """
        del same
        if batch is None:
            return Meeting(None, orders)
        return Meeting(batch.words, orders, len(batch.doc_ids), batch.tokens)

    @property
    def own(self) -> slice:
        """The minibatch's words whose counts this rank needs."""
        return slice(None) if self.cuts is None else slice(*self.cuts[self.rank : self.rank + 2])

    def collect(
        self, sample: Callable[[Minibatch], Collected], batch: Minibatch, *, by_words: bool = False
    ) -> Collected:
        """Sample the documents of this rank, and add up what all ranks have found, in their order.

        Parameters
        ----------
        sample : callable
            Samples some documents.
        batch : Minibatch
            Those of this rank.
        by_words : bool
            Whether the first array has a row for each of the minibatch's words, of which those of `own`
            are enough: the others are then not those of all ranks.
        """
        return sample(batch)

    def move(self, step: Callable[[], None]) -> None:
        """Step this rank's part of a state."""
        step()

    def complete(self, array: Array, cuts: Sequence[int]) -> None:
        """Fill what others have of an array: rank r has rows ``cuts[r]`` to before ``cuts[r + 1]``."""

    def gather(self, value: Any) -> list[Any]:
        """Return a plain value of each rank, in their order.

        Raises
        ------
        SgmcError
            What is wrong with the first rank that has failed.
        """
        return [value]

    def share(self, value: Any = None) -> Any:
        """Return the first rank's plain value to all, who wait for it.

        Raises
        ------
        SgmcError
            What is wrong with the first rank that has failed.
        """
        return value

    def spread(self, arrays: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Return the first rank's arrays to all, who wait for them.

        Raises
        ------
        SgmcError
            What is wrong with the first rank that has failed.
        """
        return dict(arrays or {})

    def gather_rows(self, rows: Array) -> Array:
        """Return the rows of all ranks to the first, in their order; to the others their own."""
        return rows

    def scatter_rows(self, rows: Array | None, own: Array) -> Array:
        """Return each rank's part of rows that the first has, in the order of the ranks.

        Parameters
        ----------
        rows : array or None
            Those of all ranks; of the first one alone.
        own : array
            Of the length and the type of this rank's part.

        Raises
        ------
        CheckpointError
            If there are more or fewer rows than the ranks have room for.
        """
        return own if rows is None else rows

    def figures(self) -> dict[str, float]:
        """Return figures of the exchange for a line of metrics, by name."""
        return {}

    def leave(self) -> None:
        """End the work of all ranks together."""

    def fail(self, error: SgmcError) -> NoReturn:
        """Tell the others that something is wrong here, and raise what all ranks raise.

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
    """Return the place of this process in an MPI launch, as the launcher has it; alone without one."""
    environment = os.environ if environment is None else environment
    for rank, size in _VARIABLES:
        if (found := environment.get(size, "")).isdigit() and int(found):
            number = environment.get(rank, "")
            return Launch(int(number) if number.isdigit() else 0, int(found))
    return Launch(0, 1)


def refuse_launch(found: Launch) -> None:
    """Refuse to be one of several processes that know nothing of each other.

    Raises
    ------
    UsageError
    """
    if found.size > 1:
        raise UsageError(
            f"this is process {found.rank + 1} of {found.size} of an MPI launch: give --mpi to train "
            "one chain over all of them, or --chain-id and --out to each for chains of their own"
        )


def check_launch(found: Launch, size: int, library: str) -> None:
    """Refuse a launcher of another library: each process would think that it is alone.

    Parameters
    ----------
    found : Launch
        As the launcher has it.
    size : int
        Processes that the library sees.
    library : str
        Its name and version.

    Raises
    ------
    LaunchError
    """
    if found.size != size:
        raise LaunchError(
            f"--mpi: the launcher started {found.size} processes, the library ({library}) sees {size}: "
            "use the mpiexec of that library, or 'srun --mpi=pmi2' or '--mpi=pmix', as it was built"
        )
