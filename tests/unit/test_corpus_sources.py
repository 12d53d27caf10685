"""Whether a stored corpus still stands for its inputs: by all that they held, not by their names."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus, vocabulary
from pysgrld.corpus.build import copy_parts, sample
from pysgrld.corpus.formats import FORMATS
from pysgrld.corpus.inputs import vocabulary_beside
from pysgrld.corpus.sources import contents, look, recipe, stands_for
from pysgrld.errors import Interrupted, MissingInputError

DATA = Path(__file__).parents[1] / "data"
COUNTS = [
    suffix
    for format in FORMATS
    if format.kind == "counts"
    for suffix in (*format.suffixes, *format.shared)
]

#: Reading in which words of every document stay.
ALL = CorpusOptions(min_df=1, max_df=1.0, stop_words="none")


def nobody(progress):
    pass


def stored(tmp_path, *inputs, options=ALL):
    return open_corpus([str(i) for i in inputs], options, store=tmp_path / "stored").provenance


def stands(provenance, *inputs, options=ALL, notify=nobody):
    return stands_for(provenance, [str(i) for i in inputs], options, notify)


@pytest.fixture
def large(tmp_path):
    """Three megabytes of text."""
    path = tmp_path / "large.txt"
    path.write_text("some words of three megabytes\n" * 100_000)
    return path


def test_the_record_holds_the_digest_of_all_that_was_read(large, tmp_path):
    """Red with: the first and the last MiB; bytes after decompression."""
    (record,) = stored(tmp_path, large)["inputs"]
    assert record["sha256"] == hashlib.sha256(large.read_bytes()).hexdigest()
    assert record["size"] == large.stat().st_size


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_the_digest_is_of_the_file_as_it_lies_on_the_disk(tmp_path, suffix):
    import bz2
    import gzip
    import lzma

    import zstandard

    pack = {
        ".gz": gzip.compress,
        ".bz2": bz2.compress,
        ".xz": lzma.compress,
        ".zst": zstandard.ZstdCompressor().compress,
    }[suffix]
    path = tmp_path / f"x.txt{suffix}"
    path.write_bytes(pack(b"some words here\n" * 50_000))
    (record,) = stored(tmp_path, path)["inputs"]
    assert record["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_change_in_the_middle_is_seen_without_a_change_of_size(large, tmp_path):
    """Red with: both ends of a file hashed, as 0.1.0 did."""
    found = stored(tmp_path, large)
    assert stands(found, large)
    status = large.stat()
    with large.open("r+b") as file:
        file.seek(1_500_000)
        file.write(b"WORD")
    os.utime(large, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert not stands(found, large)


def test_another_date_is_no_other_text_and_the_same_stamp_is_not_read(large, tmp_path, monkeypatch):
    """Red with: stamps compared alone; every file hashed at every start."""
    found = stored(tmp_path, large)
    os.utime(large, (0, 0))
    hashed = []
    assert stands(found, large, notify=hashed.append)
    assert hashed[-1][:2] == (large.stat().st_size,) * 2
    hashed.clear()
    shutil.rmtree(tmp_path / "stored")
    assert stands(stored(tmp_path, large), large, notify=hashed.append)
    assert hashed == []


def test_hashing_can_be_stopped(large, tmp_path):
    found = stored(tmp_path, large)
    os.utime(large, (0, 0))

    def stop(progress):
        raise Interrupted("stop")

    with pytest.raises(Interrupted):
        stands(found, large, notify=stop)


@pytest.mark.parametrize("name", ["stop_words", "vocab"])
def test_an_edited_list_of_words_is_another_reading(name, tmp_path):
    """Red with: lists by their names, as 0.1.0 did; a list of another name that holds the same."""
    words = tmp_path / "words.txt"
    words.write_text("wine\nbread\n")
    options = CorpusOptions(min_df=1, max_df=1.0, **{"stop_words": "none", name: str(words)})
    found = stored(tmp_path, DATA / "tiny.txt", options=options)
    assert stands(found, DATA / "tiny.txt", options=options)
    words.write_text("wine\n")
    assert not stands(found, DATA / "tiny.txt", options=options)
    words.write_text("wine\nbread\n")
    assert stands(found, DATA / "tiny.txt", options=options)
    words.unlink()
    assert not stands(found, DATA / "tiny.txt", options=options)


def test_lists_are_in_the_recipe_by_what_they_hold(tmp_path):
    """Red with: the last of several lists alone."""
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for file in files:
        file.write_text(f"wine {file.name}\n")
    assert recipe(CorpusOptions(stop_words="english"))["lists"] == {}
    joined = ",".join(["english", *map(str, files)])
    assert recipe(CorpusOptions(stop_words=joined))["lists"] == {
        str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    }


@pytest.mark.parametrize("changed", ["rules", "list"])
def test_a_corpus_made_by_other_defaults_stands_for_nothing(changed, tmp_path, monkeypatch):
    """As a release may have them. Red with: options compared as they were given."""
    path = tmp_path / "x.txt"
    path.write_text("red words here\nred wine there\nred bread\n")
    found = stored(tmp_path, path, options=CorpusOptions(max_df=1.0))
    assert stands(found, path, options=CorpusOptions(max_df=1.0))
    if changed == "rules":
        rules = vocabulary._BUILT._replace(min_df=3)
        monkeypatch.setattr(vocabulary, "_BUILT", rules)
    else:
        monkeypatch.setattr(vocabulary, "named", lambda name: frozenset({"there"}))
    assert not stands(found, path, options=CorpusOptions(max_df=1.0))


def test_files_of_a_folder_are_compared_one_by_one(tmp_path):
    """Red with: files hashed in another order than they are named; a file more not seen."""
    folder = tmp_path / "texts"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "x.txt").write_text("some wine")
    (folder / "y.txt").write_text("no bread")
    (folder / "notes.md").write_text("not read")
    found = stored(tmp_path, folder)
    files = found["inputs"][0]["files"]
    assert [file["name"] for file in files] == ["a/x.txt", "y.txt"]
    assert files[1]["sha256"] == hashlib.sha256(b"no bread").hexdigest()
    (folder / "notes.md").write_text("still not read")
    assert stands(found, folder)
    (folder / "y.txt").write_text("no br**d")
    assert not stands(found, folder)
    (folder / "y.txt").write_text("no bread")
    assert stands(found, folder)
    (folder / "z.txt").write_text("more")
    assert not stands(found, folder)


@pytest.fixture
def of_files(tmp_path):
    """A corpus of a folder with more files than one line of its header could name."""
    (tmp_path / "texts").mkdir()
    for i in range(300):
        (tmp_path / "texts" / f"{i:03d}.txt").write_text("some wine, no bread")
    return open_corpus([str(tmp_path / "texts")], ALL, store=tmp_path / "s")


def test_files_of_a_folder_are_listed_beside_the_header(of_files, tmp_path):
    """Red with: the files in the header, which is read whole and has a limit."""
    assert (of_files.path / "meta.json").stat().st_size < 10_000
    texts = tmp_path / "texts"
    assert len(of_files.provenance["inputs"][0]["files"]) == 300
    copy_parts(of_files.path, tmp_path / "copy")
    assert stands(Corpus.open(tmp_path / "copy").provenance, texts)
    few = sample(of_files, 5, 1, tmp_path / "few")
    assert few.provenance["of"] == of_files.provenance
    assert (few.path / "meta.json").stat().st_size < 10_000
    assert contents(sample(few, 2, 1, tmp_path / "fewer").provenance["of"]["of"])


def edited(path):
    """Name a file by another name, in a list that stays as long and as well-formed."""
    path.write_bytes(path.read_bytes().replace(b"007.txt", b"700.txt"))


@pytest.mark.parametrize(
    "harm", [Path.unlink, lambda path: path.write_text('{"name": "x"}\n'), edited]
)
def test_a_corpus_whose_list_of_files_is_damaged_stands_for_none(of_files, tmp_path, harm):
    """Red with: a list that is believed whatever it says, whose contents a run is then warned by."""
    harm(of_files.path / "inputs.jsonl")
    found = Corpus.open(of_files.path).provenance
    assert not stands(found, tmp_path / "texts")
    assert contents(found) == set()


@pytest.mark.parametrize("data", [b"{\n", b"[]\n" * 20, b"[" * 100_000, b"\xff\n"])
def test_a_forged_list_of_files_stands_for_none(of_files, tmp_path, data):
    """With a digest that agrees. Red with: errors of the JSON module (70)."""
    (of_files.path / "inputs.jsonl").write_bytes(data)
    meta = json.loads((of_files.path / "meta.json").read_text())
    meta["parts"]["inputs.jsonl"] = {"sha256": hashlib.sha256(data).hexdigest()}
    (of_files.path / "meta.json").write_text(json.dumps(meta))
    found = Corpus.open(of_files.path).provenance
    assert not stands(found, tmp_path / "texts")
    assert contents(found) == set()


def test_a_header_that_lists_files_itself_is_read(of_files, tmp_path):
    """Red with: files of 0.1.0, which had no list of them, looked for in one."""
    meta = json.loads((of_files.path / "meta.json").read_text())
    del meta["parts"]["inputs.jsonl"]
    meta["provenance"] = of_files.provenance
    (of_files.path / "meta.json").write_text(json.dumps(meta))
    (of_files.path / "inputs.jsonl").unlink()
    assert stands(Corpus.open(of_files.path).provenance, tmp_path / "texts")


def test_a_stored_corpus_among_the_inputs_is_compared_by_its_files(tmp_path):
    folder = open_corpus([str(DATA / "tiny.txt")], ALL, store=tmp_path / "in").path
    found = stored(tmp_path, folder, DATA / "docword.tiny.txt")
    assert stands(found, folder, DATA / "docword.tiny.txt")
    data = (folder / "vocab.txt").read_bytes()
    (folder / "vocab.txt").write_bytes(data.replace(b"wine", b"vine"))
    assert not stands(found, folder, DATA / "docword.tiny.txt")


@pytest.mark.parametrize("name", [*(f"news{suffix}" for suffix in COUNTS), "docword.news.txt.gz"])
def test_a_vocabulary_beside_counts_is_part_of_what_the_input_is(tmp_path, name):
    """Red with: a format whose suffix the table does not have (its words could change unnoticed)."""
    (tmp_path / name).write_bytes(b"1 1:1\n")
    words = tmp_path / "vocab.news.txt"
    words.write_text("one\n")
    record = look(str(tmp_path / name))
    words.write_text("two\n")
    assert vocabulary_beside(tmp_path / name) == words
    assert record["vocabulary"]["name"] == "vocab.news.txt"
    assert look(str(tmp_path / name))["vocabulary"]["sha256"] != record["vocabulary"]["sha256"]


@pytest.mark.parametrize("name", ["docword.news.txt", "counts.txt"])
def test_a_vocabulary_beside_counts_is_compared_whatever_the_counts_are_called(tmp_path, name):
    """Red with: the vocabulary of counts that are known by their contents alone left out."""
    shutil.copy(DATA / "docword.tiny.txt", tmp_path / name)
    words = tmp_path / f"vocab.{name.split('.')[-2]}.txt"
    shutil.copy(DATA / "vocab.tiny.txt", words)
    found = stored(tmp_path, tmp_path / name, options=CorpusOptions())
    assert stands(found, tmp_path / name, options=CorpusOptions())
    words.write_text(words.read_text("utf-8").replace("wine", "vine"), "utf-8")
    assert not stands(found, tmp_path / name, options=CorpusOptions())
    words.unlink()
    assert not stands(found, tmp_path / name, options=CorpusOptions())


def test_counts_that_get_a_vocabulary_beside_them_are_another_corpus(tmp_path):
    counts = tmp_path / "docword.tiny.txt"
    shutil.copy(DATA / "docword.tiny.txt", counts)
    found = stored(tmp_path, counts, options=CorpusOptions())
    assert stands(found, counts, options=CorpusOptions())
    shutil.copy(DATA / "vocab.tiny.txt", tmp_path)
    assert not stands(found, counts, options=CorpusOptions())


def test_text_has_no_vocabulary_beside_it(tmp_path):
    (tmp_path / "news.txt").write_text("one\n")
    (tmp_path / "vocab.news.txt").write_text("one\n")
    assert "vocabulary" not in look(str(tmp_path / "news.txt"))


def test_what_gives_something_else_each_time_is_never_the_same(tmp_path):
    """Red with: a pipe by its name, as 0.1.0 did."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert look("-") == {"name": "-"}
    assert look(str(pipe)) == {"name": "pipe"}
    for path, name in (("-", "-"), (pipe, "pipe")):
        assert not stands(recipe(ALL) | {"inputs": [{"name": name}]}, path)


def test_inputs_more_or_fewer_or_in_another_order_are_another_corpus(tmp_path):
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("one two\n")
    second.write_text("two one\n")
    found = stored(tmp_path, first, second)
    assert stands(found, first, second)
    for others in ([first], [second, first], [first, second, first]):
        assert not stands(found, *others)
    with pytest.raises(MissingInputError):
        stands(found, first, tmp_path / "none.txt")


def test_a_record_of_0_1_0_which_says_no_defaults_stands_for_nothing(tmp_path):
    """Red with: what a record does not say taken for the same."""
    found = stored(tmp_path, DATA / "tiny.txt")
    assert stands(found, DATA / "tiny.txt")
    del found["reading"]
    assert not stands(found, DATA / "tiny.txt")


@pytest.mark.parametrize(
    "damage",
    [{"inputs": 3}, {"inputs": ["x"]}, {"inputs": [{"name": "tiny.txt"}]}, {"options": []}],
)
def test_a_record_that_is_damaged_stands_for_nothing(damage, tmp_path):
    found = stored(tmp_path, DATA / "tiny.txt")
    assert not stands(found | damage, DATA / "tiny.txt")
    json.dumps(found)
