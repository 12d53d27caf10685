"""The stored form: what it holds, and that a damaged one is refused instead of believed."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus, vectors
from pysgrld.corpus import store as store_module
from pysgrld.corpus import write as write_module
from pysgrld.corpus.build import copy_parts, store_documents
from pysgrld.corpus.store import count, describe
from pysgrld.corpus.vectors import Vector
from pysgrld.errors import CorpusError, LockedError, MissingInputError, OutputError, WriteError

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture
def stored(tmp_path) -> Path:
    open_corpus([str(DATA / "docword.tiny.txt")], CorpusOptions(), store=tmp_path / "stored")
    return tmp_path / "stored"


def test_take_gathers_documents_in_the_order_asked_for(stored):
    found = Corpus.open(stored).take([2, 0, 2])
    assert found.indptr.tolist() == [0, 3, 5, 8]
    assert found.indices.tolist() == [0, 1, 4, 0, 2, 0, 1, 4]
    assert found.counts.tolist() == [1, 1, 3, 2, 1, 1, 1, 3]
    assert [a.dtype.name for a in (found.indptr, found.indices, found.counts)] == [
        "int64",
        "int32",
        "int32",
    ]


def test_take_of_nothing_is_no_document(stored):
    found = Corpus.open(stored).take([])
    assert len(found) == 0
    assert found.tokens == 0


@pytest.mark.parametrize("ids", [[-1], [3], [0, 2**40]])
def test_take_refuses_documents_that_are_not_there(stored, ids):
    with pytest.raises(IndexError):
        Corpus.open(stored).take(ids)


def test_lengths_and_word_counts_are_sums_of_counts(stored):
    corpus = Corpus.open(stored)
    assert corpus.lengths().tolist() == [3, 6, 5]
    assert corpus.totals.word_counts.tolist() == [3, 5, 2, 0, 4]
    documents = corpus.take(np.arange(corpus.documents))
    squares = np.bincount(documents.indices, documents.counts**2, corpus.words)
    assert corpus.totals.words.squares.tolist() == squares.tolist()


def test_totals_are_counted_when_a_corpus_is_written(stored):
    """Red with: the widest document counted in tokens."""
    corpus = Corpus.open(stored)
    written, counted = corpus.totals, count(corpus.blocks(2), corpus.words)
    assert written[:3] == counted[:3] == (6, 1, 3)
    assert np.array_equal(written.words, counted.words)


def test_totals_are_counted_again_where_a_corpus_has_none(stored):
    written = Corpus.open(stored).totals
    meta = json.loads((stored / "meta.json").read_text())
    (stored / "meta.json").write_text(json.dumps({k: v for k, v in meta.items() if k != "totals"}))
    (stored / "word-counts.npy").unlink()
    found = Corpus.open(stored).totals
    assert found[:3] == written[:3]
    assert np.array_equal(found.words, written.words)


@pytest.mark.parametrize(
    "totals", [[], 3, {}, {"longest": "x"}, {"longest": 10**20}, {"widest": None}]
)
def test_damaged_totals_are_refused(stored, totals):
    meta = json.loads((stored / "meta.json").read_text())
    meta["totals"] = {**meta["totals"], **totals} if totals and isinstance(totals, dict) else totals
    (stored / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(CorpusError, match="word-counts"):
        _ = Corpus.open(stored).totals


def test_word_counts_that_were_changed_are_refused(stored):
    path = stored / "word-counts.npy"
    np.save(path, np.load(path)[::-1])
    with pytest.raises(CorpusError, match="word-counts"):
        _ = Corpus.open(stored).totals
    (stored / "word-counts.npy").unlink()
    with pytest.raises(CorpusError, match=r"word-counts\.npy is missing"):
        Corpus.open(stored).verify()


def test_a_very_large_corpus_is_opened_without_reading_its_arrays(stored, monkeypatch):
    """Red with: `_check` of every corpus."""
    shutil.copytree(stored, stored.with_name("copy"))  # other times, the same sizes
    monkeypatch.setattr(store_module, "LOOKED_THROUGH", 0)
    for name in ("read", "gather"):
        monkeypatch.setattr(Vector, name, lambda *_: pytest.fail("an array was read"))
    assert Corpus.open(stored.with_name("copy")).tokens == 14


def test_a_very_large_corpus_is_checked_as_it_is_read(stored, monkeypatch):
    counts = np.load(stored / "counts.npy")
    np.save(stored / "counts.npy", np.where(np.arange(len(counts)) == 3, 0, counts))
    with pytest.raises(CorpusError, match="count below 1"):
        Corpus.open(stored)
    monkeypatch.setattr(store_module, "LOOKED_THROUGH", 0)
    corpus = Corpus.open(stored)
    corpus.take([0])
    with pytest.raises(CorpusError, match="changed"):
        corpus.take([1])
    with pytest.raises(CorpusError, match="changed"):
        corpus.verify()


def test_words_that_do_not_increase_are_refused_where_documents_are_copied_out(stored, monkeypatch):
    indices = np.load(stored / "indices.npy")
    np.save(stored / "indices.npy", np.append(indices[:-2], indices[:-3:-1]))
    monkeypatch.setattr(store_module, "LOOKED_THROUGH", 0)
    with pytest.raises(CorpusError, match="changed"):
        Corpus.open(stored).take([2])


@pytest.mark.parametrize("entries", [1, 2, 3, 5, 100])
def test_blocks_hold_every_document_once_whatever_their_size(stored, entries):
    corpus = Corpus.open(stored)
    blocks = list(corpus.blocks(entries))
    whole = corpus.take(range(3))
    assert sum(map(len, blocks)) == 3
    assert np.concatenate([b.indices for b in blocks]).tolist() == whole.indices.tolist()


def test_a_stored_corpus_is_opened_where_it_lies(stored, tmp_path):
    corpus = open_corpus([str(stored)], CorpusOptions(), store=tmp_path / "other")
    assert corpus.path == stored
    assert not (tmp_path / "other").exists()


def test_a_stored_corpus_is_pruned_into_a_new_one_if_asked(stored, tmp_path):
    corpus = open_corpus([str(stored)], CorpusOptions(min_df=2), store=tmp_path / "other")
    assert corpus.vocabulary == ("bread", "café", "wine", "zebra")
    assert Corpus.open(stored).words == 5


def test_a_stored_corpus_is_matched_by_word(stored, tmp_path):
    corpus = open_corpus(
        [str(stored)], CorpusOptions(), store=tmp_path / "o", match=("zebra", "x", "wine")
    )
    assert corpus.totals.word_counts.tolist() == [4, 0, 2]
    assert corpus.documents == 3


def test_a_given_vocabulary_takes_from_a_stored_corpus_by_word(stored, tmp_path):
    (tmp_path / "v.txt").write_text("zebra\nquagga\nwine\n")
    corpus = open_corpus(
        [str(stored)], CorpusOptions(vocab=str(tmp_path / "v.txt")), store=tmp_path / "o"
    )
    assert corpus.vocabulary == ("zebra", "quagga", "wine")
    assert corpus.totals.word_counts.tolist() == [4, 0, 2]
    assert corpus.documents == 3


def test_the_fingerprint_depends_on_contents_only(stored, tmp_path):
    copy = tmp_path / "in"
    copy.mkdir()
    for name in ("docword.tiny.txt", "vocab.tiny.txt"):
        shutil.copy(DATA / name, copy / name)
    again = open_corpus([str(copy / "docword.tiny.txt")], CorpusOptions(), store=tmp_path / "b")
    assert again.fingerprint == Corpus.open(stored).fingerprint
    (copy / "vocab.tiny.txt").write_text("breads\ncafé\nwine\nnever\nzebra\n")
    other = open_corpus([str(copy / "docword.tiny.txt")], CorpusOptions(), store=tmp_path / "c")
    assert other.fingerprint != again.fingerprint


def test_a_description_has_the_figures_of_the_corpus(stored):
    found = describe(Corpus.open(stored))
    assert (found["documents"], found["words"], found["tokens"], found["nnz"]) == (3, 5, 14, 8)
    assert found["length_quantiles"]["0.5"] == 5
    assert found["frequent"][0] == ("café", 5)
    assert found["unused_words"] == 1
    json.dumps(found)


def resaved(name, change):
    def damage(folder: Path) -> None:
        array = np.load(folder / f"{name}.npy")
        np.save(folder / f"{name}.npy", change(array))

    return damage


def changed(at, value):
    def change(array):
        array[at] = value
        return array

    return change


def meta(**entries):
    def damage(folder: Path) -> None:
        found = json.loads((folder / "meta.json").read_text())
        (folder / "meta.json").write_text(json.dumps({**found, **entries}))

    return damage


DAMAGE = {
    "indptr missing": (lambda f: (f / "indptr.npy").unlink(), "indptr.npy is missing"),
    "indices missing": (lambda f: (f / "indices.npy").unlink(), "indices.npy is missing"),
    "vocabulary missing": (lambda f: (f / "vocab.txt").unlink(), "vocab.txt is missing"),
    "meta missing": (lambda f: (f / "meta.json").unlink(), "meta.json is missing"),
    "meta not JSON": (lambda f: (f / "meta.json").write_text("{"), "meta.json is not JSON"),
    "meta a list": (lambda f: (f / "meta.json").write_text("[]"), "not a corpus of sgmc"),
    "meta of another": (meta(format="x"), "not a corpus of sgmc"),
    "newer version": (meta(version=3), "the corpus has version 3"),
    "older version": (meta(version=1), "the corpus has version 1"),
    "no documents": (meta(documents="3"), "meta.json: documents is '3'"),
    "documents wrong": (meta(documents=4), "documents: meta.json records 4, but indptr.npy has 3"),
    "words wrong": (meta(words=4), "words: meta.json records 4, but vocab.txt has 5"),
    "tokens wrong": (meta(tokens=1), "counts.npy has 14 tokens, but meta.json records 1"),
    "vocabulary cut": (lambda f: (f / "vocab.txt").write_text("bread\n"), "vocab.txt was changed"),
    "array cut": (lambda f: _truncate(f / "counts.npy", 130), "incomplete"),
    "array empty": (lambda f: _truncate(f / "counts.npy", 0), "incomplete"),
    "array not one": (lambda f: (f / "counts.npy").write_bytes(b"x" * 200), "incomplete"),
    "array huge": (lambda f: _claim(f / "counts.npy", "(99999999999,)"), "incomplete"),
    "array negative": (lambda f: _claim(f / "counts.npy", "(-5,)"), "incomplete"),
    "array of objects": (resaved("counts", lambda a: a.astype(object)), "not a vector of int32"),
    "wrong type": (resaved("counts", lambda a: a.astype(np.int64)), "not a vector of int32"),
    "wrong shape": (resaved("counts", lambda a: a[None]), "not a vector of int32"),
    "counts too short": (
        resaved("counts", lambda a: a[:-1]),
        "counts: meta.json records 8, but counts.npy has 7",
    ),
    "count 0": (resaved("counts", changed(3, 0)), "count below 1"),
    "count negative": (resaved("counts", changed(3, -2)), "count below 1"),
    "word negative": (resaved("indices", changed(0, -1)), "out of range"),
    "word too large": (resaved("indices", changed(7, 5)), "out of range"),
    "words fall": (resaved("indices", changed(1, 0)), "has unsorted or repeated word ids"),
    "indptr falls": (resaved("indptr", changed(1, 6)), "indptr.npy decreases"),
    "indptr begins late": (resaved("indptr", changed(0, 1)), "does not cover"),
    "indptr ends early": (resaved("indptr", changed(-1, 7)), "does not cover"),
    "indptr empty": (resaved("indptr", lambda a: a[:0]), "not a vector of int64"),
    "indptr beyond": (resaved("indptr", changed(1, 2**62)), "decreases"),
}


def _truncate(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


def _claim(path: Path, shape: str) -> None:
    data = path.read_bytes()
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': {shape}, }}"
    path.write_bytes(data[:10] + header.ljust(117).encode() + b"\n" + data[128:])


@pytest.mark.parametrize("block", [1, pytest.param(3, marks=pytest.mark.nightly), 2**20])
@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_corpus_is_refused_in_one_line_wherever_blocks_end(
    case, block, stored, monkeypatch
):
    monkeypatch.setattr(store_module, "BLOCK", block)
    damage, piece = DAMAGE[case]
    damage(stored)
    with pytest.raises(CorpusError) as caught:
        Corpus.open(stored)
    assert piece in str(caught.value)
    assert str(stored) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_corpus_is_a_missing_input(tmp_path):
    with pytest.raises(MissingInputError):
        Corpus.open(tmp_path / "none")


def test_a_store_that_is_there_already_is_never_overwritten(stored):
    before = Corpus.open(stored).fingerprint
    with pytest.raises(OutputError, match="is there already") as caught:
        open_corpus([str(DATA / "tiny.txt")], CorpusOptions(), store=stored)
    assert caught.value.exit_code == 73
    assert Corpus.open(stored).fingerprint == before


def test_a_store_that_cannot_be_created_is_an_output_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be created"):
        open_corpus([str(DATA / "tiny.txt")], CorpusOptions(), store=tmp_path / "file" / "s")


def test_a_full_disk_is_a_write_error_and_leaves_nothing(tmp_path, monkeypatch):
    def full(self, values):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write_module.GrowingFile, "append", full)
    with pytest.raises(WriteError, match="No space left on device") as caught:
        open_corpus([str(DATA / "tiny.txt")], CorpusOptions(), store=tmp_path / "o" / "s")
    assert caught.value.exit_code == 74
    assert list((tmp_path / "o").iterdir()) == []


def test_an_interrupt_leaves_nothing_behind(tmp_path):
    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_corpus(
            [str(DATA / "tiny.txt")], CorpusOptions(), store=tmp_path / "o" / "s", notify=interrupt
        )
    assert list((tmp_path / "o").iterdir()) == []


def test_what_a_killed_process_left_is_removed(tmp_path):
    (tmp_path / ".s.tmp" / "read").mkdir(parents=True)
    (tmp_path / ".s.tmp" / write_module.MARKER).touch()
    (tmp_path / ".s.tmp" / "read" / "indptr.npy").write_bytes(b"half")
    open_corpus([str(DATA / "tiny.txt")], CorpusOptions(), store=tmp_path / "s")
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_a_store_that_another_process_is_writing_is_left_to_it(tmp_path):
    def again(progress):
        with pytest.raises(LockedError, match="another process"):
            open_corpus([str(DATA / "tiny.txt")], CorpusOptions(), store=tmp_path / "s")

    open_corpus([str(DATA / "tiny.txt")], CorpusOptions(), store=tmp_path / "s", notify=again)
    assert Corpus.open(tmp_path / "s").documents == 3


def test_a_corpus_without_words_of_its_own_has_those_of_the_folder_that_it_lies_in(
    stored, tmp_path
):
    """Red with: another vocabulary believed; a copy without words."""
    words = Corpus.open(stored).vocabulary
    (stored / "vocab.txt").rename(stored.parent / "vocab.txt")
    assert Corpus.open(stored).vocabulary == words
    Corpus.open(stored).verify()
    (tmp_path / "copies").mkdir()
    copy_parts(stored, tmp_path / "copies" / "of", link=True)
    assert Corpus.open(tmp_path / "copies" / "of").vocabulary == words
    text = (stored.parent / "vocab.txt").read_text()
    (stored.parent / "vocab.txt").write_text(text[::-1].strip() + "\n")
    with pytest.raises(CorpusError, match="changed since it was written"):
        Corpus.open(stored)


def test_documents_of_a_run_are_packed_and_have_its_words(stored, tmp_path):
    """Red with: the run's words copied; another fingerprint; values that nobody compares."""
    corpus = Corpus.open(stored)
    run = tmp_path / "run"
    run.mkdir()
    (run / "vocab.txt").write_bytes((stored / "vocab.txt").read_bytes())
    documents = corpus.take(range(corpus.documents))
    packed = store_documents(run / "holdout" / "observed", documents, corpus.vocabulary, {})
    assert sorted(path.name for path in packed.path.iterdir()) == ["counts.npz", "meta.json"]
    assert (packed.fingerprint, packed.vocabulary) == (corpus.fingerprint, corpus.vocabulary)
    assert packed.take([1, 0]).counts.tolist() == corpus.take([1, 0]).counts.tolist()
    assert packed.totals.word_counts.tolist() == corpus.totals.word_counts.tolist()
    packed.verify()
    copy_parts(packed.path, tmp_path / "copy")
    assert Corpus.open(tmp_path / "copy").fingerprint == corpus.fingerprint
    alone = store_documents(tmp_path / "alone", documents, corpus.vocabulary, {})
    assert (alone.path / "vocab.txt").exists()
    data = (packed.path / "counts.npz").read_bytes()
    at = data.rindex(documents.counts.tobytes())
    (packed.path / "counts.npz").write_bytes(data[:at] + b"\7" + data[at + 1 :])
    with pytest.raises(CorpusError, match="damaged"):
        Corpus.open(packed.path)
    (packed.path / "counts.npz").write_bytes(data[:-9])
    with pytest.raises(CorpusError, match=r"counts\.npz is not a vector"):
        Corpus.open(packed.path)


