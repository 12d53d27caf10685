"""Stored corpora: foreign files where one is built, and corpora changed on disk."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
from faults_runs import sgmc, write_corpus
from listeners import Told
from trial_counts import counts

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.corpus.build import build, sample
from pysgrld.corpus.write import MARKER
from pysgrld.errors import CorpusError, Interrupted, LockedError, OutputError

#: Reading in which words of every document stay.
ALL = CorpusOptions(min_df=1, max_df=1.0, stop_words="none")


def files(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files below a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def text(tmp_path):
    return write_corpus(tmp_path / "corpus.txt")


@pytest.fixture
def stored(text, tmp_path):
    return open_corpus([str(text)], ALL, store=tmp_path / "stored").path


def ways(text, stored, place):
    """Yield every way to make a corpus called ``place``."""
    return {
        "build": lambda: build([str(text)], ALL, place, 1, Told()),
        "copy": lambda: build([str(stored)], CorpusOptions(), place, 1, Told()),
        "sample": lambda: sample(Corpus.open(stored), 5, 1, place),
    }


# ---- row 70


@pytest.mark.row(70)
@pytest.mark.parametrize("what", ["folder", "file", "link to a folder", "link to nothing"])
@pytest.mark.parametrize("way", ["build", "copy", "sample"])
def test_what_somebody_has_where_a_corpus_is_put_together_stays(
    way, what, text, stored, tmp_path, trials
):
    """Red with: a folder of that name emptied; a link to it followed."""
    thesis = tmp_path / "elsewhere" / "chapter" / "thesis.tex"
    thesis.parent.mkdir(parents=True)
    thesis.write_text("years of work")
    place = tmp_path / ".user.tmp"
    if what == "folder":
        shutil.copytree(tmp_path / "elsewhere", place)
    elif what == "file":
        place.write_text("a note")
    else:
        place.symlink_to(tmp_path / ("elsewhere" if what == "link to a folder" else "nowhere"))
    before = files(tmp_path)
    with pytest.raises(OutputError, match=r"\.user\.tmp: ") as caught:
        ways(text, stored, tmp_path / "user")[way]()
    assert caught.value.exit_code == 73
    assert "\n" not in str(caught.value)
    assert files(tmp_path) == before
    assert not (tmp_path / "user").exists()
    trials()


@pytest.mark.row(70)
def test_a_link_in_the_folder_of_a_killed_process_is_not_followed(text, tmp_path, trials):
    """Red with: the marker alone looked at."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "indptr.npy").write_bytes(b"mine")
    place = tmp_path / ".s.tmp"
    place.mkdir()
    (place / MARKER).touch()
    (place / "read").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match=r"\.s\.tmp: "):
        build([str(text)], ALL, tmp_path / "s", 1, Told())
    assert files(tmp_path / "elsewhere") == {"indptr.npy": b"mine"}
    trials()


# ---- row 71


@pytest.fixture
def stopped(text, tmp_path):
    """The work folder of an interrupted build of ``corpus`` into ``s``."""
    many = tmp_path / "many.txt"
    many.write_bytes(text.read_bytes() * 1500)
    told = []

    def stop():
        told.append(1)
        if len(told) == 4:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted):
        build([str(many)], ALL, tmp_path / "s", 1, Told(stop))
    assert (tmp_path / ".s.tmp" / "progress.json").is_file()
    return many


@pytest.mark.row(71)
@pytest.mark.parametrize("way", ["copy", "sample"])
def test_a_copy_to_the_name_of_an_interrupted_build_leaves_its_work(
    way, text, stored, stopped, tmp_path, trials
):
    """Red with: the folder emptied because the copy is no reading that goes on."""
    before = files(tmp_path / ".s.tmp")
    ways(text, stored, tmp_path / "s")[way]()
    assert Corpus.open(tmp_path / "s").words == Corpus.open(stored).words
    assert files(tmp_path / ".s.tmp") == before
    shutil.rmtree(tmp_path / "s")
    said = sgmc(tmp_path, "corpus", "build", stopped, "-o", "s", *OPTIONS).stderr
    assert "resuming: " in said
    assert not (tmp_path / ".s.tmp").exists()
    trials()


OPTIONS = "--min-df", "1", "--max-df", "1.0", "--stop-words", "none"


