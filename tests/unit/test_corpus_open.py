"""Several inputs, names, identities, progress: the door itself."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.corpus.inputs import corpus_name
from pysgrld.errors import CorpusError, MissingInputError, UsageError

DATA = Path(__file__).parents[1] / "data"
COUNTS, TEXT = str(DATA / "docword.tiny.txt"), str(DATA / "tiny.txt")


def uci(folder: Path, name: str, vocabulary: str | None, text: str) -> str:
    folder.mkdir(exist_ok=True)
    if vocabulary is not None:
        (folder / f"vocab.{name}.txt").write_text(vocabulary)
    (folder / f"docword.{name}.txt").write_text(text)
    return str(folder / f"docword.{name}.txt")


def test_files_of_one_vocabulary_concatenate(tmp_path):
    once = open_corpus([COUNTS], CorpusOptions(), store=tmp_path / "a")
    twice = open_corpus([COUNTS, COUNTS], CorpusOptions(), store=tmp_path / "b")
    assert twice.vocabulary == once.vocabulary
    assert twice.documents == 2 * once.documents
    assert twice.totals.word_counts.tolist() == (2 * once.totals.word_counts).tolist()


def test_files_of_different_vocabularies_are_united_by_word(tmp_path):
    other = uci(tmp_path / "in", "x", "wine\nquagga\n", "1\n2\n2\n1 1 7\n1 2 5\n")
    corpus = open_corpus([COUNTS, other], CorpusOptions(), store=tmp_path / "s")
    assert corpus.vocabulary == ("bread", "café", "wine", "never", "zebra", "quagga")
    assert corpus.totals.word_counts.tolist() == [3, 5, 9, 0, 4, 5]


def test_a_stored_corpus_and_a_file_of_counts_are_one_corpus(tmp_path):
    open_corpus([COUNTS], CorpusOptions(), store=tmp_path / "a")
    corpus = open_corpus([str(tmp_path / "a"), COUNTS], CorpusOptions(), store=tmp_path / "b")
    assert corpus.documents == 6


def test_words_and_numbers_are_not_united(tmp_path):
    numbers = uci(tmp_path / "in", "x", None, "1\n2\n1\n1 1 1\n")
    with pytest.raises(CorpusError, match="others only word numbers"):
        open_corpus([COUNTS, numbers], CorpusOptions(), store=tmp_path / "s")


def test_text_and_counts_are_not_mixed(tmp_path):
    with pytest.raises(CorpusError, match="either all text or all counts"):
        open_corpus([COUNTS, TEXT], CorpusOptions(), store=tmp_path / "s")


def test_several_texts_share_one_vocabulary(tmp_path):
    options = CorpusOptions(min_df=2, max_df=1.0, stop_words="none")
    corpus = open_corpus([TEXT, str(DATA / "tiny.jsonl")], options, store=tmp_path / "s")
    assert corpus.documents == 6
    assert "zebra" in corpus.vocabulary


def test_no_input_is_wrong_usage(tmp_path):
    with pytest.raises(UsageError):
        open_corpus([], CorpusOptions(), store=tmp_path / "s")


def test_standard_input_twice_is_wrong_usage(tmp_path):
    with pytest.raises(UsageError, match="only once"):
        open_corpus(["-", "-"], CorpusOptions(), store=tmp_path / "s")


def test_a_missing_second_input_is_told_before_the_first_is_read(tmp_path):
    seen = []
    with pytest.raises(MissingInputError, match="none"):
        open_corpus(
            [TEXT, str(tmp_path / "none")],
            CorpusOptions(),
            store=tmp_path / "s",
            notify=seen.append,
        )
    assert seen == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_a_missing_input(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("a b")
    path.chmod(0)
    with pytest.raises(MissingInputError, match="cannot be read"):
        open_corpus([str(path)], CorpusOptions(), store=tmp_path / "s")


def test_a_missing_stop_list_is_a_missing_input(tmp_path):
    with pytest.raises(MissingInputError):
        open_corpus([TEXT], CorpusOptions(stop_words="/no/such"), store=tmp_path / "s")


def test_a_missing_vocabulary_is_a_missing_input(tmp_path):
    with pytest.raises(MissingInputError):
        open_corpus([TEXT], CorpusOptions(vocab="/no/such"), store=tmp_path / "s")


def test_progress_ends_at_all_bytes_and_all_documents(tmp_path):
    seen = []
    open_corpus([TEXT, TEXT], CorpusOptions(), store=tmp_path / "s", notify=seen.append)
    size = Path(TEXT).stat().st_size
    assert seen[-1] == (2 * size, 2 * size, 8)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("docword.20news.train.txt.gz", "20news.train"),
        ("a/b/corpus.txt", "corpus"),
        ("news.jsonl.zst", "news"),
        ("folder/", "folder"),
        ("my corpus!.txt", "my-corpus"),
        ("-", "stdin"),
        (".txt", "txt"),
        ("docword.txt", "docword"),
    ],
)
def test_a_corpus_is_called_after_its_file(path, name):
    assert corpus_name([path]) == name


def test_a_named_pipe_is_read_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen(
        [sys.executable, "-c", f"open({str(pipe)!r},'wb').write(open({TEXT!r},'rb').read())"]
    )
    corpus = open_corpus([str(pipe)], CorpusOptions(), store=tmp_path / "s")
    assert writer.wait() == 0
    assert corpus.documents == 3


def test_options_are_declared_without_importing_numpy(tmp_path):
    code = "import sys, pysgrld.corpus.reading; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"min_df": 0.0},
        {"min_df": 1.5},
        {"min_df": -1},
        {"min_df": float("nan")},
        {"max_df": 0},
        {"max_vocab": 0},
        {"on_bad_document": "ignore"},
        {"max_line": 0},
        {"max_line": 2**40},
    ],
)
def test_options_out_of_range_are_wrong_usage(wrong):
    with pytest.raises(UsageError) as caught:
        CorpusOptions(**wrong)
    assert caught.value.exit_code == 2


def test_a_gzip_of_counts_is_read(tmp_path):
    shutil.copy(DATA / "vocab.tiny.txt", tmp_path / "vocab.tiny.txt")
    path = tmp_path / "docword.tiny.txt.gz"
    path.write_bytes(gzip.compress(Path(COUNTS).read_bytes()))
    plain = open_corpus([COUNTS], CorpusOptions(), store=tmp_path / "a")
    packed = open_corpus([str(path)], CorpusOptions(), store=tmp_path / "b")
    assert packed.fingerprint == plain.fingerprint
