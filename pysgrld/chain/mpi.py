"""A communicator of MPI processes. The only module that imports mpi4py."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

import mpi4py
import numpy as np

from pysgrld.chain.communicator import (
    Collected,
    Communicator,
    Meeting,
    Orders,
    RowsHere,
    check_launch,
    launch,
)
from pysgrld.chain.watch import LOOK, Watch
from pysgrld.core import core
from pysgrld.errors import CheckpointError, DisagreementError, LaunchError, RankError, SgmcError
from pysgrld.types import Array, Floats, Int32s, Int64s, Minibatch

mpi4py.rc(initialize=False, finalize=True)  # by the first communicator, and when the process ends

try:
    from mpi4py import MPI
except (ImportError, RuntimeError) as error:
    raise LaunchError(f"--mpi: mpi4py finds no MPI library: {error}") from error

#: Elements of a message at most: some libraries count in 32 bits.
MOST = 1 << 27
#: Elements below which the library adds up by itself, which is then faster (benchmarks/ranks.py).
FEW = 1 << 18
#: Elements of arrays that are added up in one message.
SMALL = 1 << 12
#: Bytes of topics' rows that are brought or dealt in one message.
STRIP = 1 << 24


class Asked(NamedTuple):
    """Words of a minibatch, by who holds their topics, and those that others have asked for here.

    Attributes
    ----------
    batch, ordered : Minibatch
        As it came, and with its words in the order of those who hold them.
    sent, taken : (P,) int64
        Words that each member is asked for, and that each asks of this one.
    found : (n,) int32
        Words that this one is asked for, member by member.
    held : (R,) int32
        The distinct ones, sorted.
    order : (n,) int64
        Rows of ``found`` word by word, those of this member numbered first.
    begins : (R + 1,) int64
        Where the rows of each distinct word begin in ``order``.
    """

    batch: Minibatch
    ordered: Minibatch
    sent: Int64s
    taken: Int64s
    found: Int32s
    held: Int32s
    order: Int64s
    begins: Int64s


class Ranks(Communicator):
    """The processes of an MPI launch.

    Parameters
    ----------
    timeout : float, optional
        Seconds after which a process whose others do not come ends.
    threads : int
        That add up counts.

    Raises
    ------
    LaunchError
        If the launcher is not that of the library.
    """

    def __init__(self, timeout: float | None = None, threads: int = 1) -> None:
        if not MPI.Is_initialized():
            # messages come from the main thread, all but the last of one that gives up
            MPI.Init_thread(MPI.THREAD_FUNNELED)
        self.comm = MPI.COMM_WORLD
        self.rank, self.size = self.comm.rank, self.comm.size
        self.threads = threads
        self.library = " ".join(MPI.Get_library_version().split("\n")[0].split()[:3]).rstrip(",")
        check_launch(launch(), self.size, self.library)
        self.host = socket.gethostname()
        hosts = self.comm.allgather(self.host)
        #: What messages call each member: its number and its host.
        self.names = [f"rank {rank} on {host}" for rank, host in enumerate(hosts)]
        self.watch = Watch(self.names[self.rank], timeout, end=self._give_up)
        self.sampling = self.moving = 0.0  # seconds
        self.sent = 0  # bytes
        self._over = False  # all members know how it ends
        self._room: dict[str, Array] = {}
        self._last: Asked | None = None

    # ---- before an iteration

    def meet(
        self,
        batch: Minibatch | None = None,
        orders: Orders = Orders.NONE,
        same: Callable[[], Iterable[Array]] = tuple,
    ) -> Meeting:
        """Tell the others the orders of this member, and how much it has to do, and give those of all.

        Raises
        ------
        DisagreementError
        SgmcError
        """
        mine = _digest(same())
        met, differ = self._exchange(batch, orders, mine)
        if met.orders & Orders.FAIL:
            self._raise_first(None)
        if differ:
            digests = self._gather(mine)
            other = [self.names[r] for r in range(self.size) if digests[r] != digests[0]]
            self._over = True
            raise DisagreementError(
                f"{', '.join(other)} {'have' if len(other) > 1 else 'has'} other topics than rank 0: a "
                "fault of memory or of a processor; the last checkpoint is good: leave that node out, "
                "and run the same command again"
            )
        return met

    def _exchange(
        self, batch: Minibatch | None, orders: Orders, digest: int
    ) -> tuple[Meeting, bool]:
        """Return the orders of all members and what they have to do, and whether their digests differ.

        One message, of bits that are OR-ed: documents and tokens, each member at a place of its own;
        orders; digest and its complement, which have a bit in common exactly where two members differ.
        """
        sizes = np.zeros((self.size, 2), np.uint64)
        if batch is not None:
            sizes[self.rank] = len(batch.doc_ids), batch.tokens
        last = np.array([orders, digest, digest ^ _ALL], np.uint64)
        bits = np.concatenate([sizes.reshape(-1), last])
        self._reduce(bits, MPI.BOR)
        documents, tokens = bits[:-3].reshape(-1, 2).sum(axis=0).tolist()
        met = Meeting(Orders(int(bits[-3])), documents, tokens)
        return met, bool(bits[-2] & bits[-1])

    # ---- rows of topics, each of which a member holds

    def holds(self, words: Int32s) -> Array:
        """Say of words whether this member holds their topics."""
        return np.equal(self._holders(words), self.rank)

    def _holders(self, words: Array) -> Array:
        """Return who holds the topics of words: units of rows are dealt in turn."""
        return words // core.ROW_UNIT % self.size

    def ask(self, batch: Minibatch) -> tuple[Minibatch, Int32s]:
        """Ask for the topics of a minibatch's words: of each member those that it holds."""
        if self._last is None or self._last.batch is not batch:
            self._last = self._ask(batch)
        return self._last.ordered, self._last.held

    def _ask(self, batch: Minibatch) -> Asked:
        holders = self._holders(batch.words)
        order = np.argsort(holders, kind="stable")
        places = np.empty(len(order), np.int32)
        places[order] = np.arange(len(order), dtype=np.int32)
        words = batch.words[order]
        ordered = batch._replace(words=words, indices=places[batch.indices])
        sent = np.bincount(holders, minlength=self.size)
        taken = np.empty_like(sent)
        with self.watch.waiting():
            self.comm.Alltoall(sent, taken)
        found = self._swap(words, sent, np.empty(int(taken.sum()), np.int32), taken)
        own = np.repeat(np.arange(self.size) == self.rank, taken)
        numbers = np.where(own, np.cumsum(own), own.sum() + np.cumsum(~own)) - 1
        order = np.argsort(found, kind="stable")
        held, begins = np.unique(found[order], return_index=True)
        begins = np.append(begins, len(found))
        return Asked(batch, ordered, sent, taken, found, held, numbers[order], begins)

    @property
    def _asked(self) -> Asked:
        assert self._last is not None
        return self._last

    def fetch(self, words: Int32s, read: Callable[..., Floats]) -> Floats:
        """Return the rows of the words that were asked for last, each as its member reads it."""
        asked, own, others = self._asked, self._own, self._others
        theirs = read(np.delete(asked.found, self._part(asked.taken)))
        out = self._place("fetched", len(words), theirs)
        read(words[own], out[own])
        self.fetched = RowsHere(out[own], theirs, asked.order[asked.begins[:-1]])
        return self._swap(theirs, asked.taken * others, out, asked.sent * others, None, asked.sent)

    def collect(self, sample: Callable[[Minibatch], Collected], batch: Minibatch) -> Collected:
        """Sample the documents of this member, and add up what all have found, in their order.

        Raises
        ------
        SgmcError
            If a member could not sample its documents.
        """
        wrong: SgmcError | None = None
        found = Collected(())
        began = time.monotonic()
        try:
            found = sample(batch)
        except SgmcError as error:
            wrong = error
        self.sampling += time.monotonic() - began
        failed = np.array([wrong is not None], np.int64)
        self._add_up(failed)
        if failed[0]:
            self._raise_first(wrong)
        by_word = tuple(self._to_holders(i, a) for i, a in enumerate(found.by_word))
        self._add_up_all(found.sums)
        values = found.values
        if values is not None:
            with self.watch.waiting():
                values = np.concatenate(self.comm.allgather(values))
        return Collected(by_word, found.sums, values, self._asked.held)

    def _to_holders(self, number: int, counts: Int64s) -> Int64s:
        """Send counts by word to those who hold the words, and return the sums of those held here."""
        asked = self._asked
        flat = counts.reshape(len(counts), *(counts.shape[1:] or (1,)))
        taken = asked.taken * self._others
        theirs = self._place(f"taken {number}", int(taken.sum()), flat)
        self._swap(flat, asked.sent * self._others, theirs, taken, asked.sent)
        out = self._place(f"added {number}", len(asked.held), flat)
        core.add_rows(
            own=flat[self._own],
            theirs=theirs,
            order=asked.order,
            begin=asked.begins,
            out=out,
            threads=self.threads,
        )
        return out.reshape(len(out), *counts.shape[1:])

    def _place(self, name: str, rows: int, like: Array) -> Array:
        """Return memory of so many rows, as those of an array, that the next iteration takes over."""
        across, there = like.shape[1], self._room.get(name)
        if there is None or len(there) < rows or there.shape[1] != across:
            there = self._room[name] = core.zeros(rows + rows // 8, across, like.dtype.name)
        return there[:rows]

    @property
    def _others(self) -> Array:
        """Say of each member whether it is another one."""
        return np.not_equal(np.arange(self.size), self.rank)

    @property
    def _own(self) -> slice:
        """The words of the minibatch, in the order of those who hold them, that this member holds."""
        return self._part(self._asked.sent)

    def _part(self, sizes: Int64s) -> slice:
        """Return where the rows of this member are among those of all, so many of each."""
        begin = int(sizes[: self.rank].sum())
        return slice(begin, begin + int(sizes[self.rank]))

    def _swap(
        self,
        rows: Array,
        sent: Int64s,
        out: Array,
        taken: Int64s,
        apart: Int64s | None = None,
        to: Int64s | None = None,
    ) -> Array:
        """Send rows to all members and take rows from them, so many of each, in their order.

        Parameters
        ----------
        rows, out : array
        sent, taken : (P,) int64
        apart, to : (P,) int64, optional
            Rows from where one member's begin to where the next one's do, in ``rows`` and in ``out``; by
            default as many as are sent and taken.
        """
        whole = int(np.prod(rows.shape[1:], dtype=np.int64)) * rows.itemsize
        kind = MPI.BYTE.Create_contiguous(whole).Commit()
        apart, to = sent if apart is None else apart, taken if to is None else to
        self.sent += whole * int(sent.sum() - sent[self.rank])
        with self.watch.waiting():
            self.comm.Alltoallv(
                [rows, sent, np.cumsum(apart) - apart, kind], [out, taken, np.cumsum(to) - to, kind]
            )
        kind.Free()
        return out

    def everywhere(self, words: Int32s, rows: Array) -> tuple[Int32s, Array]:
        """Return the rows of all members to all, sorted by their words."""
        sizes = np.array(self._gather(len(words)))
        of_all = self._joined(words, sizes)
        order = np.argsort(of_all, kind="stable")
        return of_all[order], self._joined(rows, sizes)[order]

    def _joined(self, rows: Array, sizes: Int64s) -> Array:
        """Return the rows of all members, so many of each, in their order."""
        found = np.empty((int(sizes.sum()), *rows.shape[1:]), rows.dtype)
        found[self._part(sizes)] = rows
        self._give_rows(found, sizes)
        return found

    def _give_rows(self, array: Array, sizes: Int64s) -> None:
        """Fill what others have of an array in which so many rows are each member's, in their order."""
        across = int(np.prod(array.shape[1:], dtype=np.int64))
        flat = array.reshape(-1)
        begins = np.concatenate(([0], np.cumsum(sizes))) * across
        for at in range(0, len(flat), MOST):
            piece = flat[at : at + MOST]
            self._give(piece, np.clip(begins - at, 0, len(piece)))

    def complete(self, units: Array) -> None:
        """Fill what others have of an array that has a row for each unit of topics' rows."""
        numbers = np.arange(len(units))
        order = np.argsort(numbers % self.size, kind="stable")
        dealt = units[order]
        self._give_rows(dealt, np.bincount(numbers % self.size, minlength=self.size))
        units[order] = dealt

    def total(self, counts: Int64s) -> Int64s:
        """Return the sum of a few integers over the members."""
        found = counts.copy()
        self._add_up(found)
        return found

    def move(self, step: Callable[[], None]) -> None:
        """Step this member's part of a state."""
        began = time.monotonic()
        step()
        self.moving += time.monotonic() - began

    def bring(self, array: Array) -> None:
        """Let the first member have the rows of an array, over words, that others hold."""
        for rank, rows in self._strips(array):
            if self.rank == 0:
                array[rows] = self._pass_on(_like(array, rows), self.comm.Recv, rank)
            elif self.rank == rank:
                self._pass_on(array[rows], self.comm.Send, 0)

    def deal(self, array: Array) -> None:
        """Give the members the rows that they hold of an array, over words, that the first one has."""
        for rank, rows in self._strips(array):
            if self.rank == 0:
                self._pass_on(array[rows], self.comm.Send, rank)
            elif self.rank == rank:
                array[rows] = self._pass_on(_like(array, rows), self.comm.Recv, 0)

    def _strips(self, array: Array) -> Iterator[tuple[int, Int64s]]:
        """Return the rows that each member but the first holds of an array, not too many at a time."""
        holders = self._holders(np.arange(len(array)))
        each = max(1, STRIP * len(array) // max(1, array.nbytes))
        for rank in range(1, self.size):
            held = np.flatnonzero(holders == rank)
            for at in range(0, len(held), each):
                yield rank, held[at : at + each]

    # ---- sums of all

    def _add_up_all(self, sums: tuple[Int64s, ...]) -> None:
        """Add up arrays in place, the small ones in one message."""
        small = [counts for counts in sums if counts.size <= SMALL]
        for counts in (a for a in sums if a.size > SMALL):
            flat = counts.reshape(-1)
            for at in range(0, flat.size, MOST):
                self._add_up(flat[at : at + MOST])
        if small:
            together = np.concatenate([counts.reshape(-1) for counts in small])
            self._add_up(together)
            ends = np.cumsum([counts.size for counts in small])
            for counts, found in zip(small, np.split(together, ends[:-1]), strict=True):
                counts[:] = found.reshape(counts.shape)

    def _add_up(self, flat: Int64s) -> None:
        """Add up counts in place: the library few of them, else each member a share, which all get."""
        if len(flat) < FEW or self.size == 1:
            self._reduce(flat, MPI.SUM)
            return
        begins = np.array([rank * len(flat) // self.size for rank in range(self.size + 1)])
        self._add_own(flat, begins)
        self._give(flat, begins)

    def _reduce(self, numbers: Array, op: MPI.Op) -> None:
        self.sent += numbers.nbytes
        with self.watch.waiting():
            self.comm.Allreduce(MPI.IN_PLACE, numbers, op=op)

    def _add_own(self, flat: Int64s, begins: Int64s) -> None:
        """Add up this member's share of counts in place; its other counts stay as they are."""
        counts, places = np.diff(begins), begins[:-1]
        begin, end = begins[self.rank : self.rank + 2].tolist()
        others = np.arange(self.size) != self.rank  # of its own share each member has its part
        room = self._place("parts", (self.size - 1) * (end - begin), flat.reshape(-1, 1))
        parts = room.reshape(self.size - 1, end - begin)
        theirs = others * (end - begin)
        self.sent += flat.itemsize * int((counts * others).sum())
        with self.watch.waiting():
            self.comm.Alltoallv(
                [flat, counts * others, places, MPI.INT64_T],
                [parts, theirs, np.cumsum(theirs) - theirs, MPI.INT64_T],
            )
        core.add_counts(parts=parts, out=flat[begin:end], threads=self.threads)

    def _give(self, flat: Array, begins: Int64s) -> None:
        """Send the others this member's share of a vector, and take theirs.

        Allgatherv does that, too, in many times as long.
        """
        others = np.arange(self.size) != self.rank
        counts, places = np.diff(begins) * others, begins[:-1]
        own = others * int(begins[self.rank + 1] - begins[self.rank])
        self.sent += flat.itemsize * int(own.sum())
        with self.watch.waiting():
            self.comm.Alltoallv(
                [flat, (own, np.full(self.size, places[self.rank]))], [flat, (counts, places)]
            )

    def figures(self) -> dict[str, float]:
        """Return the number of members, seconds of messages, sampling and moving topics, and bytes sent.

        Those of messages include waiting; those of topics are of this member's part. Bytes are those of
        counts, words and topics that this member has sent to others.
        """
        return {
            "ranks": self.size,
            "exchange_seconds": round(self.watch.seconds, 6),
            "exchange_bytes": self.sent,
            "sampling_seconds": round(self.sampling, 6),
            "moving_seconds": round(self.moving, 6),
        }

    # ---- before and after all of them

    def gather(self, value: Any) -> list[Any]:
        """Return a plain value of each member, in their order.

        Raises
        ------
        SgmcError
            What is wrong with the first member that has failed.
        """
        self.meet()
        return self._gather(value)

    def _gather(self, value: Any) -> list[Any]:
        """Return a plain value of each member, of which none can have failed since they met."""
        with self.watch.waiting():
            return list(self.comm.allgather(value))

    def share(self, value: Any = None) -> Any:
        """Return the first member's plain value to all.

        Raises
        ------
        SgmcError
            What is wrong with the first member that has failed.
        """
        self.meet()
        with self.watch.waiting():
            return self.comm.bcast(value)

    def spread(self, arrays: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Return the first member's arrays to all, in pieces.

        Raises
        ------
        SgmcError
            What is wrong with the first member that has failed.
        """
        own = {name: np.ascontiguousarray(a) for name, a in (arrays or {}).items()}
        shapes = self.share({name: (a.shape, a.dtype.str) for name, a in own.items()})
        for name, (shape, dtype) in shapes.items():
            array = own.setdefault(name, np.empty(shape, dtype))
            flat = array.reshape(-1).view(np.uint8)
            for at in range(0, flat.size, MOST):
                with self.watch.waiting():
                    self.comm.Bcast(flat[at : at + MOST])
        return own

    def gather_rows(self, rows: Array) -> Array:
        """Return the rows of all members to the first, in their order; to the others their own."""
        sizes = self._gather(len(rows))
        if self.rank:
            self._pass_on(np.ascontiguousarray(rows), self.comm.Send, 0)
            return rows
        found = np.empty((sum(sizes), *rows.shape[1:]), rows.dtype)
        begins = np.cumsum([0, *sizes])
        found[: begins[1]] = rows
        for rank in range(1, self.size):
            self._pass_on(found[begins[rank] : begins[rank + 1]], self.comm.Recv, rank)
        return found

    def scatter_rows(self, rows: Array | None, own: Array) -> Array:
        """Return each member's part of rows that the first has, in the order of the members.

        Raises
        ------
        CheckpointError
            If there are more or fewer rows than the members have room for.
        """
        sizes = self._gather(len(own))
        if rows is not None and len(rows) != sum(sizes):
            raise CheckpointError(
                f"the checkpoint has {len(rows):,} rows of documents, not {sum(sizes):,}"
            )
        self.meet()
        if rows is None:
            found = np.empty_like(own)
            self._pass_on(found, self.comm.Recv, 0)
            return found
        begins = np.cumsum([0, *sizes])
        whole = np.ascontiguousarray(rows, own.dtype)
        for rank in range(1, self.size):
            self._pass_on(whole[begins[rank] : begins[rank + 1]], self.comm.Send, rank)
        return whole[: begins[1]]

    def _pass_on(self, rows: Array, message: Callable[..., object], other: int) -> Array:
        """Send an array to another member, or take it from there, in pieces; return it."""
        flat = rows.reshape(-1).view(np.uint8)
        for at in range(0, flat.size, MOST):
            with self.watch.waiting():
                message(flat[at : at + MOST], other)
        return rows

    def leave(self) -> None:
        """End the work of all members together.

        Raises
        ------
        SgmcError
            What is wrong with the first member that has failed.
        """
        self.meet()
        self._over = True

    def fail(self, error: SgmcError) -> NoReturn:
        """Tell the others that something is wrong here, and raise what all members raise.

        Raises
        ------
        SgmcError
        """
        if self._over:
            raise error
        self._exchange(None, Orders.FAIL, 0)
        self._raise_first(error)

    def _raise_first(self, mine: SgmcError | None) -> NoReturn:
        """Raise what is wrong with the first member that has failed; all know by now that one has."""
        told = self._gather(None if mine is None else (str(mine), mine.exit_code))
        self._over = True
        rank = next(r for r in range(self.size) if told[r] is not None)
        if mine is not None and rank == self.rank == 0:
            raise mine
        text, code = told[rank]
        raise RankError(f"{self.names[rank]}: {text}", code)

    def abort(self, code: int) -> NoReturn:
        """End the processes of all members at once."""
        self.comm.Abort(code)
        raise SystemExit(code)

    def _give_up(self, code: int) -> None:
        """End the processes of all members, or this one alone where the library does not come to it.

        A launcher that only sees a process end may say the code of another that it has killed (9).
        """
        aborts = threading.Thread(target=self.comm.Abort, args=(code,), daemon=True)
        aborts.start()
        aborts.join(LOOK)
        os._exit(code)


def _like(array: Array, rows: Int64s) -> Array:
    """Return memory for some rows of an array."""
    return np.empty((len(rows), *array.shape[1:]), array.dtype)


#: The digest of which every bit is set.
_ALL = (1 << 64) - 1


def _digest(arrays: Iterable[Array]) -> int:
    """Return 64 bits that are others where the arrays are."""
    found = hashlib.blake2b(digest_size=8)
    for array in arrays:
        found.update(np.ascontiguousarray(array).data)
    return int.from_bytes(found.digest(), "little")
