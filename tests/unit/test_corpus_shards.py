"""Shards of a corpus: together they are what one process would have written."""

import json
from pathlib import Path

import numpy as np
import pytest
from listeners import Told

from pysgrld.corpus import Corpus, CorpusOptions
from pysgrld.corpus.build import build
from pysgrld.corpus.shards import build_shard, cuts, listed, merge, shards_of
from pysgrld.errors import CorpusError, MismatchError, MissingInputError, OutputError, UsageError


@pytest.fixture
def files(tmp_path):
    """Seven files of JSON lines with columns of every kind; some documents have no known word."""
    paths = []
    for i in range(7):
        rows = [
            {
                "id": f"d{i}-{j}",
                "title": f"Number {j} of {i}",
                "text": f"red blue {'green ' * j} {'zzz' if j % 3 else 'white'}"
                if j != 2
                else "none",
                "year": 1990 + i,
                "when": f"2020-0{i + 1}-1{j}",
                "mark": str(j) if i < 3 else f"m{j}",  # whole numbers in the first shards alone
                "late": j if i > 4 else None,
            }
            for j in range(3 + 5 * (i % 3))
        ]
        paths.append(tmp_path / f"part-{i}.jsonl")
        paths[-1].write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "words.txt").write_text("red\nblue\ngreen\nwhite\n")
    return [str(path) for path in paths]


def options(files, **given):
    """Options that keep everything."""
    vocab = Path(files[0]).with_name("words.txt")
    return CorpusOptions(vocab=str(vocab), meta_field="all", **given)


def written(corpus):
    """Every byte of a corpus but compressed texts, the texts, and the record without times."""
    found = {
        str(path.relative_to(corpus.path)): path.read_bytes()
        for path in corpus.path.rglob("*")
        if path.is_file() and path.name not in ("meta.json", "texts.npz")
    }
    texts = corpus.about.texts(np.arange(corpus.documents))
    return found, texts, corpus.provenance, corpus.totals[:3]


@pytest.mark.parametrize("number", [1, 2, 5, 7])
def test_merged_shards_are_what_one_process_writes(files, tmp_path, number):
    """Red with: kinds of columns of the first shard, names of files sorted, inputs not joined."""
    whole = build(files, options(files), tmp_path / "whole", 1, Told())
    for i in range(number, 0, -1):
        build_shard(files, options(files), tmp_path / "all", (i, number), 1, Told())
    assert written(merge(tmp_path / "all", Told())) == written(whole)


def test_shards_without_known_words_or_fields_are_merged_like_others(files, tmp_path):
    """Red with: a shard refused for what it lacks; kinds of columns forgotten by the merging."""
    for i in (0, 6):
        Path(files[i]).write_text('{"text": "zzz", "year": 1}\n')
    given = CorpusOptions(vocab=options(files).vocab, meta_field="when,year:string", id_field="id")
    whole = build(files, given, tmp_path / "whole", 1, Told())
    made = [build_shard(files, given, tmp_path / "all", (i, 7), 1, Told()) for i in range(1, 8)]
    assert made[0].tokens == made[6].documents == 0
    merged = merge(tmp_path / "all", Told())
    assert merged.fingerprint == whole.fingerprint
    assert merged.provenance == whole.provenance
    assert sorted(merged.about.columns) == sorted(whole.about.columns)
    rows = np.arange(whole.documents)
    for name in ("ids", "titles", "origins", "texts"):
        assert getattr(merged.about, name)(rows) == getattr(whole.about, name)(rows)
    assert merged.about.values("year", rows) == whole.about.values("year", rows)


def test_shards_that_have_nothing_together_are_refused(files, tmp_path):
    """Red with: a corpus without documents; a field that no document has."""
    for name, given, said in (
        ("none", {"text_field": "title"}, "no document has a word of the vocabulary"),
        ("field", {"id_field": "key"}, "no document has a field 'key'"),
    ):
        asked = CorpusOptions(vocab=options(files).vocab, **given)
        with pytest.raises(CorpusError, match=said):
            build(files, asked, tmp_path / f"whole-{name}", 1, Told())
        for i in (1, 2):
            build_shard(files, asked, tmp_path / name, (i, 2), 1, Told())
        with pytest.raises(CorpusError, match=said):
            merge(tmp_path / name, Told())
        assert not (tmp_path / name).exists()


