"""Messages between the processes of an MPI launch; no other module imports mpi4py."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn

import mpi4py
import numpy as np

from pysgrld.chain.communicator import (
    Collected,
    Communicator,
    ExchangedRequests,
    Orders,
    RequestedRows,
    RowsHere,
    check_launch,
    launch,
)
from pysgrld.chain.watch import LOOK, Watch
from pysgrld.core import core
from pysgrld.errors import CheckpointError, DisagreementError, LaunchError, RankError, SgmcError
from pysgrld.types import Array, Floats, Int32s, Int64s, Minibatch

mpi4py.rc(initialize=False, finalize=True)  # The first `Ranks` object initializes MPI.

try:
    from mpi4py import MPI
except (ImportError, RuntimeError) as error:
    raise LaunchError(f"--mpi: mpi4py cannot load an MPI library: {error}") from error

#: Maximum number of elements in a message, because some MPI libraries count elements in 32 bits.
MOST = 1 << 27
#: Arrays with fewer elements than this number are summed by Allreduce, which is faster for small
#: arrays (benchmarks/ranks.py).
FEW = 1 << 18
#: Arrays with at most this number of elements are summed together, in one message.
SMALL = 1 << 12
#: Number of bytes of topic rows that one message gathers or scatters.
STRIP = 1 << 24


class Ranks(Communicator):
    """Communicator between the processes (ranks) of an MPI launch.

    Parameters
    ----------
    timeout : float, optional
        Maximum number of seconds that a process waits for others before it ends.
    threads : int
        Number of threads that add up counts.

    Raises
    ------
    LaunchError
        If the launcher does not belong to the MPI library.
    """

    def __init__(self, timeout: float | None = None, threads: int = 1) -> None:
        if not MPI.Is_initialized():
            # Only the main thread sends messages, except that another thread may abort all ranks
            # after too long a wait.
            MPI.Init_thread(MPI.THREAD_FUNNELED)
        self.comm = MPI.COMM_WORLD
        self.rank, self.size = self.comm.rank, self.comm.size
        self.threads = threads
        self.library = " ".join(MPI.Get_library_version().split("\n")[0].split()[:3]).rstrip(",")
        check_launch(launch(), self.size, self.library)
        self.host = socket.gethostname()
        hosts = self.comm.allgather(self.host)
        #: Name of each rank in messages to the user, with its number and host.
        self.names = [f"rank {rank} on {host}" for rank, host in enumerate(hosts)]
        self.watch = Watch(self.names[self.rank], timeout, end=self._give_up)
        self.sampling = self.moving = 0.0  # seconds
        self.sent = 0  # bytes
        self._over = False  # True if all ranks know that the work has ended
        self._room: dict[str, Array] = {}
        self._last: RequestedRows | None = None

    # ---- messages between ranks before an iteration

    def exchange_requests(
        self,
        batch: Minibatch | None = None,
        orders: Orders = Orders.NONE,
        same: Callable[[], Iterable[Array]] = tuple,
    ) -> ExchangedRequests:
        """Combine the requests of all ranks before an iteration, and add up documents and tokens.

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
            digests = self._allgather(mine)
            other = [self.names[r] for r in range(self.size) if digests[r] != digests[0]]
            self._over = True
            raise DisagreementError(
                f"{', '.join(other)} {'have' if len(other) > 1 else 'has'} different topics "
                "than rank 0, because memory or a processor is faulty; exclude the machine "
                "concerned, and run the same command again (the last checkpoint is undamaged)"
            )
        return met

    def _exchange(
        self, batch: Minibatch | None, orders: Orders, digest: int
    ) -> tuple[ExchangedRequests, bool]:
        """Exchange the requests of all ranks in one message; also return True if their states differ.

        One message combines by a bitwise OR: the numbers of documents and tokens, at separate
        places for each rank; the requests; the digest and its complement. The results for digest
        and complement have a common bit if and only if the digests of two ranks differ.
        """
        sizes = np.zeros((self.size, 2), np.uint64)
        if batch is not None:
            sizes[self.rank] = len(batch.doc_ids), batch.tokens
        last = np.array([orders, digest, digest ^ _ALL], np.uint64)
        bits = np.concatenate([sizes.reshape(-1), last])
        self._reduce(bits, MPI.BOR)
        documents, tokens = bits[:-3].reshape(-1, 2).sum(axis=0).tolist()
        met = ExchangedRequests(Orders(int(bits[-3])), documents, tokens)
        return met, bool(bits[-2] & bits[-1])

    # ---- rows of the topic matrix, each owned by one rank

    def owns(self, words: Int32s) -> Array:
        """Return True for each word with a topic row that this rank owns."""
        return np.equal(self._owners(words), self.rank)

    def _owners(self, words: Array) -> Array:
        """Return the rank that owns the topic row of each word (block-cyclic distribution)."""
        return words // core.ROW_UNIT % self.size

    def request_rows(self, batch: Minibatch) -> tuple[Minibatch, Int32s]:
        """Request the topic rows of a minibatch's words from the ranks that own these words."""
        if self._last is None or self._last.batch is not batch:
            self._last = self._ask(batch)
        return self._last.ordered, self._last.held

    def _ask(self, batch: Minibatch) -> RequestedRows:
        holders = self._owners(batch.words)
        order = np.argsort(holders, kind="stable")
        places = np.empty(len(order), np.int32)
        places[order] = np.arange(len(order), dtype=np.int32)
        words = batch.words[order]
        ordered = batch._replace(words=words, indices=places[batch.indices])
        sent = np.bincount(holders, minlength=self.size)
        taken = np.empty_like(sent)
        with self.watch.waiting():
            self.comm.Alltoall(sent, taken)
        requested = self._alltoall_rows(words, sent, np.empty(int(taken.sum()), np.int32), taken)
        is_own = np.repeat(np.arange(self.size) == self.rank, taken)
        numbers = np.where(is_own, np.cumsum(is_own), is_own.sum() + np.cumsum(~is_own)) - 1
        order = np.argsort(requested, kind="stable")
        held, begins = np.unique(requested[order], return_index=True)
        begins = np.append(begins, len(requested))
        return RequestedRows(batch, ordered, sent, taken, requested, held, numbers[order], begins)

    @property
    def _last_request(self) -> RequestedRows:
        assert self._last is not None
        return self._last

    def fetch(self, words: Int32s, read: Callable[..., Floats]) -> Floats:
        """Return the topic rows that the last call of `request_rows` has requested."""
        request, own_words, is_other = self._last_request, self._own_words, self._is_other_rank
        theirs = read(np.delete(request.requested, self._own_rows(request.taken)))
        out = self._buffer("fetched", len(words), theirs)
        read(words[own_words], out[own_words])
        self.fetched = RowsHere(out[own_words], theirs, request.order[request.begins[:-1]])
        return self._alltoall_rows(
            theirs, request.taken * is_other, out, request.sent * is_other, None, request.sent
        )

    def collect(self, sample: Callable[[Minibatch], Collected], batch: Minibatch) -> Collected:
        """Sample the documents of this rank, and combine the statistics of all ranks.

        Raises
        ------
        SgmcError
            If a rank could not sample its documents.
        """
        wrong: SgmcError | None = None
        collected = Collected(())
        began = time.monotonic()
        try:
            collected = sample(batch)
        except SgmcError as error:
            wrong = error
        self.sampling += time.monotonic() - began
        failed = np.array([wrong is not None], np.int64)
        self._allreduce(failed)
        if failed[0]:
            self._raise_first(wrong)
        by_word = tuple(self._sum_at_owners(i, a) for i, a in enumerate(collected.by_word))
        self._allreduce_together(collected.sums)
        values = collected.values
        if values is not None:
            with self.watch.waiting():
                values = np.concatenate(self.comm.allgather(values))
        return Collected(by_word, collected.sums, values, self._last_request.held)

    def _sum_at_owners(self, number: int, counts: Int64s) -> Int64s:
        """Send word counts to the words' owners; return the sums for the words of this rank."""
        request = self._last_request
        flat = counts.reshape(len(counts), *(counts.shape[1:] or (1,)))
        taken = request.taken * self._is_other_rank
        theirs = self._buffer(f"taken {number}", int(taken.sum()), flat)
        self._alltoall_rows(flat, request.sent * self._is_other_rank, theirs, taken, request.sent)
        out = self._buffer(f"added {number}", len(request.held), flat)
        core.add_rows(
            own=flat[self._own_words],
            theirs=theirs,
            order=request.order,
            begin=request.begins,
            out=out,
            threads=self.threads,
        )
        return out.reshape(len(out), *counts.shape[1:])

    def _buffer(self, name: str, rows: int, like: Array) -> Array:
        """Return a reusable buffer with ``rows`` rows, with the width and type of ``like``."""
        across, memory = like.shape[1], self._room.get(name)
        if memory is None or len(memory) < rows or memory.shape[1] != across:
            memory = self._room[name] = core.zeros(rows + rows // 8, across, like.dtype.name)
        return memory[:rows]

    @property
    def _is_other_rank(self) -> Array:
        """Mask of the ranks, True for all ranks except this one."""
        return np.not_equal(np.arange(self.size), self.rank)

    @property
    def _own_words(self) -> slice:
        """Slice of this rank's words among the minibatch's words, which are sorted by owner."""
        return self._own_rows(self._last_request.sent)

    def _own_rows(self, sizes: Int64s) -> slice:
        """Return the slice of this rank's rows; ``sizes`` has the number of rows of each rank."""
        begin = int(sizes[: self.rank].sum())
        return slice(begin, begin + int(sizes[self.rank]))

    def _alltoall_rows(
        self,
        rows: Array,
        sent: Int64s,
        out: Array,
        taken: Int64s,
        apart: Int64s | None = None,
        to: Int64s | None = None,
    ) -> Array:
        """Send ``sent[i]`` rows to each rank i, and receive ``taken[i]`` rows from rank i.

        Parameters
        ----------
        rows, out : array
        sent, taken : (P,) int64
        apart, to : (P,) int64, optional
            Number of rows in ``rows`` and in ``out`` from the first row of each rank to the
            first row of the next rank; by default ``sent`` and ``taken``.
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

    def allgather_rows_by_word(self, words: Int32s, rows: Array) -> tuple[Int32s, Array]:
        """Allgather rows: return the rows of all ranks on every rank, sorted by word."""
        sizes = np.array(self._allgather(len(words)))
        of_all = self._concatenate_rows(words, sizes)
        order = np.argsort(of_all, kind="stable")
        return of_all[order], self._concatenate_rows(rows, sizes)[order]

    def _concatenate_rows(self, rows: Array, sizes: Int64s) -> Array:
        """Return the rows of all ranks, in rank order; ``sizes`` has each rank's number of rows."""
        joined = np.empty((int(sizes.sum()), *rows.shape[1:]), rows.dtype)
        joined[self._own_rows(sizes)] = rows
        self._allgather_sized_rows(joined, sizes)
        return joined

    def _allgather_sized_rows(self, array: Array, sizes: Int64s) -> None:
        """Allgather rows in place; ``sizes`` has the number of rows of each rank."""
        across = int(np.prod(array.shape[1:], dtype=np.int64))
        flat = array.reshape(-1)
        begins = np.concatenate(([0], np.cumsum(sizes))) * across
        for begin in range(0, len(flat), MOST):
            piece = flat[begin : begin + MOST]
            self._allgather_parts(piece, np.clip(begins - begin, 0, len(piece)))

    def allgather_rows(self, units: Array) -> None:
        """Allgather an array; each rank has computed a part of the rows.

        The array has a row for each unit of topic rows.
        """
        numbers = np.arange(len(units))
        order = np.argsort(numbers % self.size, kind="stable")
        dealt = units[order]
        self._allgather_sized_rows(dealt, np.bincount(numbers % self.size, minlength=self.size))
        units[order] = dealt

    def sum_over_processes(self, counts: Int64s) -> Int64s:
        """Return the sum over the ranks of each element of a small integer array."""
        totals = counts.copy()
        self._allreduce(totals)
        return totals

    def move(self, step: Callable[[], None]) -> None:
        """Call `step`, which updates the rows that this rank owns.

        The time of the call is added to ``moving``.
        """
        began = time.monotonic()
        step()
        self.moving += time.monotonic() - began

    def gather_topic_rows(self, array: Array) -> None:
        """Gather all rows of an array on the first rank; each word's owner sends the word's row."""
        for rank, rows in self._row_chunks(array):
            if self.rank == 0:
                array[rows] = self._send_or_receive(
                    _empty_rows_like(array, rows), self.comm.Recv, rank
                )
            elif self.rank == rank:
                self._send_or_receive(array[rows], self.comm.Send, 0)

    def scatter_topic_rows(self, array: Array) -> None:
        """Send each row of an array from the first rank to the rank that owns the row's word."""
        for rank, rows in self._row_chunks(array):
            if self.rank == 0:
                self._send_or_receive(array[rows], self.comm.Send, rank)
            elif self.rank == rank:
                array[rows] = self._send_or_receive(
                    _empty_rows_like(array, rows), self.comm.Recv, 0
                )

    def _row_chunks(self, array: Array) -> Iterator[tuple[int, Int64s]]:
        """Yield pairs of a rank and a chunk of its row numbers, for all ranks except the first."""
        holders = self._owners(np.arange(len(array)))
        size = max(1, STRIP * len(array) // max(1, array.nbytes))
        for rank in range(1, self.size):
            held = np.flatnonzero(holders == rank)
            for begin in range(0, len(held), size):
                yield rank, held[begin : begin + size]

    # ---- sums over all ranks

    def _allreduce_together(self, sums: tuple[Int64s, ...]) -> None:
        """Sum arrays over all ranks, in place; small arrays are joined into one message."""
        small = [counts for counts in sums if counts.size <= SMALL]
        for counts in (a for a in sums if a.size > SMALL):
            flat = counts.reshape(-1)
            for begin in range(0, flat.size, MOST):
                self._allreduce(flat[begin : begin + MOST])
        if small:
            together = np.concatenate([counts.reshape(-1) for counts in small])
            self._allreduce(together)
            ends = np.cumsum([counts.size for counts in small])
            for counts, piece in zip(small, np.split(together, ends[:-1]), strict=True):
                counts[:] = piece.reshape(counts.shape)

    def _allreduce(self, flat: Int64s) -> None:
        """Replace counts by their sums over all ranks; each rank sums a part of a large array."""
        if len(flat) < FEW or self.size == 1:
            self._reduce(flat, MPI.SUM)
            return
        begins = np.array([rank * len(flat) // self.size for rank in range(self.size + 1)])
        self._allreduce_own_part(flat, begins)
        self._allgather_parts(flat, begins)

    def _reduce(self, numbers: Array, op: MPI.Op) -> None:
        self.sent += numbers.nbytes
        with self.watch.waiting():
            self.comm.Allreduce(MPI.IN_PLACE, numbers, op=op)

    def _allreduce_own_part(self, flat: Int64s, begins: Int64s) -> None:
        """Sum this rank's part of a vector of counts over all ranks, in place."""
        counts, places = np.diff(begins), begins[:-1]
        begin, end = begins[self.rank : self.rank + 2].tolist()
        is_other = np.arange(self.size) != self.rank  # True for all ranks but this one.
        room = self._buffer("parts", (self.size - 1) * (end - begin), flat.reshape(-1, 1))
        parts = room.reshape(self.size - 1, end - begin)
        theirs = is_other * (end - begin)
        self.sent += flat.itemsize * int((counts * is_other).sum())
        with self.watch.waiting():
            self.comm.Alltoallv(
                [flat, counts * is_other, places, MPI.INT64_T],
                [parts, theirs, np.cumsum(theirs) - theirs, MPI.INT64_T],
            )
        core.add_counts(parts=parts, out=flat[begin:end], threads=self.threads)

    def _allgather_parts(self, flat: Array, begins: Int64s) -> None:
        """Allgather the parts of a vector in place: each rank sends the part that it owns.

        MPI's Allgatherv takes many times as long.
        """
        is_other = np.arange(self.size) != self.rank
        counts, places = np.diff(begins) * is_other, begins[:-1]
        sent = is_other * int(begins[self.rank + 1] - begins[self.rank])
        self.sent += flat.itemsize * int(sent.sum())
        with self.watch.waiting():
            self.comm.Alltoallv(
                [flat, (sent, np.full(self.size, places[self.rank]))], [flat, (counts, places)]
            )

    def metrics(self) -> dict[str, float]:
        """Return the number of ranks, bytes sent, and seconds for messages, sampling and updates.

        The seconds of messages include waiting. The seconds of updates are for this rank's part of
        the topics. Bytes include the counts, words and topics sent to other ranks.
        """
        return {
            "ranks": self.size,
            "exchange_seconds": round(self.watch.seconds, 6),
            "exchange_bytes": self.sent,
            "sampling_seconds": round(self.sampling, 6),
            "moving_seconds": round(self.moving, 6),
        }

    # ---- messages between ranks outside of iterations

    def allgather(self, value: Any) -> list[Any]:
        """Allgather a Python object, and return the objects of all ranks in rank order.

        Raises
        ------
        SgmcError
            The error of the first failed rank.
        """
        self.exchange_requests()
        return self._allgather(value)

    def _allgather(self, value: Any) -> list[Any]:
        """Allgather a Python object, without checking whether other ranks have failed."""
        with self.watch.waiting():
            return list(self.comm.allgather(value))

    def broadcast(self, value: Any = None) -> Any:
        """Broadcast a Python object from the first rank, and return the object.

        Raises
        ------
        SgmcError
            The error of the first failed rank.
        """
        self.exchange_requests()
        with self.watch.waiting():
            return self.comm.bcast(value)

    def broadcast_arrays(self, arrays: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Broadcast arrays from the first rank, in pieces, and return them.

        Raises
        ------
        SgmcError
            The error of the first failed rank.
        """
        source = {name: np.ascontiguousarray(a) for name, a in (arrays or {}).items()}
        shapes = self.broadcast({name: (a.shape, a.dtype.str) for name, a in source.items()})
        for name, (shape, dtype) in shapes.items():
            array = source.setdefault(name, np.empty(shape, dtype))
            flat = array.reshape(-1).view(np.uint8)
            for begin in range(0, flat.size, MOST):
                with self.watch.waiting():
                    self.comm.Bcast(flat[begin : begin + MOST])
        return source

    def gather_rows(self, rows: Array) -> Array:
        """Gather the rows of all ranks on the first rank; other ranks get ``rows`` back."""
        sizes = self._allgather(len(rows))
        if self.rank:
            self._send_or_receive(np.ascontiguousarray(rows), self.comm.Send, 0)
            return rows
        gathered = np.empty((sum(sizes), *rows.shape[1:]), rows.dtype)
        begins = np.cumsum([0, *sizes])
        gathered[: begins[1]] = rows
        for rank in range(1, self.size):
            self._send_or_receive(gathered[begins[rank] : begins[rank + 1]], self.comm.Recv, rank)
        return gathered

    def scatter_rows(self, rows: Array | None, part: Array) -> Array:
        """Scatter rows from the first rank; return the rows of this rank.

        Raises
        ------
        CheckpointError
            If the number of rows differs from the total length of the parts.
        """
        sizes = self._allgather(len(part))
        if rows is not None and len(rows) != sum(sizes):
            raise CheckpointError(
                f"the checkpoint has values of {len(rows):,} documents, but the corpus has "
                f"{sum(sizes):,} documents"
            )
        self.exchange_requests()
        if rows is None:
            received = np.empty_like(part)
            self._send_or_receive(received, self.comm.Recv, 0)
            return received
        begins = np.cumsum([0, *sizes])
        whole = np.ascontiguousarray(rows, part.dtype)
        for rank in range(1, self.size):
            self._send_or_receive(whole[begins[rank] : begins[rank + 1]], self.comm.Send, rank)
        return whole[: begins[1]]

    def _send_or_receive(self, rows: Array, message: Callable[..., object], other: int) -> Array:
        """Send an array to another rank, or receive it, in pieces; return the array.

        ``message`` is the method that sends or receives a piece.
        """
        flat = rows.reshape(-1).view(np.uint8)
        for begin in range(0, flat.size, MOST):
            with self.watch.waiting():
                message(flat[begin : begin + MOST], other)
        return rows

    def end_all_ranks(self) -> None:
        """End the work of all ranks; every rank must call this method.

        Raises
        ------
        SgmcError
            The error of the first failed rank.
        """
        self.exchange_requests()
        self._over = True

    def fail(self, error: SgmcError) -> NoReturn:
        """Send this rank's error to the other ranks, and raise the first failed rank's error.

        All ranks raise the same error.

        Raises
        ------
        SgmcError
        """
        if self._over:
            raise error
        self._exchange(None, Orders.FAIL, 0)
        self._raise_first(error)

    def _raise_first(self, mine: SgmcError | None) -> NoReturn:
        """Raise the first failed rank's error; after a failure, every rank calls this method."""
        errors = self._allgather(None if mine is None else (str(mine), mine.exit_code))
        self._over = True
        rank = next(r for r in range(self.size) if errors[r] is not None)
        if mine is not None and rank == self.rank == 0:
            raise mine
        text, code = errors[rank]
        raise RankError(f"{self.names[rank]}: {text}", code)

    def abort(self, code: int) -> NoReturn:
        """End the processes of all ranks immediately, with the exit code ``code``."""
        self.comm.Abort(code)
        raise SystemExit(code)

    def _give_up(self, code: int) -> None:
        """End the processes of all ranks, or only this process if MPI does not respond.

        If only this process ended, a launcher might report the exit code of another process that it
        has killed (9).
        """
        aborts = threading.Thread(target=self.comm.Abort, args=(code,), daemon=True)
        aborts.start()
        aborts.join(LOOK)
        os._exit(code)


def _empty_rows_like(array: Array, rows: Int64s) -> Array:
    """Return an uninitialised array of ``len(rows)`` rows, with row shape and type of ``array``."""
    return np.empty((len(rows), *array.shape[1:]), array.dtype)


#: XOR with this number inverts all bits of a digest.
_ALL = (1 << 64) - 1


def _digest(arrays: Iterable[Array]) -> int:
    """Return a 64-bit hash of arrays."""
    digest = hashlib.blake2b(digest_size=8)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return int.from_bytes(digest.digest(), "little")
