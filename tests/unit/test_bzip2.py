"""bzip2 by several threads: the same bytes and the same errors as by one."""

from __future__ import annotations

import bz2
import random
import tracemalloc
from collections.abc import Iterator

import pytest

from pysgrld.corpus import bzip2 as bzip2_module
from pysgrld.corpus.bzip2 import ParallelBzip2, _with_checksum
from pysgrld.corpus.lines import DamagedStreamError, blocks

RANDOM = random.Random(5)
WORDS = ["".join(RANDOM.choices("etaoinshrdlu", k=RANDOM.randint(2, 9))) for _ in range(3000)]
TEXT = " ".join(RANDOM.choices(WORDS, k=45_000)).encode()  # 300 kB: four blocks of level 1
FOUR = bz2.compress(TEXT, 1)
TWO = pytest.param(2, marks=pytest.mark.nightly)  # as three
ANY = pytest.mark.parametrize("threads", [1, TWO, 3])
MORE = pytest.mark.parametrize("threads", [TWO, 3])


def pieces(data: bytes, threads: int, size: int | None = None) -> Iterator[bytes]:
    place = 0

    def raw(most: int) -> bytes:
        nonlocal place
        piece = data[place : place + min(most, size or most)]
        place += len(piece)
        return piece

    return blocks(raw, threads)


def outcome(data: bytes, threads: int, size: int | None = None) -> tuple[bytes, str]:
    """All that came out, and the error it ended with."""
    found = []
    try:
        for piece in pieces(data, threads, size):
            assert 0 < len(piece) <= 2**20
            found.append(piece)
    except DamagedStreamError as error:
        return b"".join(found), str(error)
    return b"".join(found), ""


@pytest.fixture
def resumed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Bits from which one decompressor went on, in the middle of a member."""
    places: list[int] = []
    right = ParallelBzip2._resumed

    def spy(self: ParallelBzip2, header: bytes, at: int, checksum: int, given: int) -> object:
        places.append(at)
        return right(self, header, at, checksum, given)

    monkeypatch.setattr(ParallelBzip2, "_resumed", spy)
    return places


@ANY
@pytest.mark.parametrize("size", [None, 60_000, 997])
@pytest.mark.parametrize(
    ("data", "text"),
    [
        (FOUR, TEXT),
        (bz2.compress(TEXT, 9), TEXT),
        (FOUR + bz2.compress(TEXT[:220_000], 2) + FOUR, TEXT + TEXT[:220_000] + TEXT),
        (FOUR + bytes(100) + FOUR + bytes(9), TEXT + TEXT),
        (b"".join(bz2.compress(TEXT[i : i + 9], 3) for i in range(0, 900, 9)), TEXT[:900]),
        (bz2.compress(b""), b""),
        (bz2.compress(b"") + FOUR + bz2.compress(b""), TEXT),
    ],
    ids=["blocks", "one block", "members", "padded", "small members", "empty", "empty members"],
)
def test_whole_data_is_read_by_threads_alone(threads, size, data, text, resumed):
    """Red with: a block shifted by one bit less; the checksum of a member not reset by the next."""
    assert outcome(data, threads, size) == (text, "")
    assert resumed == []


@MORE
@pytest.mark.parametrize("part", range(6))
def test_data_that_is_cut_ends_with_the_same_error(threads, part):
    data = FOUR + bz2.compress(TEXT[:9000])
    ends = (
        list(range(1, 25))
        + list(range(25, len(data), 9973))
        + list(range(len(data) - 15, len(data)))
    )
    for end in ends[part::6]:
        assert outcome(data[:end], threads) == outcome(data[:end], 1)


@MORE
@pytest.mark.parametrize("part", range(6))
def test_a_changed_bit_anywhere_ends_with_the_same_error_after_the_same_bytes(threads, part):
    """Red with: blocks whose checksum was not asked for; the checksum of all left unread."""
    chance = random.Random(part)
    data = FOUR + FOUR[:60_000]
    end = len(FOUR)
    places = [3, 4, 9, 10, 13, end - 9, end - 3, end - 1, end, end + 3]
    for place in [*places[part::6], *(chance.randrange(len(data)) for _ in range(3))]:
        changed = bytearray(data)
        changed[place] ^= 1 << chance.randrange(8)
        text, error = outcome(bytes(changed), threads)
        assert (text, error) == outcome(bytes(changed), 1)
        assert (TEXT + TEXT).startswith(text)
        assert place >= end - 1 or len(text) <= len(TEXT)  # the last byte has bits without meaning
        assert error


@MORE
@pytest.mark.parametrize(
    "garbage", [b"x", b"garbage", b"\0\0BZ", b"BZh", b"BZh9", FOUR[4:], b"BZh0" + FOUR[4:]]
)
def test_what_follows_is_refused_as_by_one_thread(threads, garbage):
    assert outcome(FOUR + garbage, threads) == outcome(FOUR + garbage, 1)
    assert outcome(FOUR + garbage, threads)[1]


@ANY
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(n, marks=pytest.mark.nightly) for n in (2, 3))]
)
def test_marks_that_are_none_and_marks_that_are_missed_change_nothing(
    threads, seed, monkeypatch, resumed
):
    """Red with: a block that fails taken for damage; bytes given twice when one goes on alone."""
    whole = (FOUR + FOUR, FOUR[:-3], bz2.compress(bytes(10**7) + TEXT, 1))
    right_ones = [outcome(data, 1) for data in whole]
    chance = random.Random(seed)
    right = ParallelBzip2._search

    def wrong(self: ParallelBzip2) -> None:
        right(self)
        if chance.random() < 0.3 and len(self._marks) > 2:
            self._marks.pop(chance.choice(list(self._marks)[1:]))
        if self._marks and chance.random() < 0.5:
            first = min(self._marks)
            kind = chance.choice([bzip2_module._BLOCK, bzip2_module._END])
            self._marks.setdefault(first + chance.randrange(1, 400_000), kind)
            self._marks = dict(sorted(self._marks.items()))

    monkeypatch.setattr(ParallelBzip2, "_search", wrong)
    assert [outcome(data, threads, 50_000) for data in whole] == right_ones
    assert resumed


def test_a_bomb_is_given_out_in_small_pieces_and_no_thread_holds_more():
    """Red with: whole blocks as results."""
    data = bz2.compress(bytes(2**26))  # a block of 46 MB, and one of 21 MB
    tracemalloc.start()
    try:
        assert sum(map(len, pieces(data, 2))) == 2**26
        assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
    finally:
        tracemalloc.stop()


def test_a_beginning_can_be_made_up_for_any_checksum_and_bit():
    chance = random.Random(1)
    for bits in range(8):
        checksum = chance.randrange(2**32)
        content, stream = _with_checksum(b"BZh3", checksum, bits)
        end = (0x177245385090 << 32 | checksum) << (-(bits + 80) % 8)
        value = int.from_bytes(stream, "big") >> (-bits % 8) << (80 + -(bits + 80) % 8) | end
        assert bz2.decompress(value.to_bytes((value.bit_length() + 7) // 8, "big")) == content


def test_closing_early_ends_the_threads():
    import threading

    found = pieces(FOUR * 3, 3)
    next(found)
    assert any(t.name.startswith("sgmc-bzip2") for t in threading.enumerate())
    found.close()
    assert not any(t.name.startswith("sgmc-bzip2") for t in threading.enumerate())
