"""Documents' names on the command line: stored in training, shown, exported, and removed."""

import csv
import json

import pytest
from click.testing import CliRunner

from pysgrld.cli import main
from pysgrld.corpus import Corpus

pytestmark = pytest.mark.cli


@pytest.fixture
def sgmc(tmp_path, monkeypatch):
    """The command in a folder with twenty posts."""
    monkeypatch.chdir(tmp_path)
    records = [
        {
            "id": f"=p{i}",
            "subject": f"S{i}",
            "year": 1990 + i,
            "text": "king lord " * 3 + "god son" * (i % 3),
        }
        for i in range(20)
    ]
    (tmp_path / "posts.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))

    def run(*args, code=0):
        done = CliRunner().invoke(main, [str(a) for a in args], prog_name="sgmc")
        assert done.exit_code == code, done.output
        return done

    return run


TRAIN = ("train", "posts.jsonl", "-k", 2, "--min-df", 1, "--max-df", "1.0", "--holdout", 0, "-q")


def test_a_run_keeps_names_and_what_is_inferred_has_them(sgmc, tmp_path):
    """Red with: a run that goes on with the names that it has, whatever is asked for."""
    sgmc(*TRAIN, "--iterations", 3, "--out", "run")
    assert Corpus.open(tmp_path / "run/corpus").about.titles([1]) == ["=p1"]
    named = ("--title-field", "subject", "--meta-field", "year", "--keep-text", "none")
    sgmc(*TRAIN, "--iterations", 4, "--out", "run", *named)
    about = Corpus.open(tmp_path / "run/corpus").about
    assert (about.titles([1]), about.values("year", [1])) == (["S1"], [1991])
    assert not about.has_texts

    sgmc("infer", "run", "posts.jsonl", "--keep-field", "year,nix", "-o", "t.csv", "-q")
    rows = list(csv.reader((tmp_path / "t.csv").read_text().splitlines()))
    assert rows[0] == ["id", "year", "nix", "topic0", "topic1"]
    assert rows[2][:3] == ["'=p1", "1991", ""]
    done = sgmc("infer", "run", "posts.jsonl", "--keep-field", "year", "--id-field", "subject")
    assert json.loads(done.stdout.splitlines()[3])["id"] == "S3"
    assert json.loads(done.stdout.splitlines()[3])["fields"] == {"year": 1993}
    done = sgmc("infer", "run", "posts.jsonl", "--keep-field", "year", "-o", "t.npy", code=2)
    assert "an .npy file cannot store fields" in done.stderr


def test_info_says_what_is_kept_and_drop_text_takes_texts_out(sgmc, tmp_path):
    build = ("corpus", "build", "posts.jsonl", "--min-df", 1, "--max-df", "1.0", "-q")
    sgmc(*build, "-o", "posts", "--meta-field", "year,subject:string")
    shown = sgmc("corpus", "info", "posts").stdout
    for line in ("texts kept  20 documents", "integer  year", "string  subject"):
        assert line in shown
    figures = json.loads(sgmc("corpus", "info", "--json", "posts").stdout)
    assert figures["columns"][0] == {"name": "year", "kind": "integer", "missing": 0}
    assert "deleted" in sgmc("corpus", "drop-text", "posts").stderr
    assert "texts kept" not in sgmc("corpus", "info", "posts", "--verify").stdout
    sgmc("corpus", "drop-text", "nowhere", code=66)
    done = sgmc(*build, "-o", "x", "--meta-field", "year,nix", code=65)
    assert "no document has a field 'nix' (--meta-field)" in done.stderr
    sgmc(*build, "-o", "x", "--meta-field", "year,all", code=2)
    sgmc(*build, "-o", "x", "--metadata", "nowhere.csv", code=66)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["posts", "posts.jsonl"]


def test_a_corpus_is_built_in_shards_and_merged(sgmc, tmp_path):
    """Red with: ``--shard`` that is parsed and not used."""
    for i in range(3):
        (tmp_path / f"part-{i}.txt").write_text("red blue green\nblue white red\n" * (i + 1))
    (tmp_path / "words.txt").write_text("red\nblue\ngreen\nwhite\n")
    command = ["corpus", "build", *(f"part-{i}.txt" for i in range(3)), "--vocab", "words.txt"]
    for i in (2, 1):
        assert "sgmc corpus build" not in sgmc(*command, "-o", "all", "--shard", f"{i}/2").stderr
    sgmc("corpus", "merge", "all")
    sgmc(*command, "-o", "one")
    assert Corpus.open("all").fingerprint == Corpus.open("one").fingerprint
    sgmc(*command, "-o", "other", "--shard", "3/2", code=2)
    sgmc("corpus", "merge", "other", code=66)


@pytest.mark.parametrize("built", [False, True])
def test_new_documents_are_read_as_those_of_training_were(sgmc, tmp_path, built):
    """Also of a stored corpus. Red with: the defaults of options; rows of lines and of whole letters."""
    letters = tmp_path / "letters"
    letters.mkdir()
    for i in range(12):
        text = "king lörd.\n\n" * 8 + "god son. " * 8 * (i % 3)
        (letters / f"{i}.txt").write_bytes(text.encode("latin-1"))
    reading = ("--chunk", 8, "--encoding", "latin-1", "--min-df", 1, "--max-df", "1.0")
    corpus, given = "letters", reading
    if built:
        sgmc("corpus", "build", "letters", "-o", "stored", *reading)
        corpus, given = "stored", ()
    sgmc("train", corpus, *TRAIN[2:4], *given, "--holdout", 0, "--iterations", 3, "--out", "run")
    done = sgmc("infer", "run", letters / "2.txt")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["id"] for row in rows] == [f"2.txt#{i}" for i in range(1, 7)]
    assert [row["tokens"] for row in rows] == [8] * 6
    assert "1 long document split into 6 pieces of about 8 words (--chunk none" in done.stderr
    done = sgmc("infer", "run", letters / "2.txt", "--document-is", "line", "--chunk", "none", "-q")
    assert len(done.stdout.splitlines()) == 17