def test_pieces_of_a_small_file_are_copied_from_memory_in_the_end(tmp_path, monkeypatch):
    """Red with: other values than the file's; a file that was changed or cut taken for what it was."""
    values = np.arange(1000, dtype=np.int32)[::-1].copy()
    np.save(tmp_path / "v.npy", values)
    vector = Vector.open(tmp_path / "v.npy", values.dtype)
    rng = np.random.default_rng(0)
    reads = []
    real = vectors.gather
    monkeypatch.setattr(vectors, "gather", lambda *a: reads.append(1) or real(*a))
    for _ in range(30):
        starts = rng.integers(0, 950, 40)
        lengths = rng.integers(0, 40, 40)
        found = vector.gather(starts, lengths)
        expected = [values[s : s + n] for s, n in zip(starts, lengths, strict=True)]
        np.testing.assert_array_equal(found, np.concatenate(expected))
    assert len(reads) == 2  # one of pieces, which was as much as there is, then the whole
    long = vector.gather(np.array([0, 1]), np.array([900, 900]))
    np.testing.assert_array_equal(long, np.concatenate([values[:900], values[1:901]]))
    assert len(reads) == 3
    np.save(tmp_path / "w.npy", values + 1)
    with (tmp_path / "v.npy").open("r+b") as file:
        file.write((tmp_path / "w.npy").read_bytes())
    assert vector.gather(np.array([3, 7]), np.array([1, 1])).tolist() == [997, 993]
    os.truncate(tmp_path / "v.npy", 200)
    with pytest.raises(CorpusError, match="was changed while it was used"):
        vector.gather(np.array([3, 700]), np.array([1, 1]))


