"""Texts that are kept beside a stored corpus, and readings of them that are interrupted."""

from __future__ import annotations

import shutil
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest
from named_corpora import ALL, build, every, files_about, lines_of

from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.corpus.about import texts
from pysgrld.corpus.streams import SinglePassCorpus
from pysgrld.corpus.write import WorkFolder
from pysgrld.errors import Interrupted


@pytest.fixture
def many(tmp_path, monkeypatch):
    """JSON lines in many steps, frames of a kilobyte."""
    monkeypatch.setattr("pysgrld.corpus.lines.STEP", 2**14)
    monkeypatch.setattr("pysgrld.corpus.lines.HEAD", 2**14)
    monkeypatch.setattr(texts, "FRAME", 1024)
    monkeypatch.setattr("pysgrld.corpus.vectors.HELD", 512)
    draw = np.random.default_rng(3)
    words = np.array([f"w{i}" for i in range(500)])
    records = [
        {"text": " ".join(words[draw.integers(500, size=12)]), "id": f"d{i}", "v": i % 7}
        for i in range(800)
    ]
    records[3]["text"], records[4]["v"] = "", None
    return lines_of(tmp_path / "many.jsonl", records), records


def test_texts_come_back_in_any_order(many, tmp_path):
    path, records = many
    corpus = build(tmp_path, path)
    rows = np.random.default_rng(0).permutation(corpus.documents)[:200]
    ids = corpus.about.ids(rows)
    assert corpus.about.texts(rows) == [records[int(key[1:])]["text"] for key in ids]
    assert build(tmp_path, path, name="none", keep_text="none").about.texts([0]) == [None]


def test_a_sample_of_texts_is_even_bounded_and_the_same_for_any_threads(many, tmp_path):
    """Red with: the first documents; a threshold that whoever reads ahead has halved."""
    path, _ = many
    options = CorpusOptions(**ALL, keep_text=6000)
    found = [open_corpus([str(path)], options, store=tmp_path / f"s{n}", threads=n) for n in (1, 3)]
    about = found[0].about
    kept = np.flatnonzero([text is not None for text in about.texts(every(found[0]))])
    assert (len(kept), about.text_bytes <= 6000) == (about.texts_kept, True)
    assert 50 < len(kept) < 500
    thirds = np.histogram(kept, 3, (0, found[0].documents))[0]
    expected = len(kept) / 3
    assert ((thirds - expected) ** 2 / expected).sum() < 13.8  # chi-square, 2 degrees: 0.001
    assert files_about(found[0]) == files_about(found[1])


@pytest.mark.parametrize(
    ("limit", "kept"), [(None, 400), (30_000, (60, 250)), (9_000, (20, 120)), (500, (1, 12))]
)
def test_frames_of_other_corpora_are_taken_as_they_are(tmp_path, monkeypatch, limit, kept):
    """Red with: ends or rows not shifted; texts that wait written after; a limit passed; frames lost."""
    monkeypatch.setattr(texts, "FRAME", 1024)
    monkeypatch.setattr("pysgrld.corpus.vectors.HELD", 512)
    draw = np.random.default_rng(7)
    some = [draw.bytes(n) for n in draw.integers(1, 300, size=400)]

    def writer(name, limit=None):
        (tmp_path / name).mkdir()
        return texts.TextWriter(tmp_path / name, limit)

    parts = []
    for first, last in ((10, 150), (150, 150), (150, 290)):
        part = writer(f"part-{len(parts)}")
        part.add(np.arange(last - first), some[first:last])
        part.flush()
        part._frame(last=True)
        parts.append((first, part.stored()))
    whole = writer("whole", limit)
    whole.add(np.arange(10), some[:10])
    for first, part in parts:
        whole.add_stored(part, first)
    whole.add(np.arange(290, 400), some[290:])
    whole._frame(last=True)
    found = whole.stored()
    rows = found.rows.read(0, found.rows.size)
    assert found.take(rows) == [some[i] for i in rows.tolist()]
    assert (np.diff(rows) > 0).all()
    low, high = kept if isinstance(kept, tuple) else (kept, kept)
    assert low <= len(rows) <= high
    assert limit is None or found.text.size <= limit


