"""LDA-C, SVMlight, Matrix Market and SciPy .npz: what is read, and what is said of what is not."""

from __future__ import annotations

import io
import os
import pickle
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from listeners import Lines
from scipy import sparse

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.corpus.formats import counts as shared
from pysgrld.corpus.formats import npz
from pysgrld.errors import CorpusError

WORDS = "a\nb\nc\nd\n"
BANNER = "%%MatrixMarket matrix coordinate integer general\n"


def read(path: Path, **more: object) -> Corpus:
    match, log = more.pop("match", None), more.pop("log", None)
    store = path.parent.parent / f"s{len(list(path.parent.parent.iterdir()))}"
    return open_corpus([str(path)], CorpusOptions(**more), store=store, match=match, log=log)


def found(corpus: Corpus) -> list[dict[str, int]]:
    block = corpus.take(range(corpus.documents))
    return [
        {
            corpus.vocabulary[block.indices[e]]: int(block.counts[e])
            for e in range(block.indptr[d], block.indptr[d + 1])
        }
        for d in range(corpus.documents)
    ]


@pytest.fixture
def write(tmp_path):
    def write(name: str, text: str | bytes, vocabulary: str | None = WORDS) -> Path:
        folder = tmp_path / "in"
        folder.mkdir(exist_ok=True)
        if vocabulary is not None:
            (folder / "vocab.x.txt").write_text(vocabulary)
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
        return folder / name

    return write


def arrays(path: Path, **parts: object) -> Path:
    """A zip archive of arrays, whatever they are."""
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in parts.items():
            file = io.BytesIO()
            np.lib.format.write_array(file, np.asanyarray(value))
            archive.writestr(f"{name}.npy", file.getvalue())
    return path


CSR = {
    "format": np.array(b"csr"),
    "shape": np.array([3, 4]),
    "data": np.array([2, 1, 4]),
    "indices": np.array([0, 2, 3], np.int32),
    "indptr": np.array([0, 2, 2, 3], np.int32),
}
ROWS = [{"a": 2, "c": 1}, {"d": 4}]

SPELLINGS = {
    "x.ldac": [
        "2 0:2 2:1\n0\n1 3:4\n",
        "2 2:1 0:2\r\n0\r\n1 3:4",
        "\ufeff 2\t0:2  2:01 \n00\n1 3:4\n\n \n",
    ],
    "x.svmlight": [
        "1 1:2 3:1\n-1\n+1.5e3 4:4\n",
        "# a comment\n\n1 qid:3 1:2 3:1 # one\n0 \n0 4:4#two\r\n",
        "0 3:1.0 1:2e0 2:0\n0 1:0.0\n0 4:40e-1\n\n",
        "1:2 3:1\n0\n 4:4\n",
        "0 0:2 2:1\n0\n0 3:4\n",
        "1,3 1:2 3:1\n1,2\n3 4:4\n",
        "# Column indices are one-based\n0 1:2 3:1\n0\n0 4:4\n",
    ],
    "x.mtx": [
        BANNER + "3 4 3\n1 1 2\n1 3 1\n3 4 4\n",
        BANNER + "%\n%comment\n\n3 4 3\n3 4 4\n1 3 1\n1 1 2\n",
        BANNER.replace("integer", "REAL") + " 3\t4 3  \r\n1 1 2.\r\n1 3 1.000\r\n3 4 .4e1\r\n\n",
        BANNER + "3 4 5\n1 1 2\n1 3 1\n2 2 0\n3 1 0\n3 4 4\n",
    ],
}


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in SPELLINGS.items() for text in texts]
)
def test_any_legal_spelling_is_the_same_corpus(write, name, text):
    """Red with: an exponent ignored; a zero kept; a BOM taken for a label."""
    path = write(name, text)
    assert found(read(path)) == ROWS
    assert found(read(path, match=tuple("abcd"))) == [ROWS[0], {}, ROWS[1]]