@pytest.mark.parametrize(
    ("starts", "sizes", "room"),
    [([0, 3], [2], 2), ([0], [3], 2), ([-1], [2], 2), ([0], [-2], 2), ([0, 1], [1, 1], 3)],
)
def test_pieces_that_do_not_fill_their_room_are_refused(tmp_path, starts, sizes, room):
    """Red with: what lies before or after the memory that was given."""
    (tmp_path / "f").write_bytes(b"abcdef")
    where = np.array(starts, np.int64), np.array(sizes, np.int64), np.zeros(room, np.uint8)
    with pytest.raises(ValueError, match="do not fill"):
        vectors.copy(np.frombuffer(b"abcdef", np.uint8), *where)
    with (tmp_path / "f").open("rb") as file, pytest.raises(ValueError, match="do not fill"):
        vectors.gather(file.fileno(), *where)


def test_pieces_beyond_the_end_are_told(tmp_path):
    (tmp_path / "f").write_bytes(b"abcdef")
    whole = np.frombuffer(b"abcdef", np.uint8)
    for start, told in ((3, 0), (4, vectors.CUT), (2**62, vectors.CUT)):
        out = np.zeros(5, np.uint8)
        where = np.array([1, start], np.int64), np.array([2, 3], np.int64), out
        assert vectors.copy(whole, *where) == told
        assert bytes(out[:2]) == b"bc"
        with (tmp_path / "f").open("rb") as file:
            assert vectors.gather(file.fileno(), *where) == told
    assert bytes(vectors.copy(whole, np.array([3]), np.array([3]), out[:3]) or out[:3]) == b"def"


