"""Names in corpora that are made of others, read by others, damaged, or of an earlier release."""

from __future__ import annotations

import hashlib
import json
import zipfile

import numpy as np
import pytest
import zstandard
from named_corpora import build, every, files_about, lines_of

from pysgrld.corpus import Corpus
from pysgrld.corpus.build import copy_parts, drop_text, sample
from pysgrld.corpus.store import describe
from pysgrld.errors import CorpusError

# ---- corpora that are made of others


@pytest.fixture
def stored(tmp_path):
    records = [
        {"text": f"both w{i}" if i else "alone", "id": f"d{i}", "g": "xy"[i % 2], "n": i}
        for i in range(20)
    ]
    return build(
        tmp_path, lines_of(tmp_path / "x.jsonl", records), meta_field="g,n:real", name="of"
    )


def test_a_sample_carries_names_along(stored, tmp_path):
    cut = sample(stored, 7, 0, tmp_path / "cut").about
    numbers = cut.values("n", range(7))
    assert [int(key[1:]) for key in cut.ids(range(7))] == numbers
    assert cut.texts(range(7)) == [f"both w{int(n)}" if n else "alone" for n in numbers]
    assert [origin.row for origin in cut.origins(range(7))] == [n + 1 for n in numbers]
    assert [column.kind for column in cut.columns] == ["category", "real"]


def test_a_stored_corpus_that_is_pruned_or_joined_to_another_keeps_names(stored, tmp_path):
    more = build(
        tmp_path, lines_of(tmp_path / "y.jsonl", [{"text": "both", "id": "e"}]), name="more"
    )
    both = build(tmp_path, stored.path, more.path, name="both", min_df=2)
    assert both.about.ids(every(both)) == [f"d{i}" for i in range(1, 20)] + ["e"]
    assert both.about.values("g", [0, 18, 19]) == ["y", "y", None]
    assert both.about.origins([0, 19]) == [("x.jsonl", 2, 2), ("y.jsonl", 1, 1)]
    assert both.about.texts([0, 19]) == ["both w1", "both"]


def test_any_reader_of_archives_has_names_and_texts(stored):
    """Red with: a member whose header says another size; members that are compressed."""
    with np.load(stored.path / "documents.npz") as archive:
        found = dict(archive)
    assert found["origin-row"].tolist() == list(range(1, 21))
    assert found["c0.utf8"] == b"".join(b"d%d" % i for i in range(20))
    assert found["c0.ends"].tolist() == np.cumsum([2] * 10 + [3] * 10).tolist()
    assert found["c1.codes"].tolist() == [0, 1] * 10
    assert found["c1.values.jsonl"] == b'"x"\n"y"\n'
    assert found["c2"].tolist() == [*map(float, range(20))]
    assert json.loads(found["columns.json"])["texts"] == 20
    with np.load(stored.path / "texts.npz") as archive:
        whole = zstandard.ZstdDecompressor().decompress(archive["text.zst"], 2**16)
        assert whole.startswith(b"alone" + b"both w1" + b"both w2")
        assert archive["ends"][-1] == archive["frames"][-1] == len(whole)
        assert archive["rows"].tolist() == list(range(20))


def test_a_copy_has_the_same_files(stored, tmp_path):
    copy_parts(stored.path, tmp_path / "copy", link=True)
    copied = Corpus.open(tmp_path / "copy")
    assert files_about(copied) == files_about(stored)
    assert copied.about.ids([3]) == ["d3"]


def test_texts_are_taken_out_and_nothing_else(stored, tmp_path):
    """Red with: files left behind; the copy of a run emptied through its hard links."""
    copy_parts(stored.path, tmp_path / "copy", link=True)
    assert drop_text(stored.path) > 0
    found = Corpus.open(stored.path)
    found.verify()
    assert (found.about.has_texts, found.about.texts([3]), found.about.ids([3])) == (
        False,
        [None],
        ["d3"],
    )
    assert found.fingerprint == stored.fingerprint
    assert not list(stored.path.rglob("text*"))
    assert drop_text(stored.path) == 0
    assert Corpus.open(tmp_path / "copy").about.texts([3]) == ["both w3"]


def test_figures_say_which_columns_and_texts_are_kept(stored):
    found = describe(stored)
    assert [column["name"] for column in found["columns"]] == ["g", "n"]
    assert found["texts"]["documents"] == 20
    with np.load(stored.path / "texts.npz") as archive:
        assert found["texts"]["bytes"] == len(archive["text.zst"])
    assert (found["ids"], found["titles"]) == (True, False)