def test_all_inputs_say_what_a_document_of_a_shard_is(files, tmp_path):
    """Red with: lines and files told apart by the inputs of a shard, which are too few."""
    letters = []
    for i in range(4):
        letters.append(str(tmp_path / f"{i}.txt"))
        Path(letters[-1]).write_text("red blue\n\ngreen\n\nwhite red\n")
    given = CorpusOptions(vocab=options(files).vocab)
    whole = build(letters, given, tmp_path / "whole", 1, Told())
    assert whole.documents == 4
    for i in (1, 2):
        build_shard(letters, given, tmp_path / "all", (i, 2), 1, Told())
    assert written(merge(tmp_path / "all", Told())) == written(whole)


def test_a_shard_that_is_there_is_not_built_again(files, tmp_path):
    made = build_shard(files, options(files), tmp_path / "all", (2, 3), 1, Told())
    before = made.path.stat().st_ino
    told = Told()
    again = build_shard(files, options(files), tmp_path / "all", (2, 3), 1, told)
    assert again.path.stat().st_ino == before
    assert "shard 2 of 3 is there already" in told.lines[0]


@pytest.mark.parametrize(
    ("given", "shard", "inputs", "match"),
    [
        ({}, (1, 8), slice(0, 7), "8 shards are too many for 7 inputs, because"),
        ({"min_df": 2}, (1, 2), slice(0, 7), "--min-df needs the counts of all documents"),
        ({"vocab": None}, (1, 2), slice(0, 7), "needs --vocab"),
        ({"metadata": "x.csv"}, (1, 2), slice(0, 7), "--id-field"),
    ],
)
def test_what_shards_cannot_do_is_refused(files, tmp_path, given, shard, inputs, match):
    asked = CorpusOptions(**({"vocab": "words.txt", "meta_field": "all"} | given))
    with pytest.raises(UsageError, match=match):
        build_shard(files[inputs], asked, tmp_path / "all", shard, 1, Told())
    assert not shards_of(tmp_path / "all").exists()


def test_standard_input_is_no_shard(files, tmp_path):
    with pytest.raises(UsageError, match="standard input"):
        build_shard([*files, "-"], options(files), tmp_path / "all", (1, 2), 1, Told())


def test_shards_of_another_plan_are_refused(files, tmp_path):
    """Red with: the plan written again by every shard."""
    build_shard(files, options(files), tmp_path / "all", (1, 3), 1, Told())
    for inputs, shard, given in (
        (files, (2, 4), {}),
        (files[::-1], (2, 3), {}),
        (files, (2, 3), {"keep_text": "none"}),
    ):
        different = "--keep-text" if given else "number of shards" if shard[1] == 4 else "inputs"
        with pytest.raises(MismatchError, match=rf"different: {different}\)"):
            build_shard(inputs, options(files, **given), tmp_path / "all", shard, 1, Told())


@pytest.mark.parametrize("how", ["mended", "skip"])
def test_a_bad_file_costs_its_own_shard_alone(files, tmp_path, how):
    """Red with: the plan of all shards refused because one file was mended, or skipped documents."""
    path = Path(files[1])
    good = path.read_text()
    path.write_text(good[:-20])
    for i in (2, 3):
        made = build_shard(files, options(files), tmp_path / "all", (i, 3), 1, Told())
    with pytest.raises(CorpusError, match=r"part-1\.jsonl"):
        build_shard(files, options(files), tmp_path / "all", (1, 3), 1, Told())
    given = {"on_bad_document": "skip"} if how == "skip" else {}
    if how == "mended":
        path.write_text(good)
    before = made.path.stat().st_ino
    for i in (1, 2, 3):
        again = build_shard(files, options(files, **given), tmp_path / "all", (i, 3), 1, Told())
    assert again.path.stat().st_ino == before
    whole = build(files, options(files, **given), tmp_path / "whole", 1, Told())
    assert written(merge(tmp_path / "all", Told())) == written(whole)