@pytest.mark.row(71)
@pytest.mark.parametrize("way", ["copy", "sample"])
def test_a_copy_beside_a_build_of_that_name_is_refused_and_the_build_goes_on(
    way, text, stored, tmp_path, trials
):
    """Red with: a copy that asks for no lock, and takes the name."""
    tried = []

    def beside():
        if not tried:
            with pytest.raises(LockedError) as caught:
                ways(text, stored, tmp_path / "s")[way]()
            tried.append(caught.value.exit_code)

    made = build([str(text)], ALL, tmp_path / "s", 1, Told(beside))
    assert tried == [75]
    assert made.documents == Corpus.open(tmp_path / "s").documents == 60
    assert sorted(p.name for p in tmp_path.iterdir()) == ["corpus.txt", "s", "stored"]
    trials()


# ---- row 72


@pytest.fixture
def trained(text, tmp_path):
    """A finished run next to its corpus, with a list of stop words and a vocabulary."""
    (tmp_path / "stop.txt").write_text("reda\nredb\n")
    words = {word for line in text.read_text().splitlines() for word in line.split()}
    (tmp_path / "words.txt").write_text("".join(f"{word}\n" for word in sorted(words)))
    return tmp_path


def train(folder, *arguments, code=0):
    line = ["train", "corpus.txt", "-k", "3", "--iterations", "6", "--minibatch", "10"]
    line += ["--set", "starts=1"]
    return sgmc(folder, *line, "--min-df", "1", "--holdout", "10", *arguments, code=code)


def vocabulary(run):
    return (run / "vocab.txt").read_text().split()


@pytest.mark.row(72)
@pytest.mark.parametrize(
    ("option", "file"),
    [pytest.param("--stop-words", "stop.txt", marks=pytest.mark.nightly), ("--vocab", "words.txt")],
)
def test_an_edited_list_of_words_is_another_corpus(option, file, trained, trials):
    """Red with: lists by name, so that the corpus of the first run stood for any list."""
    train(trained, option, file)
    train(trained, option, file, "--out", "o")
    lines = (trained / file).read_text().splitlines()
    edited = ["reda", "bluec"] if option == "--stop-words" else lines[5:]
    (trained / file).write_text("".join(f"{word}\n" for word in edited))
    before = files(trained / "o")
    refused = train(trained, option, file, "--out", "o", "--iterations", "9", code=78)
    assert "  corpus: " in refused.stderr
    assert files(trained / "o") == before
    train(trained, option, file)
    found = vocabulary(trained / "sgmc-runs" / "corpus-scir-2")
    if option == "--stop-words":
        assert "redb" in found
        assert "bluec" not in found
    else:
        assert found == edited
    trials(2)


