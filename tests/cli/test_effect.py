"""``sgmc effect``: how topics depend on columns, as table, JSON, CSV and picture; refusals."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from pysgrld.cli import main

from .conftest import SGMC, Sgmc

pytestmark = pytest.mark.cli

EFFECTS_IN_R = Path(__file__).parents[2] / "packaging/r/inst/extdata/effects.csv"
WORDS = [f"word{a}{b}" for a in "abcdefgh" for b in "vwxyz"]
TRAIN = ("--exact-sweeps", "40", "--max-df", "1.0", "--min-df", "1", "--stop-words", "none")
TRAIN += (
    "--alpha",
    "0.1",
    "-k",
    "3",
    "--set",
    "starts=1",
    "--iterations",
    "60",
    "--set",
    "warm-up=20",
    "--holdout",
    "20",
    "-q",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of documents whose words depend on party but not on a coin; a file has their years."""
    sgmc = Sgmc(tmp_path_factory.mktemp("effect"), (SGMC,))
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(40, 0.1), 3)
    with (
        (sgmc.folder / "posts.jsonl").open("w") as posts,
        (sgmc.folder / "years.csv").open("w") as years,
    ):
        years.write("id,year,place,session\n")
        for i in range(400):
            party = int(rng.integers(2))
            theta = rng.dirichlet([3.0, 1.0, 0.5] if party else [0.5, 1.0, 3.0])
            words = " ".join(WORDS[w] for w in rng.choice(40, 15, p=theta @ phi))
            of = {"party": ("dem", "rep")[party], "coin": int(rng.integers(2))}
            of["wing"] = of["party"] if i % 3 else "centre"
            posts.write(json.dumps({"id": f"p{i}", "text": words} | of) + "\n")
            year = "" if i == 7 else str(1990 + i % 20)
            years.write(f"p{i},{year},place{i},s{i % 25}\n")
    fields = ("--meta-field", "party,coin,wing")
    sgmc("train", "posts.jsonl", *fields, "--out", "posts", *TRAIN)
    return sgmc


def asked(run, *words):
    return json.loads(run("effect", "posts", *words, "--json", "-q").stdout)


def test_a_party_has_more_of_a_topic_and_a_coin_has_not(run):
    found = asked(run, "~ party + coin")
    party, coin = found["comparisons"]
    assert (party["column"], party["first"], party["second"]) == ("party", "dem", "rep")
    assert found["documents"] == 400
    assert sorted(t["surely"] for t in party["topics"]) == [-1, 0, 1]
    assert [t["surely"] for t in coin["topics"]] == [0, 0, 0]
    for topic in party["topics"]:
        told = topic["difference"]
        assert told["low"] < told["mean"] < told["high"]
    assert sum(t["first"]["mean"] for t in party["topics"]) == pytest.approx(1.0, abs=0.02)


def test_the_table_says_what_json_says(run):
    found = asked(run, "~ party", "--topics", "0,2")["comparisons"][0]["topics"]
    shown = run("effect", "posts", "~ party", "--topics", "0,2").stdout
    assert "party: from dem to rep" in shown
    for topic in found:
        told = topic["difference"]
        points = (
            f"{100 * told['mean']:+.1f} ({100 * told['low']:+.1f} to {100 * told['high']:+.1f})"
        )
        assert points in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_columns_of_a_file_count_too_and_documents_without_a_value_do_not(run):
    done = run(
        *("effect", "posts", "~ party * bs(year, df=4)", "--metadata", "years.csv"),
        *("--cluster", "session", "-o", "told.csv", "--plot", "told.png", "--json"),
    )
    found = json.loads(done.stdout)
    assert found["missing"] == 1
    assert "ignored 1 document without a value in party or year" in done.stderr
    assert [c["column"] for c in found["comparisons"]] == ["party", "year"]
    rows = list(csv.DictReader((run.folder / "told.csv").read_text().splitlines()))
    assert len(rows) == 6
    with EFFECTS_IN_R.open() as file:  # the R package reads the same columns from this file
        assert next(csv.reader(file)) == list(rows[0])
    first = found["comparisons"][0]["topics"][0]
    assert int(rows[0]["topic"]) == first["topic"]
    assert float(rows[0]["difference"]) == pytest.approx(first["difference"]["mean"], rel=1e-6)
    assert (run.folder / "told.png").read_bytes().startswith(b"\x89PNG")
    run("effect", "posts", "~ party", "-o", "told.csv", code=73)


def test_a_contrast_is_the_second_less_the_first(run):
    (usual,) = asked(run, "~ party")["comparisons"]
    (turned,) = asked(run, "~ party", "--contrast", "party=rep,dem")["comparisons"]
    for a, b in zip(usual["topics"], turned["topics"], strict=True):
        assert a["difference"]["mean"] == pytest.approx(-b["difference"]["mean"], abs=1e-6)


