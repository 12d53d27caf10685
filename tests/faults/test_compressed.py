"""Compressed inputs that are bombs, damaged, truncated, or have several members.

Rows 51 and 52 of the matrix.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard
from click.testing import CliRunner

from pysgrld.cli import main
from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.corpus.lines import StreamTooLargeError, blocks
from pysgrld.errors import CorpusError

COMPRESS = {
    "gz": lambda data: gzip.compress(data, 1, mtime=0),
    "bz2": lambda data: bz2.compress(data, 1),
    "xz": lambda data: lzma.compress(data, preset=0),
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
KINDS = pytest.mark.parametrize("kind", COMPRESS)
#: xz as gz, in the same steps: by day tests/unit/test_corpus_compression.py has small bombs of it.
LARGE = pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=pytest.mark.nightly) if k == "xz" else k for k in COMPRESS]
)
CHANCE = random.Random(8)
LINES = [" ".join(CHANCE.choices(["one", "two", "three", "vier"], k=9)) for _ in range(6000)]
TEXT = "".join(f"{line} w{i % 500}\n" for i, line in enumerate(LINES)).encode()


def read(folder: Path, name: str, data: bytes, **options: object) -> Corpus:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    return open_corpus([str(folder / name)], CorpusOptions(**options), store=folder / "s")


def refused(folder: Path, kind: str, data: bytes) -> CorpusError:
    """Return the error for a text, and check that the attempt leaves no files."""
    with pytest.raises(CorpusError) as caught:
        read(folder, f"x.txt.{kind}", data)
    assert [path.name for path in folder.iterdir()] == [f"x.txt.{kind}"]
    assert caught.value.exit_code == 65
    assert 1 <= caught.value.line <= len(LINES) + 1
    return caught.value


# -- row 51 -----------------------------------------------------------------------------------------


def bomb(kind: str, members: int) -> Iterator[bytes]:
    """Return zeros, 64 MiB in each member."""
    member = COMPRESS[kind](bytes(2**26))
    assert len(member) * 1000 < 2**26 or kind == "gz"  # level 1 of gzip makes 1:229
    return iter([member] * members)


def opened(members: Iterator[bytes], **options: object) -> Iterator[bytes]:
    return blocks(lambda size: next(members, b""), **options)


@pytest.mark.row(51)
@LARGE
@pytest.mark.parametrize(
    "gib",
    [pytest.param(0.125, id="128MiB"), pytest.param(10, id="10GiB", marks=pytest.mark.nightly)],
)
def test_a_bomb_is_streamed_in_little_memory(kind, gib, trials):
    """Red with: a step without limit. (An eighth of a GiB in continuous integration, ten at night.)"""
    members = bomb(kind, int(16 * gib))
    tracemalloc.start()
    try:
        assert sum(map(len, opened(members, threads=2))) == int(gib * 2**30)
        assert tracemalloc.get_traced_memory()[1] < 48 * 2**20
    finally:
        tracemalloc.stop()
    trials()


@pytest.mark.row(51)
@pytest.mark.parametrize(
    "kind",
    [pytest.param(k, marks=pytest.mark.nightly) if k in ("bz2", "xz") else k for k in COMPRESS],
)
def test_a_bomb_is_stopped_by_a_limit_on_what_comes_out(kind, trials):
    """Red with: the limit left out; counted in bytes of the file."""
    limit = 70 * 2**20
    with pytest.raises(StreamTooLargeError, match=f"expands to more than {limit} bytes"):
        sum(map(len, opened(bomb(kind, 100), limit=limit)))
    exact = sum(map(len, opened(bomb(kind, 1), limit=2**26)))
    assert exact == 2**26
    trials()


@pytest.mark.row(51)
@pytest.mark.parametrize(
    "kind",
    # the others as in tests/unit/test_corpus_compression.py
    ["gz", *(pytest.param(k, marks=pytest.mark.nightly) for k in COMPRESS if k != "gz")],
)
def test_a_bomb_of_one_line_is_refused_in_little_memory(kind, trials, tmp_path):
    data = COMPRESS[kind](b"two words\n" + b"x" * 2**27)
    tracemalloc.start()
    try:
        with pytest.raises(CorpusError, match=r":2: the line has more than 1048576 bytes"):
            read(tmp_path, f"x.txt.{kind}", data, max_line=2**20)
        assert tracemalloc.get_traced_memory()[1] < 80 * 2**20
    finally:
        tracemalloc.stop()
    trials()


# -- row 52 -----------------------------------------------------------------------------------------


@pytest.mark.row(52)
@KINDS
def test_a_cut_file_is_refused_at_the_line_where_it_ends(kind, trials, tmp_path):
    """Red with: the end of the file taken for the end of the stream."""
    data, last = COMPRESS[kind](TEXT), 0
    for share in (0.001, 0.25, 0.5, 0.75, 0.9, 0.99):
        error = refused(tmp_path, kind, data[: max(8, int(share * len(data)))])
        assert "data is incomplete" in str(error)
        assert error.line >= last
        last = error.line
        trials()
    assert last > 4000
    for cut in range(1, 9):
        assert "is incomplete" in str(refused(tmp_path, kind, data[:-cut]))
        trials()


@pytest.mark.row(52)
@KINDS
def test_a_wrong_checksum_is_refused(kind, trials, tmp_path):
    """Red with: streams whose end is not read."""
    data = COMPRESS[kind](TEXT)
    # where the checksum of the content is, counted from the end
    for place in {"gz": (5, 8), "bz2": (2, 4), "xz": (30, 32), "zst": (1, 4)}[kind]:
        changed = bytearray(data)
        changed[-place] ^= 0x10
        assert "damaged" in str(refused(tmp_path, kind, bytes(changed)))
        trials()


@pytest.mark.row(52)
@KINDS
def test_a_changed_byte_is_refused_wherever_it_is(kind, trials, tmp_path):
    data, chance = COMPRESS[kind](TEXT), random.Random(2)
    # gzip's first ten bytes say when and where; nothing checks them
    for place in (chance.randrange(10, len(data)) for _ in range(20)):
        changed = bytearray(data)
        changed[place] ^= chance.randrange(1, 256)
        refused(tmp_path, kind, bytes(changed))
        trials()


@pytest.mark.row(52)
@KINDS
@pytest.mark.parametrize("garbage", [b"x", b"more words\n", b"\0\0\0x", b"BZ", b"\x1f"])
def test_what_follows_the_last_member_is_refused(kind, garbage, trials, tmp_path):
    """Red with: what a decompressor leaves unused thrown away."""
    error = refused(tmp_path, kind, COMPRESS[kind](TEXT) + garbage)
    assert "other data" in str(error) or "is incomplete" in str(error)
    trials()


@pytest.mark.row(52)
@KINDS
def test_all_members_are_read_wherever_they_meet(kind, trials, tmp_path):
    """Red with: reading that stops after the first member; lines not joined across members."""
    plain = read(tmp_path / "plain", "x.txt", TEXT)
    for number, cut in enumerate((1, 2, len(TEXT) // 2, len(TEXT) - 1)):
        members = COMPRESS[kind](TEXT[:cut]) + COMPRESS[kind](b"") + COMPRESS[kind](TEXT[cut:])
        corpus = read(tmp_path / str(number), f"x.txt.{kind}", members + bytes(number))
        assert corpus.fingerprint == plain.fingerprint
        trials()


@pytest.mark.row(52)
@KINDS
def test_the_command_ends_with_65_and_one_line(kind, trials, tmp_path):
    path = tmp_path / f"x.txt.{kind}"
    path.write_bytes(COMPRESS[kind](TEXT)[:-100])
    done = CliRunner().invoke(main, ["corpus", "build", str(path), "-o", str(tmp_path / "s")])
    assert done.exit_code == 65
    assert len(done.stderr.strip().splitlines()) == 1
    assert f"{path}:" in done.stderr
    assert "download or export the file again" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    trials()
