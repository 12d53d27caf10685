"""Reading ahead on threads, in order; readings that are interrupted and go on; streams of documents."""

from __future__ import annotations

import gzip
import json
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from listeners import Lines

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.corpus.open import NOTE_EVERY
from pysgrld.corpus.prefetch import map_in_order, run_ahead
from pysgrld.corpus.steps import read
from pysgrld.corpus.streams import SinglePassCorpus, matched_documents
from pysgrld.errors import CorpusError, Interrupted
from pysgrld.types import Documents

DATA = Path(__file__).parents[1] / "data"
OPEN = CorpusOptions(min_df=1, max_df=1.0, stop_words="none")


def nothing() -> None:
    pass


# ---- queues


def test_items_come_in_order_and_at_most_so_many_are_taken_ahead():
    """Red with: a queue without bound; the last item of the iterator left out."""
    taken = []

    def items():
        for i in range(50):
            taken.append(i)
            yield i

    steps = run_ahead(items(), 3, nothing)
    assert next(steps) == 0
    deadline = time.monotonic() + 100
    while len(taken) < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    assert len(taken) == 5  # given, three ready, one in hand
    assert list(steps) == list(range(1, 50))


def test_an_error_comes_after_the_items_before_it():
    """Red with: errors raised as soon as they are there."""

    def items():
        yield 1
        yield 2
        raise ValueError("third")

    steps = run_ahead(items(), 8, nothing)
    assert [next(steps), next(steps)] == [1, 2]
    with pytest.raises(ValueError, match="third"):
        next(steps)


def test_whoever_waits_can_stop_and_the_iterator_is_closed():
    """Red with: waiting() not called; the iterator not closed."""
    closed, go = threading.Event(), threading.Event()

    def items():
        try:
            go.wait(100)
            yield 1
            yield 2
        finally:
            closed.set()

    def impatient():
        raise Interrupted("enough")

    with pytest.raises(Interrupted, match="enough"):
        next(run_ahead(items(), 1, impatient))
    go.set()
    assert closed.wait(100)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_come_in_the_order_of_their_items(workers):
    """Red with: results as they are ready."""

    def slow(i):
        time.sleep(0.002 * (i % 3))
        return i * i

    assert list(map_in_order(slow, iter(range(40)), workers, nothing)) == [i * i for i in range(40)]


@pytest.mark.parametrize("workers", [1, 3])
def test_an_error_of_a_worker_comes_at_its_item(workers):
    def fail(i):
        if i == 7:
            raise CorpusError("seven", "x", 7)
        return i

    results = map_in_order(fail, iter(range(20)), workers, nothing)
    assert [next(results) for _ in range(7)] == list(range(7))
    with pytest.raises(CorpusError, match="x:7: seven"):
        next(results)


def test_a_result_does_not_wait_for_the_next_item():
    """Red with: results given when enough items are under way."""
    more = threading.Event()

    def items():
        yield 1
        more.wait(10)
        yield 2

    results = map_in_order(str, items(), 3, nothing)
    assert next(results) == "1"
    assert not more.is_set()
    more.set()
    assert next(results) == "2"


