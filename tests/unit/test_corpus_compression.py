"""Compressed inputs: read fully, bounded, and refused when damaged."""

from __future__ import annotations

import bz2
import gzip
import lzma
import resource
import tracemalloc
from pathlib import Path

import pytest
import zstandard

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.corpus.lines import STEP, blocks
from pysgrld.errors import CorpusError

DATA = Path(__file__).parents[1] / "data"
TEXT = (DATA / "tiny.txt").read_bytes()
COMPRESS = {
    "gz": lambda data: gzip.compress(data, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
ANY = pytest.mark.parametrize("kind", COMPRESS)


def read(path: Path, store: Path) -> Corpus:
    return open_corpus([str(path)], CorpusOptions(), store=store)


@ANY
def test_a_compressed_text_equals_the_plain_one(kind, tmp_path):
    path = tmp_path / f"x.txt.{kind}"
    path.write_bytes(COMPRESS[kind](TEXT))
    plain = read(DATA / "tiny.txt", tmp_path / "a")
    assert read(path, tmp_path / "b").fingerprint == plain.fingerprint


@ANY
def test_compression_is_recognised_by_content_whatever_the_name(kind, tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes(COMPRESS[kind](TEXT))
    plain = read(DATA / "tiny.txt", tmp_path / "a")
    assert read(path, tmp_path / "b").fingerprint == plain.fingerprint


@ANY
def test_every_member_is_read(kind, tmp_path):
    path = tmp_path / f"x.txt.{kind}"
    cut = TEXT.index(b"\n") + 9
    path.write_bytes(COMPRESS[kind](TEXT[:cut]) + COMPRESS[kind](TEXT[cut:]))
    plain = read(DATA / "tiny.txt", tmp_path / "a")
    assert read(path, tmp_path / "b").fingerprint == plain.fingerprint


@ANY
def test_zeros_after_the_last_member_are_padding(kind, tmp_path):
    path = tmp_path / f"x.txt.{kind}"
    path.write_bytes(COMPRESS[kind](TEXT) + bytes(512))
    assert read(path, tmp_path / "s").documents == 3


@ANY
def test_garbage_after_the_last_member_is_refused(kind, tmp_path):
    path = tmp_path / f"x.txt.{kind}"
    path.write_bytes(COMPRESS[kind](TEXT) + b"garbage")
    with pytest.raises(CorpusError, match=r"data is followed by other data"):
        read(path, tmp_path / "out" / "s")
    assert not list((tmp_path / "out").glob("*"))


@ANY
@pytest.mark.parametrize("keep", [5, 0.5, 0.9, -1], ids=["header", "half", "most", "last byte"])
def test_a_cut_file_is_refused_wherever_it_was_cut(kind, keep, tmp_path):
    data = COMPRESS[kind](b"some words here\n" * 5_000)
    path = tmp_path / f"x.txt.{kind}"
    path.write_bytes(data[: int(keep * len(data)) if isinstance(keep, float) else keep])
    with pytest.raises(CorpusError, match="data is incomplete") as caught:
        read(path, tmp_path / "s")
    assert caught.value.line is not None


def test_damage_is_reported_with_the_line_reached(tmp_path):
    data = gzip.compress(b"".join(b"line number %d\n" % i for i in range(20_000)), mtime=0)
    path = tmp_path / "x.txt.gz"
    path.write_bytes(data[:-200])
    with pytest.raises(CorpusError) as caught:
        read(path, tmp_path / "s")
    assert 15_000 < caught.value.line < 20_000


@ANY
def test_a_flipped_bit_is_refused(kind, tmp_path):
    data = bytearray(COMPRESS[kind](bytes(i * i % 95 + 32 for i in range(20_000)) * 3))
    data[len(data) // 2] ^= 16
    path = tmp_path / f"x.txt.{kind}"
    path.write_bytes(bytes(data))
    with pytest.raises(CorpusError, match="damaged"):
        read(path, tmp_path / "s")


@ANY
def test_a_compressed_empty_file_is_empty(kind, tmp_path):
    path = tmp_path / f"x.txt.{kind}"
    path.write_bytes(COMPRESS[kind](b""))
    with pytest.raises(CorpusError, match="the file is empty"):
        read(path, tmp_path / "s")


@ANY
def test_a_bomb_is_given_out_in_small_pieces(kind):
    data = COMPRESS[kind](bytes(2**23))
    place = 0

    def raw(size: int) -> bytes:
        nonlocal place
        place += size
        return data[place - size : place]

    sizes = [len(block) for block in blocks(raw)]
    assert sum(sizes) == 2**23
    assert max(sizes) <= 16 * STEP


@ANY
def test_a_bomb_of_one_line_is_stopped_by_max_line_in_bounded_memory(kind, tmp_path):
    path = tmp_path / f"x.txt.{kind}"
    path.write_bytes(COMPRESS[kind](b"x" * 2**25))
    tracemalloc.start()
    try:
        with pytest.raises(CorpusError, match="more than 1048576 bytes"):
            open_corpus([str(path)], CorpusOptions(max_line=2**20), store=tmp_path / "s")
        assert tracemalloc.get_traced_memory()[1] < 2**25
    finally:
        tracemalloc.stop()


def framed(window: int | None = None, **how) -> bytes:
    """Return TEXT as a frame of zstd, which says its size only if all of it is compressed at once."""
    if window is None:
        return zstandard.ZstdCompressor(**how).compress(TEXT)
    parameters = zstandard.ZstdCompressionParameters(window_log=window, compression_level=1)
    engine = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return engine.compress(TEXT) + engine.flush()


def skippable(size: int, kind: int = 0) -> bytes:
    return bytes([0x50 + kind]) + b"\x2a\x4d\x18" + size.to_bytes(4, "little") + bytes(size)


@pytest.mark.parametrize("window", [28, 29, 30, 31])
def test_a_window_of_any_size_is_read_and_what_is_only_claimed_is_not_allocated(tmp_path, window):
    """Red with: windows of 2^28 and more that are damaged, which those of Reddit's dumps are not."""
    path = tmp_path / "x.txt.zst"
    path.write_bytes(framed(window))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    corpus = read(path, tmp_path / "s")
    assert corpus.documents == (TEXT.count(b"\n") - 1)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**19  # KiB


FRAMES = {
    "several": lambda: framed() + framed(20),
    "skippable first": lambda: skippable(7) + framed(),
    "skippable between, and last": lambda: (
        framed() + skippable(3 * 2**20, 15) + framed() + skippable(0)
    ),
    "only skippable, then text": lambda: skippable(0) * 3 + framed(write_checksum=True),
    "empty": lambda: zstandard.ZstdCompressor().compress(b"") + framed(),
    "without its size": lambda: framed(write_content_size=False),
}


@pytest.mark.parametrize("name", FRAMES)
def test_all_kinds_of_frames_of_zstd_are_read(tmp_path, name):
    """Red with: a skippable frame, as pzstd writes it, that makes the file text or damaged."""
    path, data = tmp_path / "x.txt.zst", FRAMES[name]()
    path.write_bytes(data)
    times = 2 if name in ("several", "skippable between, and last") else 1
    assert read(path, tmp_path / "s").documents == times * (TEXT.count(b"\n") - 1)


def test_a_frame_that_ends_early_or_needs_a_dictionary_is_said(tmp_path):
    path = tmp_path / "x.txt.zst"
    path.write_bytes(framed() + skippable(100)[:50])
    with pytest.raises(CorpusError, match="data is incomplete"):
        read(path, tmp_path / "s")
    dictionary = zstandard.train_dictionary(
        1000, [b"mice %d sleep in winter" % i for i in range(2000)]
    )
    path.write_bytes(framed(dict_data=dictionary))
    with pytest.raises(CorpusError, match="made with a dictionary; decompress it with zstd -d -D"):
        read(path, tmp_path / "s")
