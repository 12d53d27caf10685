"""Files that were valid before a random change: row 55 of the fault matrix.

A file is written well and then changed here and there: bytes cut, doubled, exchanged, or numbers
and signs put in that mean much to a parser. What is read is a corpus, or an error of ours that names
the file; never another exception, never a warning of NumPy's (they are errors in tests), nothing
half-written, and no more memory than a small file needs.
"""

from __future__ import annotations

import io
import os
import resource
import shutil
import tempfile
import zipfile
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from trial_counts import counts

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.errors import SgmcError

WORDS = b"bread\ncaf\xc3\xa9\nwine\nzebra\nthe end\n"
UCI = b"4\n5\n6\n1 1 2\n1 3 1\n2 2 40\n4 1 1\n4 4 1\n4 5 12\n"
MARKET = b"%%MatrixMarket matrix coordinate real general\n% by hand\n4 5 6\n"


def npz(form: str, compression: int) -> bytes:
    parts = {
        "indices": np.array([0, 2, 1, 0, 3, 4], np.int32),
        "indptr": np.array([0, 2, 3, 3, 6], np.int32),
        "format": np.array(form.encode()),
        "shape": np.array([4, 5]),
        "data": np.array([2, 1, 40, 1, 1, 12]),
    }
    if form == "csc":
        parts["shape"] = np.array([5, 4])
    if form == "coo":
        parts |= {"row": np.array([0, 0, 1, 3, 3, 3]), "col": parts["indices"]}
        del parts["indices"], parts["indptr"]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, array in parts.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, array)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue())
    return file.getvalue()


#: By parser: names that the file may have, and what it was.
SEEDS = {
    "text": (["x.txt", "x"], ["the café\nserves bread and wine\n\nZebras, ½ zebra\n".encode()]),
    "JSON lines": (
        ["x.jsonl", "x.txt"],
        [
            b'{"text": "bread \\u00e9\\ud83d\\ude00", "n": [1e5, null]}\n\n{"n": 2, "text": "wine"}\n'
        ],
    ),
    "CSV": (
        ["x.csv", "x.tsv"],
        [
            b'id,text\n1,"bread, ""wine""\nand caf\xc3\xa9"\n\n2,zebra\n',
            b'\xef\xbb\xbfid\ttext\r\n1\t"bread\twine"\r\n2\tzebra\r\n',
        ],
    ),
    "UCI": (["docword.x.txt", "x.txt"], [UCI]),
    "LDA-C": (["x.ldac", "x.txt"], [b"2 0:2 2:1\n1 1:40\n0\n3 3:1 0:1 4:12\n"]),
    "SVMlight": (
        ["x.svmlight", "x.txt"],
        [
            b"# Column indices are zero-based\n1 0:2 2:1\n-1 qid:7 1:40 # two\n3 0:1.0 3:1e0 4:12\n",
            b"1 1:2 3:1\n-1 2:40\n0\n+2.5 1:1 4:1 5:12\n",
        ],
    ),
    "Matrix Market": (
        ["x.mtx", "x.txt"],
        [
            MARKET + b"1 1 2\n1 3 1.0\n2 2 4e1\n4 1 1\n4 4 0\n4 5 12\n",
            MARKET.replace(b"real", b"integer") + b"1 1 2\n4 1 1\n2 2 40\n1 3 1\n4 4 1\n4 5 12\n",
            MARKET.replace(b"real", b"pattern") + b"1 1\n1 3\n2 2\n4 1\n4 4\n4 5\n",
        ],
    ),
    "npz": (
        ["x.npz", "x"],
        [
            npz("csr", zipfile.ZIP_STORED),
            npz("csc", zipfile.ZIP_STORED),
            npz("coo", zipfile.ZIP_STORED),
            npz("csr", zipfile.ZIP_DEFLATED),
        ],
    ),
    "vocabulary": (["vocab.x.txt"], [WORDS]),
}