def test_a_sample_of_texts_is_the_same_whenever_frames_are_compressed_and_noted(
    tmp_path, monkeypatch
):
    """Red with: the size looked at as soon as a frame is written, or at a note."""
    monkeypatch.setattr(texts, "FRAME", 1024)
    monkeypatch.setattr(texts, "AHEAD", 8 * 1024)
    draw = np.random.default_rng(5)
    some = [draw.bytes(70) for _ in range(3000)]

    def late(pool, function, item):
        future = Future()
        future.result = lambda: function(item)  # never before somebody waits for it
        return future

    def stored(name, *, notes, submit=texts.submitted):
        monkeypatch.setattr(texts, "submitted", submit)
        (tmp_path / name).mkdir()
        writer = texts.TextWriter(tmp_path / name, 30_000)
        for start in range(0, 3000, 50):
            writer.add(np.arange(start, start + 50), some[start : start + 50])
            if start in notes:
                writer.flush()
        assert 50 < writer.finish(tmp_path / name / "end") < 500
        return (tmp_path / name / "end").read_bytes()

    plain = stored("plain", notes=())
    assert stored("late", notes=(), submit=late) == plain
    assert stored("noted", notes=range(3000)) == plain


# ---- readings that are interrupted


class Kills:
    """Copies what a process that is killed when so many documents are read would leave."""

    def __init__(self, tmp_path, at):
        self.tmp_path, self.at = tmp_path, at

    def __call__(self, progress):
        for at in self.at:
            if progress.documents >= at and not (left := self.tmp_path / f".k{at}.tmp").exists():
                shutil.copytree(self.tmp_path / ".s.tmp", left)


@pytest.mark.parametrize(
    "options", [{"keep_text": 6000, "metadata": "m.csv"}, {"keep_text": "all", "min_df": 16}]
)
def test_a_killed_reading_goes_on_to_equal_files(many, tmp_path, monkeypatch, options):
    """Red with: frames cut at a note; halved texts gone before it; rows of metadata from the note."""
    monkeypatch.setattr("pysgrld.corpus.open.NOTE_EVERY", 0.0)
    if "metadata" in options:
        (tmp_path / options["metadata"]).write_text("v\n" + "".join(f"{i}\n" for i in range(800)))
        monkeypatch.chdir(tmp_path)
    given = CorpusOptions(**ALL | options, meta_field="v")
    kills = Kills(tmp_path, (100, 350, 600))
    whole = open_corpus([str(many[0])], given, store=tmp_path / "s", resumable=True, notify=kills)
    for at in kills.at:
        left = tmp_path / f".k{at}.tmp"
        assert (left / "progress.json").is_file()
        for file in filter(Path.is_file, (left / "about").iterdir()):
            with file.open("ab") as tail:
                tail.write(b"not noted" * 8)
        found = open_corpus([str(many[0])], given, store=tmp_path / f"k{at}", resumable=True)
        assert files_about(found) == files_about(whole)


def test_a_reading_that_is_killed_before_its_last_rename_goes_on(many, tmp_path, monkeypatch):
    """Red with: texts moved into the corpus, not copied; archives that are there already."""
    monkeypatch.setattr("pysgrld.corpus.open.NOTE_EVERY", 0.0)
    (tmp_path / "words").write_text("".join(f"w{i}\n" for i in range(500)))
    given = CorpusOptions(vocab=str(tmp_path / "words"), meta_field="v")
    commit = WorkFolder.commit

    def killed(self, folder):
        monkeypatch.setattr(WorkFolder, "commit", commit)
        shutil.copytree(self.folder, tmp_path / ".k.tmp")
        self.commit(folder)

    monkeypatch.setattr(WorkFolder, "commit", killed)
    whole = open_corpus([str(many[0])], given, store=tmp_path / "s", resumable=True)
    found = open_corpus([str(many[0])], given, store=tmp_path / "k", resumable=True)
    assert found.fingerprint == whole.fingerprint
    assert files_about(found) == files_about(whole)


def test_a_stopped_reading_goes_on_to_equal_files(many, tmp_path):
    """Red with: a reading that is stopped at the heading begins the input anew."""
    given = CorpusOptions(**ALL, meta_field="v", keep_text=6000)
    whole = open_corpus([str(many[0])], given, store=tmp_path / "whole")
    for at in (100, 100, 600, 10**9):  # the second at the heading

        def stop(progress, at=at):
            if progress.documents >= at:
                raise Interrupted("now")

        try:
            found = open_corpus(
                [str(many[0])], given, store=tmp_path / "s", resumable=True, notify=stop
            )
        except Interrupted:
            assert at < 10**9
    assert found.fingerprint == whole.fingerprint
    assert files_about(found) == files_about(whole)


def test_the_stored_beginning_of_a_stream_keeps_names(many, tmp_path):
    quiet = {"notify": lambda progress: None, "log": lambda line: None}
    given = CorpusOptions(**ALL, meta_field="v")
    once = SinglePassCorpus([str(many[0])], given, 100, store=tmp_path / "head", threads=1, **quiet)
    about = once.corpus.about
    assert about.ids([0, 3, 98]) == ["d0", "d4", "d99"]
    assert about.values("v", [2, 3]) == [2, None]
    assert len(once.take(10)) == 10
    once.close()