def test_a_column_of_three_values_is_one_table_the_largest_difference_first(run):
    """Red with: a table for each pair; topics by weight; a difference that is negative."""
    lines = run("effect", "posts", "~ wing").stdout.splitlines()
    assert sum(line.startswith("topic") for line in lines) == 1
    begin = next(i for i, line in enumerate(lines) if line.startswith("wing: 3 values"))
    rows = lines[begin + 2 : begin + 5]
    told = [float(row.partition("+")[2].split()[0]) for row in rows]
    assert told == sorted(told, reverse=True)
    assert any("dem - rep" in row or "rep - dem" in row for row in rows)
    assert "<0.001 *" in rows[0]
    facts = asked(run, "~ wing", "--reference", "centre")
    pairs = [(c["first"], c["second"]) for c in facts["comparisons"]]
    assert pairs == [("centre", "dem"), ("centre", "rep")]
    assert facts["tests"][0]["values"] == ["centre", "dem", "rep"]
    assert facts["tests"][0]["topics"][0]["p"] < 0.001


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("posts",), "FORMULA is missing"),
        (
            ("posts", "~ parti"),
            "the documents have no column 'parti'; the columns are 'party', 'coin', 'wing'",
        ),
        (("posts", "~ party +"), "Operator"),
        (("posts", "~ place", "--metadata", "years.csv"), "400 different texts"),
        (("posts", "~ party + coin + I(coin)"), "a combination of the terms before"),
        (("posts", "~ party", "--contrast", "party"), "give COLUMN=A,B"),
        (
            ("posts", "~ party", "--reference", "left"),
            "is not a value of a category column in the formula; the values are dem, rep",
        ),
        (("posts", "~ party", "--topics", "9"), "topics are 0 to 2"),
        (("posts", "~ party", "--cluster", "house"), "unknown column"),
        (("posts", "~ party", "-o", "told.txt"), "ends in .csv or .parquet"),
    ],
)
def test_a_mistake_gets_a_line(run, words, said):
    done = run("effect", *words, code=2)
    assert said in done.stderr
    assert done.stderr.count("sgmc: error") == 1


def test_without_its_corpus_a_run_tells_nothing(run):
    shutil.copytree(run.folder / "posts", run.folder / "gone")
    shutil.rmtree(run.folder / "gone" / "corpus")
    assert "so effects cannot be estimated" in run("effect", "gone", "~ party", code=66).stderr


# ---- columns that are kept by default


@pytest.fixture(scope="module")
def of_table(tmp_path_factory):
    """A run on a CSV file with columns that no option names, and the file."""
    folder = tmp_path_factory.mktemp("table")
    rows = ["title,text,party,day"]
    for i in range(60):
        of = "tax budget spending debt" if i % 2 else "school teacher pupil lesson"
        rows.append(
            f"letter {i},{of} {of} people,{'left' if i % 2 else 'right'},2020-01-{1 + i % 28:02}"
        )
    (folder / "letters.csv").write_text("\n".join(rows) + "\n")
    typed = [
        "train",
        str(folder / "letters.csv"),
        "-k",
        "2",
        "--iterations",
        "60",
        "--set",
        "starts=1",
    ]
    typed += ["--set", "burn-in=10", "--max-df", "1.0", "--holdout", "0", "-q"]
    done = CliRunner().invoke(main, [*typed, "--out", str(folder / "run")])
    assert done.exit_code == 0, done.output
    return folder


def test_columns_of_a_table_need_no_option(of_table):
    """`effect` and `topics --by` have them without an option. Red with: meta-field none by default."""
    run = str(of_table / "run")
    done = CliRunner().invoke(main, ["effect", run, "~ party", "--json", "-q"])
    assert done.exit_code == 0, done.output
    (comparison,) = json.loads(done.stdout)["comparisons"]
    shares = CliRunner().invoke(main, ["topics", run, "--by", "party", "--json", "-q"])
    groups = json.loads(shares.stdout)
    assert groups["groups"]["levels"] == [comparison["first"], comparison["second"]]
    by_group = {row["topic"]: row["groups"] for row in groups["topics"]}
    for topic in comparison["topics"]:
        for name, group in zip(("first", "second"), by_group[topic["topic"]], strict=True):
            assert topic[name]["mean"] == pytest.approx(
                group["documents"]["share"]["mean"], abs=0.02
            )
    lent = CliRunner().invoke(
        main,
        ["effect", run, "~ party", "--json", "-q", "--metadata", str(of_table / "letters.csv")],
    )
    assert json.loads(lent.stdout)["comparisons"] == [comparison]