def test_a_pattern_counts_one_each(write):
    text = BANNER.replace("integer", "pattern") + "2 4 3\n1 1\n2 2\n2 4\n"
    assert found(read(write("x.mtx", text))) == [{"a": 1}, {"b": 1, "d": 1}]


@pytest.mark.parametrize("name", SPELLINGS)
def test_without_a_vocabulary_words_are_numbered_from_one(write, name):
    lines = Lines()
    corpus = read(write(name, SPELLINGS[name][0], None), log=lines.append)
    assert corpus.vocabulary == ("1", "3", "4")
    assert any("words are shown as numbers from 1" in line for line in lines)


@pytest.mark.parametrize("name", SPELLINGS)
def test_standard_input_and_a_given_vocabulary_do_as_well(write, standard_input, tmp_path, name):
    data = SPELLINGS[name][0].encode()
    write(name, data)
    standard_input(data)
    options = CorpusOptions(vocab=str(tmp_path / "in" / "vocab.x.txt"))
    assert found(open_corpus(["-"], options, store=tmp_path / "s")) == ROWS


# -- SVMlight: where ids begin ------------------------------------------------------------------


def test_an_id_of_zero_far_down_the_file_means_that_ids_begin_at_zero(write):
    """Red with: only the head looked at, which is a MiB of a file."""
    text = "0 1:1\n" * 200_000 + "0 0:1\n"
    lines = Lines()
    corpus = read(write("x.svmlight", text), log=lines.append)
    assert corpus.totals.word_counts.tolist() == [1, 200_000, 0, 0]
    assert any("start at 0" in line for line in lines)


def test_a_zero_in_a_comment_is_no_id(write):
    corpus = read(write("x.svmlight", "# 0: sports 0:1\n1 1:1 # 0:5\n"))
    assert found(corpus) == [{"a": 1}]


def test_a_comment_says_where_ids_begin_whatever_they_are(write):
    text = "# by hand\n#  column Indices are Zero-based\n0 1:1\n"
    assert found(read(write("x.svmlight", text))) == [{"b": 1}]


def test_an_id_of_zero_against_what_the_comment_says_is_wrong(write):
    text = "# Column indices are one-based\n0 1:1\n0 0:1\n"
    with pytest.raises(
        CorpusError, match=r":3: word id 0 occurs, but earlier lines suggested that ids start at 1"
    ):
        read(write("x.svmlight", text))


def test_an_id_of_zero_late_in_a_pipe_says_what_to_do(tmp_path):
    path = tmp_path / "in" / "pipe.svmlight"
    path.parent.mkdir()
    os.mkfifo(path)
    code = f"open({str(path)!r}, 'w').write('0 1:1\\n' * 40000 + '0 0:1\\n')"
    with subprocess.Popen([sys.executable, "-c", code]) as writer:
        with pytest.raises(CorpusError, match=r":40001: .*# Column indices are zero-based"):
            read(path)
        writer.kill()


# -- Matrix Market in any order ---------------------------------------------------------------------


def by_columns(documents: int, words: int) -> str:
    lines = [f"{d} {w} {d % 7 + w}\n" for w in range(1, words + 1) for d in range(1, documents + 1)]
    return f"{BANNER}{documents} {words} {len(lines)}\n" + "".join(lines)


@pytest.mark.parametrize("run", [1, 10, 39, 40, 41, 10**6])
def test_a_matrix_by_columns_is_sorted_however_small_the_runs(write, monkeypatch, run):
    monkeypatch.setattr(shared, "RUN", run)
    corpus = read(write("x.mtx", by_columns(40, 4)))
    assert found(corpus) == [{w: d % 7 + i for i, w in enumerate("abcd", 1)} for d in range(1, 41)]


def test_a_matrix_that_falls_out_of_order_late_says_where(write, monkeypatch):
    monkeypatch.setattr("pysgrld.corpus.formats.counts_as_text.RUN", 4)
    for name in ("lines.STEP", "lines.HEAD"):
        monkeypatch.setattr(f"pysgrld.corpus.{name}", 16)
    text = BANNER + "5 4 6\n1 2 1\n2 1 1\n3 1 1\n4 1 1\n5 1 1\n1 1 1\n"
    with pytest.raises(CorpusError, match=r"x.mtx:8: document 1 follows document 5"):
        read(write("x.mtx", text))


