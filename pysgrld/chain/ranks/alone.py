"""A single process: a process that trains a chain by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from pysgrld.chain.ranks.protocol import Collected, Meeting, Orders
from pysgrld.errors import SgmcError

if TYPE_CHECKING:
    from pysgrld.types import Array, Minibatch


class Alone:
    """A single process: the `Communicator` of a chain that no other process trains."""

    rank, size, words = 0, 1, 0
    host, library = "", ""

    def meet(
        self,
        batch: Minibatch | None = None,
        orders: Orders = Orders.NONE,
        same: Callable[[], Iterable[Array]] = tuple,
    ) -> Meeting:
        """Give the words and orders as they are."""
        del same
        if batch is None:
            return Meeting(None, orders)
        return Meeting(batch.words, orders, len(batch.doc_ids), batch.tokens)

    def parts(self, batch: Minibatch) -> Iterable[Minibatch]:
        """Give the minibatch, which is sampled in one go."""
        return (batch,)

    def add(self, parts: Iterable[Collected]) -> Collected:
        """Give what was found in the only part."""
        (found,) = parts
        return found

    def gather(self, value: Any) -> list[Any]:
        """Give the only value."""
        return [value]

    def share(self, value: Any = None) -> Any:
        """Give the value as it is."""
        return value

    def spread(self, arrays: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Give the arrays as they are."""
        return dict(arrays or {})

    def agree(self, arrays: Iterable[Array]) -> None:
        """Do nothing: there is nobody else."""
        del arrays

    def figures(self) -> dict[str, float]:
        """Give nothing: nothing is exchanged."""
        return {}

    def leave(self) -> None:
        """Do nothing: nobody waits."""

    def fail(self, error: SgmcError) -> NoReturn:
        """Raise the error."""
        raise error


#: The single process.
ALONE = Alone()