# ---- steps


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Three files, text of several megabytes: several steps each."""
    folder = tmp_path_factory.mktemp("large")
    draw = np.random.default_rng(7)
    words = np.array([f"w{i}" for i in range(3000)])
    inputs = []
    for name in ("a.txt", "b.txt", "c.txt.gz"):
        lines = [" ".join(words[draw.zipf(1.3, 60) % 3000]) for _ in range(9000)]
        lines[5] = ""
        lines[6] = "x"
        data = "\n".join(lines).encode()
        path = folder / name
        path.write_bytes(gzip.compress(data, 1) if name.endswith("gz") else data)
        inputs.append(str(path))
    return inputs


def test_a_corpus_is_the_same_for_any_number_of_threads(large, tmp_path):
    """Red with: results of workers as they are ready; places of words by thread."""
    found = {
        open_corpus(large, CorpusOptions(), store=tmp_path / f"s{n}", threads=n).fingerprint
        for n in (1, 5)
    }
    assert len(found) == 1


def test_steps_of_files_are_always_the_same(large):
    """Red with: blocks of a file as its decompressor gives them."""

    def shape(threads):
        steps = read(large, OPEN, keep_empty=False, threads=threads, waiting=nothing)
        return [(s.input, s.number, s.documents, s.size) for s in steps]

    assert shape(1) == shape(3)
    assert len(shape(1)) > 9


def test_a_head_ends_with_its_document_whatever_the_blocks(large):
    """Red with: the head cut at the end of a block."""
    steps = read(large, OPEN, keep_empty=False, threads=2, waiting=nothing, head=9001)
    ends = np.cumsum([step.documents for step in steps])
    assert 9001 in ends
    assert ends[-1] == 27_000


# ---- interrupted readings


class Stopper:
    """Interrupts a reading when it has been told so many times that it goes on."""

    def __init__(self, times):
        self.left = times

    def __call__(self, progress):
        self.left -= 1
        if self.left < 0:
            raise Interrupted("stop")


@pytest.mark.parametrize("options", [CorpusOptions(), OPEN], ids=["built", "open"])
def test_a_reading_that_is_stopped_again_and_again_ends_in_the_same_corpus(
    large, tmp_path, options
):
    """Red with: steps counted from the heading; words of a note appended twice; tallies lost."""
    whole = open_corpus(large, options, store=tmp_path / "whole")
    said, starts = Lines(), 0
    while True:
        starts += 1
        try:
            found = open_corpus(
                large,
                options,
                store=tmp_path / "s",
                threads=1 + starts % 2,
                resumable=True,
                notify=Stopper(starts),
                log=said.append,
            )
            break
        except Interrupted:
            assert not (tmp_path / "s").exists()
            assert (tmp_path / ".s.tmp" / "progress.json").is_file()
    assert starts > 3
    assert sum("resuming: " in line for line in said) == starts - 1
    assert found.fingerprint == whole.fingerprint
    assert found.provenance == whole.provenance
    assert not (tmp_path / ".s.tmp").exists()


def test_a_killed_reading_goes_on_from_its_last_note(large, tmp_path, monkeypatch):
    """As if killed: the folder is what it was at a note, with more in the files since."""
    monkeypatch.setattr("pysgrld.corpus.open.NOTE_EVERY", 0.0)
    assert NOTE_EVERY == 30.0
    whole = open_corpus(large, CorpusOptions(), store=tmp_path / "whole")
    stop = Stopper(6)
    with pytest.raises(Interrupted):
        open_corpus(large, CorpusOptions(), store=tmp_path / "s", resumable=True, notify=stop)
    left = tmp_path / ".s.tmp"
    for name in ("read/indices.npy", "words.txt"):
        with (left / name).open("ab") as file:
            file.write(b"more, not noted\n" * 10)
    found = open_corpus(large, CorpusOptions(), store=tmp_path / "s", resumable=True)
    assert found.fingerprint == whole.fingerprint


def test_another_reading_does_not_go_on_from_what_is_left(large, tmp_path):
    """Red with: identity not compared."""
    with pytest.raises(Interrupted):
        open_corpus(large, OPEN, store=tmp_path / "s", resumable=True, notify=Stopper(5))
    said = Lines()
    found = open_corpus(large[1:], OPEN, store=tmp_path / "s", resumable=True, log=said.append)
    assert not any("resuming" in line for line in said)
    assert found.fingerprint == open_corpus(large[1:], OPEN, store=tmp_path / "t").fingerprint


def test_an_error_leaves_nothing_behind_even_of_a_resumed_reading(tmp_path):
    good, bad = tmp_path / "a.txt", tmp_path / "b.txt"
    good.write_text("some words here\n")
    bad.write_bytes(b"fine\nbad \xff\n")
    with pytest.raises(Interrupted):
        open_corpus(
            [str(good), str(bad)], OPEN, store=tmp_path / "s", resumable=True, notify=Stopper(1)
        )
    with pytest.raises(CorpusError, match=r"b\.txt:2"):
        open_corpus([str(good), str(bad)], OPEN, store=tmp_path / "s", resumable=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.txt", "b.txt"]


# ---- streams


def joined(blocks):
    blocks = list(blocks)
    lengths = np.concatenate([np.diff(b.indptr) for b in blocks])
    return Documents(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.concatenate([b.indices for b in blocks]),
        np.concatenate([b.counts for b in blocks]),
    )


def same(a, b):
    return all(
        np.array_equal(getattr(a, n), getattr(b, n)) for n in ("indptr", "indices", "counts")
    )


def test_matched_documents_are_those_of_a_store_that_is_matched(large, tmp_path):
    """Red with: empty documents left out; unknown words kept."""
    words = [f"w{i}" for i in range(0, 3000, 3)]
    stored = open_corpus(large, CorpusOptions(), store=tmp_path / "s", match=words)
    said = Lines()
    blocks = matched_documents(
        large, CorpusOptions(), words, threads=2, notify=lambda p: None, log=said.append
    )
    assert same(joined(blocks), stored.take(np.arange(stored.documents)))
    assert any("not among the 1,000 words of the run" in line for line in said)


def test_a_corpus_read_once_is_its_head_and_then_the_others(large, tmp_path):
    """Red with: the head's last document taken twice; documents without words handed out."""
    head = open_corpus(large[:1], CorpusOptions(), store=tmp_path / "head")  # 9,000 documents
    once = SinglePassCorpus(
        large,
        CorpusOptions(),
        9000,
        store=tmp_path / "once",
        threads=2,
        notify=lambda p: None,
        log=lambda *_: None,
    )
    assert once.corpus.fingerprint == head.fingerprint
    parts = []
    while len(part := once.take(997)):
        parts.append(part)
    assert [len(part) for part in parts[:-1]] == [997] * (len(parts) - 1)
    once.close()
    blocks = matched_documents(
        large[1:],
        CorpusOptions(),
        head.vocabulary,
        threads=1,
        notify=lambda p: None,
        log=lambda *_: None,
    )
    others = joined(blocks)
    assert same(joined(parts), others.take(np.flatnonzero(np.diff(others.indptr))))


def test_a_head_may_end_in_the_middle_of_a_file_of_counts(tmp_path):
    """Red with: the heading of the file under way forgotten."""
    counts = str(DATA / "docword.tiny.txt")
    whole = open_corpus([counts], CorpusOptions(), store=tmp_path / "whole")
    once = SinglePassCorpus(
        [counts],
        CorpusOptions(),
        2,
        store=tmp_path / "once",
        threads=1,
        notify=lambda p: None,
        log=lambda *_: None,
    )
    assert once.corpus.documents == 2
    rest = once.take(100)
    assert same(rest, whole.take(np.arange(2, whole.documents)))


def test_the_vocabulary_of_a_stream_is_that_of_its_head(large, tmp_path):
    once = SinglePassCorpus(
        large,
        CorpusOptions(),
        500,
        store=tmp_path / "once",
        threads=1,
        notify=lambda p: None,
        log=lambda *_: None,
    )
    once.close()
    meta = json.loads((tmp_path / "once" / "meta.json").read_text())
    assert meta["provenance"]["documents_read"] == 500
    assert Corpus.open(tmp_path / "once").documents == 498  # two have no word