PIECES = [
    *(b"\0", b"\n", b"\r", b"\r\n", b"\t", b" ", b"  ", b'"', b'""', b",", b";", b":", b"#", b"%"),
    *(
        b"0",
        b"1",
        b"-1",
        b"+1",
        b"00",
        b"3.5",
        b"1e308",
        b"1e-400",
        b"nan",
        b"inf",
        b"0x10",
        b"1_0",
    ),
    *(b"2147483647", b"2147483648", b"4294967296", b"9223372036854775808", b"1" * 400),
    *(b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", b"\xc3", b"\xe2\x80\xa8", b"\\ud800"),
    *(
        b"{",
        b"}",
        b"[" * 50,
        b"]",
        b"null",
        b"\\",
        b"text",
        b"qid:",
        b"0:0",
        b"PK\x05\x06",
        b"PAR1",
    ),
    *(b"\xff\xff\xff\xff", b"\x00\x00\x00\x80", b"\x01\x00\x00\x00", b"|O8", b">i8", b"\x1f\x8b"),
]
#: Numbers that choose: few draws of Hypothesis, because they take longer than the parsers.
CHOICE, CHANGES = st.integers(0, 2**16), st.lists(st.integers(0, 2**40), min_size=1, max_size=4)
POLICIES = [
    (policy, matched, limit)
    for policy in ("stop", "skip")
    for matched in (False, True)
    for limit in (2**26, 40)
]


def chosen(number: int, *options: list) -> list:
    """Return one reference list of each kind."""
    found = []
    for some in options:
        number, at = divmod(number, len(some))
        found.append(some[at])
    return found


def changed(data: bytes, changes: list[int]) -> bytes:
    """Return the file after a random change."""
    for number in changes:
        piece, change, size, place = chosen(
            number, PIECES, ["put", "over", "cut", "double", "flip", "end"], range(40), range(2**12)
        )
        at = place % (len(data) + 1)
        before, after = data[:at], data[at:]
        if change == "put":
            data = before + piece + after
        elif change == "over":
            data = before + piece + after[len(piece) :]
        elif change == "cut":
            data = before + after[size:]
        elif change == "double":
            data = before + after[:size] * 2 + after[size:]
        elif change == "flip":
            data = before + bytes(byte ^ (1 << size % 8) for byte in after[:1]) + after[1:]
        else:
            data = before
    return data


def read(folder: Path, name: str, data: bytes, policy: tuple[str, bool, int]) -> bool:
    """Read a file and judge the result; return True if it is a corpus."""
    (folder / "vocab.x.txt").write_bytes(WORDS)
    (folder / name).write_bytes(data)
    path = folder / ("docword.x.txt" if name == "vocab.x.txt" else name)
    if path.name != name:
        path.write_bytes(UCI)
    on_bad, matched, max_line = policy
    options = CorpusOptions(
        min_df=1, max_df=1.0, stop_words="none", on_bad_document=on_bad, max_line=max_line
    )
    match = tuple(WORDS.decode().split("\n")[:-1]) if matched else None
    left = {path.name, "vocab.x.txt"}
    caught: SgmcError | None = None
    try:
        corpus = open_corpus([str(path)], options, store=folder / "s", match=match)
    except SgmcError as error:
        caught = error
    if caught is None:
        assert isinstance(corpus, Corpus)
        assert 0 < corpus.tokens < 2**40
        assert corpus.documents < 2 * 10**6
        left.add("s")
    else:
        message = str(caught)
        assert str(folder) in message, message
        assert "\n" not in message, message
        assert len(message) < 1000, message
        assert caught.exit_code in (65, 66), message
    assert {entry.name for entry in folder.iterdir()} == left
    return "s" in left


@pytest.mark.row(55)
@pytest.mark.timeout(7200)  # for the larger counts of a night
@pytest.mark.parametrize("parser", SEEDS)
@counts(20, 100_000)
def test_a_changed_file_is_a_corpus_or_an_error_that_names_it(parser, n, trials, monkeypatch):
    """Red with: NumPy's reader of headers for ours; ids above 2^31 cast; a DecodeError let go."""
    names, seeds = SEEDS[parser]
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # durability is not tested here
    root = Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    made = good = 0

    # The same files every day, other files at night.
    @settings(
        max_examples=n,
        derandomize=n <= 300,
        database=None,
        deadline=timedelta(seconds=20),
        suppress_health_check=list(HealthCheck),
    )
    @example(0, [])  # the first file as it is, since few changes leave an archive whole
    @given(CHOICE, CHANGES)
    def run(choice, changes):
        nonlocal made, good
        made += 1
        folder = root / str(made)
        folder.mkdir()
        name, seed, policy = chosen(choice, names, seeds, POLICIES)
        good += read(folder, name, changed(seed, changes), policy)
        shutil.rmtree(folder)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        run()
    finally:
        shutil.rmtree(root)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 256 * 1024  # KiB
    assert 0 < good < made
    trials(made)
