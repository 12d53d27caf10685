"""The protocol of a communicator, and what its members tell each other.

No NumPy here: help must be instant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import IntFlag
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

from pysgrld.errors import SgmcError

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


class Communicator(Protocol):
    """The processes that train one chain, as one of them, its member, sees them.

    Every member holds the same topics and moves them alike; what they do together, every one calls in
    the same order.

    Attributes
    ----------
    rank, size : int
        Number of this member, from 0, and how many there are. The first one alone writes.
    words : int
        Vocabulary V, set by all between the same two meetings; 0 until it is known.
    host, library : str
        Where this member runs, and what carries the messages.
    """

    rank: int
    size: int
    words: int
    host: str
    library: str

    def meet(
        self,
        batch: Minibatch | None = None,
        orders: Orders = Orders.NONE,
        same: Callable[[], Iterable[Array]] = tuple,
    ) -> Meeting:
        """Tell the others the documents' words and the orders of this member, and give those of all.

        Parameters
        ----------
        batch : Minibatch, optional
            Documents of this member; none where nothing is to be sampled.
        orders : Orders
        same : callable
            Gives small arrays of the state, which must be the same everywhere.

        Raises
        ------
        DisagreementError
            If they are not.
        SgmcError
            What is wrong with the first member that has failed.
        """

    def parts(self, batch: Minibatch) -> Iterable[Minibatch]:
        """Give the parts of the documents at hand that are sampled one after the other."""

    def add(self, parts: Iterable[Collected]) -> Collected:
        """Add up what all members have found, in the order of the minibatch."""

    def gather(self, value: Any) -> list[Any]:
        """Give a plain value of each member, in their order.

        Raises
        ------
        SgmcError
            What is wrong with the first member that has failed.
        """

    def share(self, value: Any = None) -> Any:
        """Give the first member's plain value to all, who wait for it.

        Raises
        ------
        SgmcError
            What is wrong with the first member that has failed.
        """

    def spread(self, arrays: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Give the first member's arrays to all, who wait for them.

        Raises
        ------
        SgmcError
            What is wrong with the first member that has failed.
        """

    def agree(self, arrays: Iterable[Array]) -> None:
        """Refuse to go on from arrays that are not the same everywhere.

        Raises
        ------
        DisagreementError
        """

    def figures(self) -> dict[str, float]:
        """Give figures of the exchange for a line of metrics, by name."""

    def leave(self) -> None:
        """End the work of all members together."""

    def fail(self, error: SgmcError) -> NoReturn:
        """Tell the others that something is wrong here, and raise what all members raise.

        Raises
        ------
        SgmcError
        """