def test_topics_and_exports_take_columns_of_a_file(of_table, tmp_path):
    """Red with: an option of one command alone, or a file whose columns are not joined."""
    table, run = tmp_path / "age.csv", str(of_table / "run")
    table.write_text("age\n" + "".join(f"{'old' if i % 2 else 'new'}\n" for i in range(60)))
    lent = ["--metadata", str(table)]
    shares = CliRunner().invoke(main, ["topics", run, "--by", "age", "--json", "-q", *lent])
    assert json.loads(shares.output)["groups"]["levels"] == ["new", "old"]
    typed = ["export", run, "--to", "csv", "-o", str(tmp_path / "out"), "-q", *lent]
    assert CliRunner().invoke(main, typed).exit_code == 0
    with (tmp_path / "out" / "documents.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["age"] for row in rows[:3]] == ["new", "old", "new"]
    assert [row["party"] for row in rows[:3]] == ["right", "left", "right"]


def test_a_file_has_columns_of_books_that_were_split_into_pieces(tmp_path):
    """Red with: the stored pieces read as texts to split again, which is refused."""
    rng, books, run = np.random.default_rng(1), tmp_path / "books", str(tmp_path / "run")
    books.mkdir()
    for name in ("1811_a", "1815_b"):
        text = " ".join(f"word{i}." for i in rng.integers(0, 30, 900).tolist())
        (books / f"{name}.txt").write_text(text + "\n")
    table = tmp_path / "houses.csv"
    table.write_text("file,house\n1811_a,egerton\n1815_b.txt,murray\n")
    quick = ["--algo", "ovb", "-k", "2", "--iterations", "3", "--max-df", "1.0", "--chunk", "100"]
    typed = ["train", str(books), "--out", run, "-q", *quick]
    assert CliRunner().invoke(main, typed).exit_code == 0
    typed = ["topics", run, "--by", "house", "--json", "-q", "--metadata", str(table)]
    shares = CliRunner().invoke(main, typed)
    assert shares.exit_code == 0, shares.output
    assert json.loads(shares.stdout)["groups"]["levels"] == ["egerton", "murray"]
    # Pieces of a book are not independent. Red with: pieces as the units of chance.
    answer = CliRunner().invoke(main, ["effect", run, "~ house", "-q", "--metadata", str(table)])
    assert "18 documents (chunks of 2 whole documents)" in answer.stdout
    assert "other whole documents like these" in " ".join(answer.stdout.split())


def test_a_page_groups_by_them_and_keeps_its_texts(of_table, tmp_path):
    """Red with: words alone of documents whose columns another file lends."""
    facts = tmp_path / "facts.json"
    typed = ["report", str(of_table / "run"), "--by", "party", "--json", str(facts)]
    done = CliRunner().invoke(main, [*typed, "-o", str(tmp_path / "page.html")])
    assert done.exit_code == 0, done.output
    found = json.loads(facts.read_text())
    assert [column["levels"] for column in found["columns"]] == [["left", "right"]]
    assert found["texts"] == "kept"
    assert "tax budget" in found["docs"]["records"][1]["text"]


def test_the_page_has_the_effects_of_the_command(of_table, tmp_path):
    """Red with: effects of other documents; a view on pages that nobody asked to have one."""
    run, facts, table = str(of_table / "run"), tmp_path / "facts.json", tmp_path / "effects.csv"
    typed = ["report", run, "--effect", "~ party + day", "--json", str(facts)]
    done = CliRunner().invoke(main, [*typed, "-o", str(tmp_path / "page.html")])
    assert done.exit_code == 0, done.output
    found = json.loads(facts.read_text())
    done = CliRunner().invoke(main, ["effect", run, "~ party + day", "-o", str(table), "-q"])
    assert done.exit_code == 0, done.output
    with table.open() as file:
        rows = list(csv.DictReader(file))
    mine = {
        (each["column"], row[0]): row[5]
        for each in found["effects"]["compared"]
        for row in each["topics"]
    }
    theirs = {(row["column"], int(row["topic"])): float(row["difference"]) for row in rows}
    assert mine == pytest.approx(theirs, abs=1e-5)
    assert {"Predicted share", "Surely more, surely less"} <= {d["name"] for d in found["method"]}
    assert "effectsPage" in (tmp_path / "page.html").read_text()
    plain = CliRunner().invoke(main, ["report", run, "-o", str(tmp_path / "plain.html"), "-q"])
    assert plain.exit_code == 0
    assert "effectsPage" not in (tmp_path / "plain.html").read_text()
