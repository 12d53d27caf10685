"""``sgmc effect``: what is asked of a run, and how it is shown and written."""

import csv
import json

import numpy as np
import pytest

from pysgrld.cli import main
from pysgrld.effects import effect

pytestmark = pytest.mark.cli


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run on documents of two parties, of which one speaks of a theme of its own in later years."""
    place, rng = tmp_path_factory.mktemp("effect"), np.random.default_rng(6)
    lines = []
    for n in range(120):
        party, year = "dem" if n % 2 else "rep", 1990 + n // 6
        own = rng.random() < (0.8 if party == "dem" else 0.2)
        words = rng.integers(0, 15, 40) + (15 if own else 0)
        text = " ".join(f"w{w}" for w in words)
        lines.append({"text": text, "party": party, "year": year, "speaker": f"s{n % 30}"})
    (place / "corpus.jsonl").write_text("\n".join(map(json.dumps, lines)))
    kept = "party,year:integer,speaker"
    asked = ("-k", 2, "--algo", "gibbs", "--iterations", 80, "--burn-in", 20, "--sample-every", 2)
    run("train", place / "corpus.jsonl", *asked, "--meta-field", kept, "--out", place / "r", "-q")
    return place


def run(*args, code=0):
    with pytest.raises(SystemExit) as ended:
        main([str(a) for a in args])
    assert (ended.value.code or 0) == code


def test_what_differs_is_shown_written_and_drawn(folder, tmp_path, capsys):
    """Red with: another sign; a table without its names."""
    table, picture = tmp_path / "e.csv", tmp_path / "e.png"
    run("effect", folder / "r", "~ party + year", "-o", table, "--plot", picture)
    shown = capsys.readouterr().out
    assert "120 documents" in " ".join(shown.split())
    assert "rep - dem" in shown
    assert "more" in shown
    assert "90 % interval" in shown
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert {row["what"] for row in rows} == {"share", "difference"}
    sure = [row for row in rows if row["label"] == "rep - dem"]
    assert sorted(float(row["surely"]) for row in sure) == [-1, 1]
    assert all(abs(abs(float(row["mean"])) - 0.6) < 0.2 for row in sure)
    assert all(row["name"] for row in rows)
    assert picture.read_bytes()[:4] == b"\x89PNG"
    run("effect", folder / "r", "~ party", "-o", table, code=73)
    capsys.readouterr()
    run("effect", folder / "r", "~ party", "--json", "--topics", "1")
    found = json.loads(capsys.readouterr().out)
    assert found["interval_of"] == "posterior"
    assert {each["topic"] for each in found["effects"]} == {1}


def test_python_gives_a_table(folder):
    """The same figures as the command's, with the names of topics."""
    found = effect(folder / "r", "~ party", contrasts={"party": ("rep", "dem")}, threads=1)
    frame = found.frame()
    assert list(frame.columns[:5]) == ["topic", "name", "column", "what", "label"]
    assert set(frame["label"]) == {"rep", "dem", "dem - rep"}
    assert frame["mean"].between(-1, 1).all()
    plain = effect(folder / "r", "~ party", cluster="speaker", threads=1)
    alone = effect(folder / "r", "~ party", threads=1)
    assert [e.mean for e in plain.effects] == [e.mean for e in alone.effects]
    assert [e.low for e in plain.effects] != [e.low for e in alone.effects]


def test_columns_may_come_from_a_file(folder, tmp_path, capsys):
    with (tmp_path / "more.csv").open("w") as file:
        file.write("id,half\n" + "".join(f"{n + 1},{'ab'[n % 2]}\n" for n in range(120)))
    run("effect", folder / "r", "~ half", "--metadata", tmp_path / "more.csv")
    assert "b - a" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("~ colour",), 2, "no such column; its columns are 'party', 'year', 'speaker'"),
        (("~ party", "--topics", "7"), 2, "topics are 0 to 1"),
        (("~ party", "--contrast", "party"), 2, "is not COLUMN=VALUE,VALUE"),
        (("~ party", "--cluster", "colour"), 2, "--cluster 'colour'"),
        (("~ party", "-o", "x.txt"), 2, "ends in .csv or .parquet"),
        (("~ party", "--plot", "x.jpg"), 2, "ends in .png"),
        (("~ party", "more", "yet"), 2, "is too many"),
    ],
)
def test_what_cannot_be_is_one_line(folder, capsys, args, code, said):
    run("effect", folder / "r", *args, code=code)
    lines = capsys.readouterr().err.splitlines()
    assert said in lines[-1]


def test_a_corpus_that_is_gone_is_said(folder, tmp_path, capsys):
    import shutil

    shutil.copytree(folder / "r", tmp_path / "r")
    shutil.rmtree(tmp_path / "r" / "corpus")
    run("effect", tmp_path / "r", "~ party", code=66)
    assert "nothing can be told of its documents" in capsys.readouterr().err