def test_a_large_file_is_never_held(tmp_path, monkeypatch):
    monkeypatch.setattr(vectors, "KEPT", 3999)
    np.save(tmp_path / "v.npy", np.arange(1000, dtype=np.int32))
    vector = Vector.open(tmp_path / "v.npy", np.dtype(np.int32))
    for _ in range(3):
        vector.gather(np.arange(0, 1000, 2), np.full(500, 2))
        vector.gather(np.arange(0, 900, 2), np.full(450, 1))
    assert not len(vector._whole)


def test_work_that_cannot_be_removed_is_taken_over_by_the_next_process(tmp_path, monkeypatch):
    """A disk that fails at close() fails when folders are removed, too.

    Red with: work without its mark, which the next process took for a folder of somebody else.
    """

    def remove_files_only(path, *, ignore_errors=False):
        for entry in Path(path).iterdir():
            if not entry.is_dir():
                entry.unlink()
        if not ignore_errors:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def fail(patch):
        with write_module.work_folder(store, identity) as work:
            (work.folder / "about").mkdir()
            patch.setattr(write_module.shutil, "rmtree", remove_files_only)
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    store, identity = tmp_path / "b", {"a": 1}
    with monkeypatch.context() as patch, pytest.raises(WriteError, match="Input/output error; the"):
        fail(patch)
    with write_module.work_folder(store, identity) as work:
        assert not (work.folder / "about").exists()


@pytest.mark.parametrize("starts", [[-1, 1], [0, 4], [2, 3]])
def test_values_outside_a_vector_are_damage(tmp_path, starts):
    """Red with: the bytes that follow a member of an archive, or a bug in sgmc (70)."""
    (tmp_path / "numbers").write_bytes(np.arange(8, dtype="<i8").tobytes())
    vector = Vector(tmp_path / "numbers", np.dtype("<i8"), 0, 4)
    lengths = np.array([1, 2 if starts[1] == 3 else 1])
    with pytest.raises(CorpusError, match="numbers lacks values to which the corpus refers"):
        vector.gather(np.array(starts), lengths)