def test_documents_for_a_stored_corpus_are_cut_to_words_and_fields_as_it_was(sgmc, tmp_path):
    """Held-out ones too, and of a sample of a sample. Red with: the tokeniser and fields by default."""

    def put(name, texts):
        rows = [{"key": f"{name}{i}", "body": text, "text": "red"} for i, text in enumerate(texts)]
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    put("some.jsonl", ["red-hot white-hot", "red-hot ice-cold ice-cold"] * 12)
    put("new.jsonl", ["ice-cold red-hot red", "none"])
    reading = ("--token-pattern", r"\w+-\w+", "--text-field", "body", "--id-field", "key")
    whole = ("--min-df", 1, "--max-df", "1.0")
    sgmc("corpus", "build", "some.jsonl", "-o", "whole", *reading, *whole)
    sgmc("corpus", "sample", "whole", "-n", 20, "-o", "most")
    sgmc("corpus", "sample", "most", "-n", 16, "-o", "fewer")
    train = ("train", "fewer", "-k", 2, "--iterations", 3)
    sgmc(*train, "--holdout-corpus", "new.jsonl", "--out", "run")
    rows = [json.loads(row) for row in sgmc("infer", "run", "new.jsonl").stdout.splitlines()]
    assert [(row["id"], row["tokens"]) for row in rows] == [("new.jsonl0", 2), ("new.jsonl1", 0)]
    said = sgmc("infer", "run", "new.jsonl", "--text-field", "text", "--id-field", "text").stdout
    assert [json.loads(row)["id"] for row in said.splitlines()] == ["red", "red"]


def test_results_are_joined_to_the_table_by_the_id(sgmc, tmp_path):
    """Exports, inferred rows, JSON and the page; held-out documents too, and quoted line breaks.

    Red with: the line of a record for its id, by which `iloc` gives other rows without an error.
    """
    pd = pytest.importorskip("pandas")
    rows = [f'"w{i}\n\nking ""lord"" god",{i % 2}' for i in range(30)]
    rows[7] = '"",0'
    (tmp_path / "posts.csv").write_text("text,group\n" + "\n".join(rows) + "\n")
    table = pd.read_csv(tmp_path / "posts.csv")
    whole = ("--min-df", 1, "--max-df", "1.0", "--numbers", "keep", "--meta-field", "group")
    sgmc("train", "posts.csv", "-k", 2, *whole, "--holdout", 5, "--iterations", 3, "--out", "run")

    sgmc("export", "run", "--to", "csv", "-o", "out")
    documents = pd.read_csv(tmp_path / "out/documents.csv")
    assert len(documents) == 29
    assert documents["held_out"].sum() == 5
    assert documents["id"].is_unique
    joined = table.iloc[documents["id"] - 1]
    assert joined["group"].tolist() == documents["group"].tolist()
    assert (joined["text"].str.startswith("w")).all()

    sgmc("infer", "run", "posts.csv", "--keep-field", "group", "-o", "theta.csv", "-q")
    inferred = pd.read_csv(tmp_path / "theta.csv")
    assert inferred["id"].tolist() == list(range(1, 31))
    assert inferred["group"].tolist() == table["group"].tolist()

    table[["group"]].to_csv(tmp_path / "groups.csv", index=False)
    own = ("--metadata", "groups.csv", "--meta-field", "group", "-o", "stored", "-q")
    sgmc("corpus", "build", "posts.csv", *whole[:-2], *own)
    sgmc("infer", "run", "stored", "--keep-field", "group", "-o", "stored.csv", "-q")
    assert pd.read_csv(tmp_path / "stored.csv")["group"].tolist() == documents["group"].tolist()

    sgmc("report", "run", "-o", "page.html", "--json", "page.json")
    shown = json.loads((tmp_path / "page.json").read_text())["docs"]
    assert {documents["id"][row] for row in shown["row"]} == set(map(int, shown["id"]))