@pytest.mark.row(72)
def test_a_text_changed_in_its_middle_is_another_corpus(tmp_path, trials):
    """Red with: a text of three megabytes known by its two ends."""
    path = write_corpus(tmp_path / "corpus.txt")
    filler = path.read_text()
    path.write_text(filler * (3_000_000 // len(filler)))
    line = "train", "corpus.txt", "-k", "2", "--iterations", "2", "--set", "starts=1", "--out", "o"
    sgmc(tmp_path, *line)
    data = path.read_text()
    half = len(data) // 2
    path.write_text(
        data[:half] + data[half : half + 2000].replace("reda", "wine") + data[half + 2000 :]
    )
    refused = sgmc(tmp_path, *line, code=78)
    assert "  corpus: " in refused.stderr
    trials()


# ---- row 73


def exchange_words(folder):
    path = folder / "vocab.txt"
    words = path.read_text().split()
    words[2], words[4] = words[4], words[2]
    path.write_text("".join(f"{word}\n" for word in words))


def move_a_token(folder):
    """Move a token from one word to the next in its document, so that all totals stay the same."""
    counts = np.load(folder / "counts.npy")
    indptr = np.load(folder / "indptr.npy")
    at = next(i for i in range(len(counts) - 1) if counts[i] > 1 and i + 1 not in indptr)
    counts[at] -= 1
    counts[at + 1] += 1
    np.save(folder / "counts.npy", counts)  # a mapped file in memory would keep its date


def another_word(folder):
    """Rename a word of a document to a word that the document lacks."""
    indices = np.load(folder / "indices.npy")
    indptr = np.load(folder / "indptr.npy")
    words = int(indices.max()) + 1
    ends = [end - 1 for end in indptr[1:].tolist() if indices[end - 1] < words - 1]
    indices[ends[0]] += 1
    np.save(folder / "indices.npy", indices)


#: What leaves every check of the numbers content, and the file that it is done to.
EDITS = {
    "two words exchanged": (exchange_words, "vocab.txt"),
    "a token moved": (move_a_token, "counts.npy"),
    "another word": (another_word, "indices.npy"),
}


@pytest.mark.row(73)
@pytest.mark.parametrize(
    ("edit", "whose"),
    [
        *((edit, "the run's") for edit in EDITS),
        ("a token moved", "one that was named"),
        *(
            pytest.param(edit, "one that was named", marks=pytest.mark.nightly)
            for edit in ("two words exchanged", "another word")
        ),
    ],
)
def test_a_stored_corpus_that_was_changed_is_refused(edit, whose, text, tmp_path, trials):
    """Red with: numbers checked, and not whether they are those that were written."""
    own = whose == "the run's"
    if not own:
        sgmc(tmp_path, "corpus", "build", "corpus.txt", "-o", "stored", "--min-df", "1")
    line = [
        "train",
        "corpus.txt" if own else "stored",
        "-k",
        "3",
        "--minibatch",
        "10",
        "--set",
        "starts=1",
        "--out",
        "o",
    ]
    sgmc(tmp_path, *line, "--holdout", "10", "--iterations", "6")
    before = files(tmp_path / "o")
    place = "o/corpus" if own else "stored"
    change, name = EDITS[edit]
    sgmc(tmp_path, "corpus", "info", place, "--verify")
    change(tmp_path / place)
    done = sgmc(tmp_path, *line, "--holdout", "10", "--iterations", "9", code=65)
    assert (
        f"{place}: the corpus is damaged ({name} was changed since it was written)" in done.stderr
    )
    assert sgmc(tmp_path, "corpus", "info", place, code=65).stderr == done.stderr
    left_out = {f"corpus/{name}", "log.jsonl", "status.json"}
    after = files(tmp_path / "o")
    assert {n: d for n, d in after.items() if n not in left_out} == {
        n: d for n, d in before.items() if n not in left_out
    }
    trials()


@pytest.mark.row(73)
@pytest.mark.parametrize("edit", ["a token moved", "another word"])
def test_a_change_under_an_old_date_is_seen_by_verify(edit, stored, tmp_path, trials):
    """Red with: verify that believes dates."""
    change, name = EDITS[edit]
    path = stored / name
    status = path.stat()
    sgmc(tmp_path, "corpus", "build", "stored", "-o", "copy")
    change(stored)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    refused = sgmc(tmp_path, "corpus", "info", "stored", "--verify", code=65)
    assert f"{name} was changed since it was written" in refused.stderr
    found = json.loads(sgmc(tmp_path, "corpus", "info", "copy", "--verify", "--json").stdout)
    assert found["verified"] is True
    assert "verified" in sgmc(tmp_path, "corpus", "info", "copy", "--verify").stdout
    trials()


@pytest.mark.row(73)
def test_a_corpus_of_0_1_0_is_hashed_whole(stored, trials):
    """It has no digests of its files, only the fingerprint. Red with: such a corpus believed."""
    meta = json.loads((stored / "meta.json").read_text())
    del meta["files"]
    (stored / "meta.json").write_text(json.dumps(meta))
    assert Corpus.open(stored).documents == 60
    move_a_token(stored)
    with pytest.raises(CorpusError, match="it was changed since it was written"):
        Corpus.open(stored)
    trials()


@pytest.mark.row(73)
def test_verify_is_for_stored_corpora(text, tmp_path, trials):
    refused = sgmc(tmp_path, "corpus", "info", "corpus.txt", "--verify", "--min-df", "1", code=2)
    assert "--verify applies only to a folder written by 'sgmc corpus build'" in refused.stderr
    trials()


# ---- row 82


@pytest.mark.row(82)
@counts(4, 90)
def test_a_build_that_is_killed_after_its_reading_goes_on_at_the_next_start(forks, trials, n):
    """Red with: what was read removed as soon as it had been written a second time."""
    texts = forks.folder / "texts.jsonl"
    rows = [
        {"id": f"d{i}", "v": i % 7, "text": f"w{i % 5} w{i % 3}" if i % 9 else "w"}
        for i in range(90)
    ]
    texts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    build = "corpus", "build", texts, *OPTIONS, "--meta-field", "v", "-o"
    forks(*build, "whole")
    whole = known(forks.folder / "whole")
    done, nth = False, 1
    while not done:
        name = f"s{nth}"
        child = forks.start(nth, *build, name, call="build_killed_at")
        assert child.wait() == -signal.SIGKILL, child.stderr
        done = (forks.folder / name).exists()
        if not done:
            assert "resuming: 90 documents already read" in forks(*build, name)
        assert known(forks.folder / name) == whole
        nth += max(1, 90 // n)
        trials()
    assert nth > 60


def known(folder):
    """All that a corpus of a few documents has, beside the times of its files."""
    corpus = Corpus.open(folder)
    about, rows = corpus.about, np.arange(corpus.documents)
    return corpus.fingerprint, about.ids(rows), about.values("v", rows), about.texts(rows)