def test_a_shard_of_an_input_that_changed_is_built_again(files, tmp_path):
    """Red with: the old shard kept; the other shards refused; a shard with skipped documents kept."""
    for i in (1, 2, 3):
        made = build_shard(files, options(files), tmp_path / "all", (i, 3), 1, Told())
    before = made.path.stat().st_ino
    Path(files[0]).write_text('{"id": "x", "text": "red red red"}\n')
    told = Told()
    for i in (1, 2, 3):
        again = build_shard(files, options(files), tmp_path / "all", (i, 3), 1, told)
    assert f"shard 1 of 3 is built again, because {files[0]} has changed" in told.lines[0]
    assert again.path.stat().st_ino == before
    assert (shards_of(tmp_path / "all") / "0001-of-0003.replaced-1").is_dir()
    whole = build(files, options(files), tmp_path / "whole", 1, Told())
    assert written(merge(tmp_path / "all", Told())) == written(whole)


def test_a_damaged_shard_is_built_again_by_the_same_command(files, tmp_path):
    """Red with: advice to build it again, which ends with the same error."""
    for i in (1, 2):
        made = build_shard(files, options(files), tmp_path / "all", (i, 2), 1, Told())
    counts = made.path / "counts.npy"
    counts.write_bytes(counts.read_bytes()[:-4])
    with pytest.raises(CorpusError, match=r"shard 2 of 2 is damaged \(counts\.npy .*--shard 2/2"):
        merge(tmp_path / "all", Told())
    told = Told()
    build_shard(files, options(files), tmp_path / "all", (2, 2), 1, told)
    assert "shard 2 of 2 is built again, because counts.npy is not a vector" in told.lines[0]
    whole = build(files, options(files), tmp_path / "whole", 1, Told())
    assert written(merge(tmp_path / "all", Told())) == written(whole)


def test_missing_shards_are_named(files, tmp_path):
    for i in (2, 7):
        build_shard(files, options(files), tmp_path / "all", (i, 7), 1, Told())
    with pytest.raises(MissingInputError, match=r"lacks 5 shards of 7: 1,3-6; .* --shard 1/7 "):
        merge(tmp_path / "all", Told())
    assert not (tmp_path / "all").exists()
    with pytest.raises(MissingInputError, match="is not there"):
        merge(tmp_path / "other", Told())


def test_a_damaged_shard_or_plan_ends_the_merging(files, tmp_path):
    for i in (1, 2):
        made = build_shard(files, options(files), tmp_path / "all", (i, 2), 1, Told())
    counts = made.path / "counts.npy"
    whole = counts.read_bytes()
    counts.write_bytes(whole[:-4])
    with pytest.raises(CorpusError, match="damaged"):
        merge(tmp_path / "all", Told())
    counts.write_bytes(whole)
    (shards_of(tmp_path / "all") / "plan.json").write_text("{")
    with pytest.raises(CorpusError, match=r"plan\.json is damaged"):
        merge(tmp_path / "all", Told())


def test_a_corpus_that_is_there_is_neither_built_nor_merged_again(files, tmp_path):
    for i in (1, 2):
        build_shard(files, options(files), tmp_path / "all", (i, 2), 1, Told())
    made = merge(tmp_path / "all", Told())
    for act in (
        lambda: merge(tmp_path / "all", Told()),
        lambda: build_shard(files, options(files), tmp_path / "all", (1, 2), 1, Told()),
    ):
        with pytest.raises(OutputError, match="is there already"):
            act()
    assert Corpus.open(tmp_path / "all").fingerprint == made.fingerprint


@pytest.mark.parametrize(
    ("sizes", "shards", "expected"),
    [
        ([1, 1, 1, 1], 2, [(0, 2), (2, 4)]),
        ([100, 1, 1, 1], 3, [(0, 1), (1, 2), (2, 4)]),
        ([1, 1, 1, 100], 3, [(0, 2), (2, 3), (3, 4)]),
        ([0, 0, 0], 3, [(0, 1), (1, 2), (2, 3)]),
        ([5], 1, [(0, 1)]),
        ([3, 3, 3, 3, 3], 2, [(0, 2), (2, 5)]),
    ],
)
def test_inputs_are_cut_into_runs_of_about_equal_size(sizes, shards, expected):
    assert cuts(sizes, shards) == expected


def test_numbers_are_listed_as_slurm_reads_them():
    assert listed([1]) == "1"
    assert listed([1, 2, 3, 7, 9, 10]) == "1-3,7,9-10"
