"""Documents' names on the command line: kept by training, shown, written, taken out again."""

import csv
import json

import pytest
from click.testing import CliRunner

from pysgrld.cli import main
from pysgrld.corpus import Corpus

pytestmark = pytest.mark.cli


@pytest.fixture
def sgmc(tmp_path, monkeypatch):
    """The command, in a folder with twenty posts."""
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
    assert "an array has no room for fields" in done.stderr


def test_info_says_what_is_kept_and_drop_text_takes_texts_out(sgmc, tmp_path):
    build = ("corpus", "build", "posts.jsonl", "--min-df", 1, "--max-df", "1.0", "-q")
    sgmc(*build, "-o", "posts", "--meta-field", "year,subject:string")
    shown = sgmc("corpus", "info", "posts").stdout
    for line in ("texts kept  20 documents", "integer  year", "string  subject"):
        assert line in shown
    figures = json.loads(sgmc("corpus", "info", "--json", "posts").stdout)
    assert figures["columns"][0] == {"name": "year", "kind": "integer", "missing": 0}
    assert "taken out" in sgmc("corpus", "drop-text", "posts").stderr
    assert "texts kept" not in sgmc("corpus", "info", "posts", "--verify").stdout
    sgmc("corpus", "drop-text", "nowhere", code=66)
    done = sgmc(*build, "-o", "x", "--meta-field", "year,nix", code=65)
    assert "no document has a field 'nix' (--meta-field)" in done.stderr
    sgmc(*build, "-o", "x", "--meta-field", "year,all", code=2)
    sgmc(*build, "-o", "x", "--metadata", "nowhere.csv", code=66)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["posts", "posts.jsonl"]