# ---- damage, and corpora without names


@pytest.mark.parametrize("how", ["cut", "changed", "missing"])
def test_a_damaged_column_is_bad_input(stored, how):
    """Red with: parts that nobody looks at."""
    for name in sorted(Corpus.open(stored.path).parts):
        path = stored.path / name
        data = path.read_bytes()
        path.unlink()
        if how != "missing":
            path.write_bytes(data[:-1] if how == "cut" else data[:-1] + bytes([data[-1] ^ 1]))
        with pytest.raises(CorpusError, match=f"damaged.*{name}"):
            Corpus.open(stored.path).about  # noqa: B018
        path.write_bytes(data)
    assert Corpus.open(stored.path).about.ids([0]) == ["d0"]


@pytest.mark.parametrize("levels", [b'"x"\n"y \n', b'"x"\n[1]\n'])
def test_levels_that_are_no_texts_are_bad_input(stored, levels):
    """With a digest that agrees. Red with: JSON of an archive that is believed (70)."""
    path, record = stored.path / "documents.npz", stored.path / "meta.json"
    path.write_bytes(path.read_bytes().replace(b'"x"\n"y"\n', levels))
    meta = json.loads(record.read_text())
    meta["parts"][path.name] = {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    record.write_text(json.dumps(meta))
    about = Corpus.open(stored.path).about
    with pytest.raises(CorpusError, match=r"documents\.npz was changed"):
        about.values("g", range(20))


def _compressed(path):
    with np.load(path) as archive:
        np.savez_compressed(path.with_name("new"), **{n: archive[n] for n in ("c2", "origin-row")})


def _rewritten(path, change):
    """Write the members of an archive again, each as a change of its name and bytes has it."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(path.with_name("new.npz"), "w") as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))


FORGED = {
    "no archive": lambda path: path.with_name("new.npz").write_bytes(b"PK\3\4" + bytes(99)),
    "compressed": _compressed,
    "no columns": lambda path: _rewritten(
        path, lambda name, data: data[: 9 * ("json" not in name)]
    ),
    "cut vectors": lambda path: _rewritten(
        path, lambda name, data: data[:-8] if name.endswith("npy") else data
    ),
    "other vectors": lambda path: _rewritten(path, lambda name, data: data.replace(b"<i8", b"<f8")),
    "other columns": lambda path: _rewritten(
        path, lambda name, data: data.replace(b'"file": "c', b'"file": "../c')
    ),
    "columns without names": lambda path: _rewritten(
        path, lambda name, data: data.replace(b'"name": ', b'"namex": ')
    ),
    "another kind": lambda path: _rewritten(
        path, lambda name, data: data.replace(b'"kind": "category"', b'"kind": "integers"')
    ),
    "another number": lambda path: _rewritten(
        path, lambda name, data: data.replace(b'"missing": 0', b'"missing": []')
    ),
}


@pytest.mark.parametrize("how", FORGED)
def test_an_archive_that_is_none_of_ours_is_bad_input(stored, how):
    """Red with: an error of `zipfile` that nobody catches; members that are read as they are packed."""
    FORGED[how](stored.path / "documents.npz")
    (stored.path / "new.npz").rename(stored.path / "documents.npz")
    meta = json.loads((stored.path / "meta.json").read_text())
    data = (stored.path / "documents.npz").read_bytes()
    meta["parts"]["documents.npz"]["sha256"] = hashlib.sha256(data).hexdigest()
    (stored.path / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(CorpusError, match=r"damaged.*documents\.npz"):
        Corpus.open(stored.path).about.ids([0])


def test_a_list_of_parts_names_no_other_file(stored, tmp_path):
    meta = json.loads((stored.path / "meta.json").read_text())
    meta["parts"]["../secret"] = {}
    (stored.path / "meta.json").write_text(json.dumps(meta))
    (tmp_path / "secret").write_text("x")
    with pytest.raises(CorpusError, match="damaged"):
        Corpus.open(stored.path).about  # noqa: B018
    (tmp_path / "copies").mkdir()
    copy_parts(stored.path, tmp_path / "copies" / "of")
    assert not (tmp_path / "copies" / "secret").exists()


def test_rows_that_are_not_there_are_refused(stored):
    with pytest.raises(IndexError, match="must be below 20, from 0"):
        stored.about.ids([20])
