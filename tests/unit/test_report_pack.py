"""The format of a page's data: quantisation, and blocks that are read back."""

import zlib

import numpy as np

from pysgrld.report.pack import Packed, Scale, compact, linear16, log16, share8, share16, signed8


def test_probabilities_are_kept_to_a_fifth_of_a_thousandth():
    """Red with: another span; the greatest value rounded beyond the end."""
    p = np.exp(-np.random.default_rng(0).uniform(0, 20.7, 10_000))
    u = log16(np.concatenate([p, [1.0, 0.0, 1e-10]]))
    back = np.where(u == 65535, 0.0, np.exp(-u.astype(float) / 65535 * 20.8))
    np.testing.assert_allclose(back[:-3], p, rtol=1.6e-4)
    assert back[-3:].tolist() == [1.0, 0.0, 0.0]


def test_other_numbers_are_as_exact_as_their_steps():
    x = np.random.default_rng(1).uniform(-1, 1, 1000)
    np.testing.assert_allclose((linear16(x).astype(float) - 32768) / 32767, x, atol=1.6e-5)
    np.testing.assert_allclose(signed8(x) / 127, x, atol=4e-3)
    s = np.abs(x)
    np.testing.assert_allclose(share16(s) / 65535, s, atol=8e-6)
    np.testing.assert_allclose(share8(s) / 255, s, atol=2e-3)
    assert share8([2.0, -1.0]).tolist() == [255, 0]


def test_a_block_is_read_back_part_by_part():
    """Red with: parts that are not padded to four bytes."""
    block = Packed().add("n", "u8", [1, 2, 3]).text("text", "é\nb".encode())
    block.add("x", "u32", [[7], [2**32 - 1]]).add("r", "i8", [-127])
    assert block.parts == [["n", "u8", 3], ["text", "utf8", 4], ["x", "u32", 2], ["r", "i8", 1]]
    data = zlib.decompress(block.packed())
    assert data[:3] == b"\1\2\3"
    assert data[4:8].decode() == "é\nb"
    assert np.frombuffer(data[8:16], "<u4").tolist() == [7, 2**32 - 1]
    assert np.frombuffer(data[16:17], "i1").tolist() == [-127]
    assert len(data) == 20
    assert block.packed() == block.packed()


def test_halves_of_surrogates_do_not_stop_a_page():
    assert compact(["\ud800", "é"]) == '["?","é"]'.encode()


def test_sizes_of_packed_text_grow_with_it():
    scale = Scale()
    sizes = [scale.add(bytes(np.random.default_rng(i).bytes(999))) for i in range(5)]
    assert all(1300 < b - a < 1500 for a, b in zip([0, *sizes], sizes, strict=False))