def test_words_by_documents_are_found_out_by_the_vocabulary(write):
    text = BANNER + "4 9 1\n1 9 1\n"
    with pytest.raises(
        CorpusError, match=r":2: the file has counts of 9 words.*rows and columns may be exchanged"
    ):
        read(write("x.mtx", text))


# -- SciPy ------------------------------------------------------------------------------------------


def test_words_that_come_twice_in_a_sparse_matrix_are_added_up(tmp_path):
    parts = CSR | {"indices": np.array([2, 2, 3])}
    path = arrays(tmp_path / "in" / "x.npz", **parts)
    (path.parent / "vocab.x.txt").write_text(WORDS)
    assert found(read(path)) == [{"c": 3}, {"d": 4}]


def test_a_matrix_is_the_same_in_pieces_of_any_size(tmp_path, monkeypatch):
    """Red with: a document cut by a piece counted twice; the sum of one word lost."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, (30, 50)) * rng.integers(0, 2, (30, 50))
    indptr = np.concatenate([[0], np.cumsum((x > 0).sum(1))])
    parts = {"shape": np.array(x.shape), "data": x[x > 0].astype(float)}
    parts |= {"indices": np.nonzero(x)[1], "indptr": indptr, "format": np.array(b"csr")}
    path = arrays(tmp_path / "in" / "x.npz", **parts)
    whole = read(path)
    monkeypatch.setattr(npz, "PORTION", 7)
    monkeypatch.setattr(shared, "MANY", 5)
    assert read(path).fingerprint == whole.fingerprint


def test_a_million_zeros_of_one_word_take_no_memory(tmp_path, monkeypatch):
    """Red with: entries of one document held until it ends."""
    n = 10**6
    parts = CSR | {"shape": np.array([1, 4]), "indptr": np.array([0, n])}
    parts |= {"data": np.ones(n, np.int8), "indices": np.zeros(n, np.int32)}
    path = arrays(tmp_path / "in" / "x.npz", **parts)
    monkeypatch.setattr(npz, "PORTION", 1000)
    seen = []
    real = shared.canonical

    def canonical(*arguments, **options):
        seen.append(len(arguments[0]))
        return real(*arguments, **options)

    monkeypatch.setattr(shared, "canonical", canonical)
    assert found(read(path)) == [{"1": n}]
    assert max(seen) < 3000


def test_progress_of_a_matrix_ends_at_all_bytes(tmp_path):
    path = arrays(tmp_path / "in" / "x.npz", **CSR)
    seen: list = []
    open_corpus([str(path)], CorpusOptions(), store=tmp_path / "s", notify=seen.append)
    assert seen[-1][0] == seen[-1][1] == path.stat().st_size


def objects() -> dict[str, object]:
    class Canary:
        def __reduce__(self):
            return (Path("canary").write_text, ("sung",))

    return {"data": np.array([Canary(), 1, 2], object)}


WRONG_ARRAYS = {
    "count below zero": ({"data": np.array([2, -1, 4])}, "document 1, word 3: the count -1"),
    "count not whole": ({"data": np.array([2, 1.5, 4])}, "the count 1.5"),
    "count NaN": ({"data": np.array([2, np.nan, 4])}, "the count nan"),
    "count infinite": ({"data": np.array([2, np.inf, 4])}, "the count inf"),
    "count 2^31": ({"data": np.array([2, 2**31, 4])}, "the count 2147483648"),
    "count 1e308": ({"data": np.array([2, 1e308, 4])}, "the count 1e+308"),
    "complex": ({"data": np.array([2, 1j, 4])}, "data.npy is not a plain array"),
    "word above": (
        {"indices": np.array([0, 2, 4])},
        "word 5 in document 3 is out of range: shape.npy allows 1 to 4",
    ),
    "word below": ({"indices": np.array([0, -1, 3])}, "word 0 in document 1"),
    "word 2^63 - 1": ({"indices": np.array([0, 2**63 - 1, 3])}, "allows 1 to 4"),
    "words of floats": (
        {"indices": np.array([0.0, 2, 3])},
        "indices.npy has values of the wrong type",
    ),
    "indptr falls": ({"indptr": np.array([0, 2, 1, 3])}, "indptr.npy decreases"),
    "indptr beyond": ({"indptr": np.array([0, 2, 2, 9])}, "refers to entries that do not exist"),
    "indptr short": ({"indptr": np.array([0, 2, 3])}, "indices and data have 3,"),
    "indptr leaves some": ({"indptr": np.array([0, 2, 2, 2])}, "does not cover"),
    "indptr begins late": ({"indptr": np.array([1, 2, 2, 3])}, "does not cover"),
    "data short": ({"data": np.array([2, 1])}, "4, 3 and 2 values"),
    "shape of three": ({"shape": np.array([3, 4, 1])}, "not a matrix"),
    "shape negative": ({"shape": np.array([3, -4])}, "is too large"),
    "shape too many words": ({"shape": np.array([3, 2**31])}, "is too large"),
    "shape lies": ({"shape": np.array([2**40, 4])}, " values, but must have "),
    "block rows": ({"format": np.array(b"bsr")}, "format 'bsr'"),
    "a table": ({"data": np.ones((3, 1))}, "data.npy is not a vector"),
    "objects": (objects(), "data.npy is not a plain array"),
    "tokens": ({"data": np.array([2**31 - 1, 1, 4])}, "document 1 has 2147483648 tokens"),
}


@pytest.mark.parametrize("case", WRONG_ARRAYS)
def test_a_wrong_matrix_is_refused(tmp_path, monkeypatch, case):
    """Nothing is unpickled (no canary sings). Red with: any of the checks left out, one by one."""
    monkeypatch.chdir(tmp_path)
    change, message = WRONG_ARRAYS[case]
    path = arrays(tmp_path / "in" / "x.npz", **(CSR | change))
    with pytest.raises(CorpusError, match=re.escape(message)) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in"]


def test_a_matrix_without_one_of_its_arrays_is_refused(tmp_path):
    for name in CSR:
        parts = {key: value for key, value in CSR.items() if key != name}
        with pytest.raises(CorpusError, match=f"the file lacks {name}.npy"):
            read(arrays(tmp_path / "in" / "x.npz", **parts))


def test_a_changed_byte_is_found_by_the_checksum(tmp_path):
    path = tmp_path / "in" / "x.npz"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:  # stored, so that the zip alone can tell
        for name, value in CSR.items():
            file = io.BytesIO()
            np.lib.format.write_array(file, value)
            archive.writestr(f"{name}.npy", file.getvalue())
    data = bytearray(path.read_bytes())
    at = data.index(np.array([2, 1, 4]).tobytes())
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorpusError, match=r"damaged .*CRC"):
        read(path)


def misnamed(data: bytes) -> bytes:
    """The first name in the directory said to be UTF-8, and not."""
    at = data.index(b"PK\x01\x02")
    return data[: at + 9] + b"\x08" + data[at + 10 : at + 46] + b"\xcc" + data[at + 47 :]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (misnamed, "damaged .'utf-8' codec"),
        (lambda data: data[:-5], "damaged"),
        (lambda data: __import__("gzip").compress(data), "decompress it"),
        (lambda data: pickle.dumps(data), "not an .npz"),
    ],
    ids=["a name that is not UTF-8", "cut", "compressed again", "a pickle"],
)
def test_what_is_no_zip_archive_is_refused(tmp_path, change, message):
    """Red with: only what zipfile calls BadZipFile taken for damage."""
    path = arrays(tmp_path / "in" / "x.npz", **CSR)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(CorpusError, match=message):
        read(path)


def test_a_matrix_on_standard_input_is_refused_with_advice(tmp_path, standard_input):
    standard_input(arrays(tmp_path / "in" / "x.npz", **CSR).read_bytes())
    with pytest.raises(CorpusError, match=r"<stdin>: .*give the file's name"):
        open_corpus(["-"], CorpusOptions(), store=tmp_path / "s")


def test_what_unpacks_to_more_than_max_input_is_refused_before_it_is_read(tmp_path):
    parts = CSR | {"data": np.ones(10**6, np.int8), "indices": np.zeros(10**6, np.int8)}
    path = arrays(tmp_path / "in" / "x.npz", **parts)
    with pytest.raises(
        CorpusError, match=r"unpacks to 2000.* bytes, more than --set max-input=1000000"
    ):
        read(path, max_input=10**6)


WRONG_LINES = {
    "LDA-C: a count of 0": ("x.ldac", "1 0:2\n1 0:0 1:1\n", "the count is 0"),
    "LDA-C: a blank line": ("x.ldac", "1 0:2\n\n1 1:1\n", "write 0 for a document without words"),
    "LDA-C: no pair": ("x.ldac", "1 0:2\n2 0:1 wine\n", "'wine' is not of the form id:count"),
    "LDA-C: a label": ("x.ldac", "1 0:2\n-1 0:1\n", "'-1', not the number of pairs"),
    "LDA-C: a comment": ("x.ldac", "1 0:2\n1 0:1 # one\n", "'#' is not of the form"),
    "LDA-C: twice": ("x.ldac", "1 0:2\n3 3:1 0:1 3:1\n", "word 3 occurs twice in document 2"),
    "SVMlight: twice": ("x.svm", "1 1:2\n1 3:1 1:1 3:1\n", "word 3 occurs twice in document 2"),
    "SVMlight: no pair": ("x.svm", "1 1:2\n1 wine\n", "'wine' is not of the form id:count"),
    "SVMlight: no label": ("x.svm", "1 1:2\nwine 1:1\n", "'wine' is not a label"),
    "SVMlight: a query": (
        "x.svm",
        "1 1:2\n1 qid:x 1:1\n",
        "a query id (qid) must be a whole number",
    ),
    "Matrix Market: twice": ("x.mtx", BANNER + "1 4 2\n1 3 1\n1 3 1\n", "word 3 occurs twice"),
    "Matrix Market: no banner": (
        "x.mtx",
        "\n1 4 1\n1 3 1\n",
        "is not the first line of a Matrix Market file",
    ),
    "Matrix Market: dense": ("x.mtx", BANNER.replace("coordinate", "array"), "the matrix is dense"),
    "Matrix Market: complex": ("x.mtx", BANNER.replace("integer", "complex"), "'complex'"),
    "Matrix Market: symmetric": ("x.mtx", BANNER.replace("general", "symmetric"), "'symmetric'"),
    "Matrix Market: no size": ("x.mtx", BANNER + "% nothing\n", "documents, words and entries"),
    "Matrix Market: blank": ("x.mtx", BANNER + "1 4 2\n\n1 3 1\n1 4 1\n", "a blank line between"),
}


@pytest.mark.parametrize("case", WRONG_LINES)
def test_a_wrong_line_is_named_with_what_is_wrong_in_it(write, case):
    """Red with: a count of 0 in LDA-C passed over where the number of pairs fits without it."""
    name, text, message = WRONG_LINES[case]
    path = write(name, text)
    with pytest.raises(CorpusError) as caught:
        read(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}:{caught.value.line}: ")
    if not name.endswith(".mtx"):
        assert caught.value.line == 2


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_a_matrix_whose_last_documents_are_empty_is_read_in_any_form(tmp_path, form):
    """Red with: the number of documents believed of rows alone."""
    x = sparse.csr_matrix(np.array([[1, 2], [3, 0], [0, 0], [0, 0]]))
    (path := tmp_path / "in" / "x.npz").parent.mkdir()
    sparse.save_npz(path, x.asformat(form))
    assert read(path).documents == 2
    whole = read(path, match=("1", "2"))
    assert found(whole) == [{"1": 1, "2": 2}, {"1": 3}, {}, {}]
