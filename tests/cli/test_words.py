"""Words of topics are the same, in the same order, in every output."""

import csv
import json
import re

import h5py
import numpy as np
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from pysgrld import LDA
from pysgrld.cli import main, progress
from pysgrld.reading.results import Results
from pysgrld.report.compare import compare
from pysgrld.report.making import report
from pysgrld.report.topic_words import names_of

pytestmark = pytest.mark.cli
K, V = 5, 80


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two runs on documents of sixty words, ten of which are frequent in every topic."""
    folder = tmp_path_factory.mktemp("words")
    rng = np.random.default_rng(4)
    topics = rng.dirichlet(np.full(V, 0.1), K)
    topics[:, :10] = 0.06
    topics /= topics.sum(axis=1, keepdims=True)
    lines = [
        " ".join(f"w{w}" for w in rng.choice(V, 60, p=rng.dirichlet([0.2] * K) @ topics))
        for _ in range(120)
    ]
    (folder / "corpus.txt").write_text("\n".join(lines))
    for seed, name in enumerate("ab"):
        typed = ["train", str(folder / "corpus.txt"), "-k", str(K), "--iterations", "60", "-q"]
        typed += ["--set", "burn-in=30", "--set", "samples=5", "--min-df", "1", "--max-df", "1.0"]
        typed += ["--seed", str(seed + 1), "--out", str(folder / name), "--stop-words", "none"]
        done = CliRunner().invoke(main, typed)
        assert done.exit_code == 0, done.output
    return folder


def shown(*typed, columns="80"):
    done = CliRunner().invoke(
        main, [*map(str, typed)], env={"COLUMNS": columns}, catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    return done.stdout


def printed(text):
    """Return the words of each topic from a table with one line per topic."""
    lines = re.findall(r"^ *(\d+) +[\d.]+ % .*?((?: w\d+)+)(.*)$", text, re.MULTILINE)
    return {int(k): words.split() for k, words, _ in lines}


@pytest.mark.parametrize(
    "order",
    # the others by day: tests/unit/test_word_order.py
    [
        None,
        "frex",
        *(pytest.param(o, marks=pytest.mark.nightly) for o in ("probable", "relevance:0.3")),
    ],
)
def test_all_outputs_show_the_same_words_in_the_same_order(made, tmp_path, order):
    """Red with: an output that orders words by itself."""
    run, typed = made / "a", [] if order is None else ["--words", order]
    told = json.loads(shown("topics", run, "--json", "--top", "8", *typed))
    words = {t["id"]: [w["word"] for w in t["words"]] for t in told["topics"]}
    assert told["word_order"] == (order or "distinctive")
    assert printed(shown("topics", run, "--top", "8", *typed, columns="100")) == words
    page = report(run, words=order).facts["topics"]
    assert {t["id"]: t["top"][:8] for t in page} == words
    shown("export", run, "--to", "csv", "-o", tmp_path / "csv", "--top", "8", *typed)
    with (tmp_path / "csv" / "topic-words.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {k: [r["word"] for r in rows if int(r["topic"]) == k] for k in range(K)} == words
    table = shown("export", run, "--to", "parquet", "-o", tmp_path / "p", "--top", "8", *typed)
    table = parquet.read_table(tmp_path / "p" / "topic-words.parquet").to_pydict()
    for k in range(K):
        assert [w for t, w in zip(table["topic"], table["word"], strict=True) if t == k] == words[k]
    shown("export", run, "--to", "arviz", "-o", tmp_path / "draws", "--top", "8", *typed)
    with h5py.File(tmp_path / "draws" / "draws.nc") as draws:
        union = {w.decode() for w in draws["posterior/word"][:]}
    assert union == {w for row in words.values() for w in row}
    shown("report", run, "-o", tmp_path / "page.html", "--json", tmp_path / "facts.json", *typed)
    page = json.loads((tmp_path / "facts.json").read_text())["topics"]
    assert {t["id"]: t["top"][:8] for t in page} == words
    model = LDA.load(run)
    assert dict(enumerate(model.top_words(8, order=order))) == words
    frame = model.topics_frame(8, order=order)
    assert [list(some["word"]) for _, some in frame.groupby("topic")] == [*words.values()] or [
        list(some["word"]) for _, some in frame.groupby("topic")
    ] == [words[k] for k in range(K)]
    found = compare(run, made / "b", top=8, order=order)
    for topic in found.topics:
        if topic.kind == "same" and len(topic.left) == 1:
            own = words[topic.left[0]]
            alone = [w.word for w in topic.only_left]
            assert [w for w in own if w in topic.both] == list(topic.both)
            assert [w for w in own if w in alone] == alone
            assert set(topic.both) | set(alone) == set(own)
    results = Results(run, 1)
    if order is None:
        heads = set()
        for k, name in names_of(results, 0).items():
            assert set(name.split(" · ")) <= set(words[k])
            heads.add(name.split(" · ")[0])
        assert len(heads) == K
        lines = progress._first_topics(run)
        assert lines[0].endswith("distinctive words")
        assert {int(line.split()[0]): re.findall(r"w\d+", line) for line in lines[1:]} == words
        table = re.findall(r"<tr><th.*?>(.*?)</th><td.*?>(.*?)</td></tr>", model._repr_html_())
        html = {i: re.findall(r">(w\d+)</span>", row) for i, (_, row) in enumerate(table)}
        assert {k: row[:8] for k, row in html.items()} == words


def test_words_that_all_topics_have_are_not_first(made):
    """Red with: probable words by default."""
    model, common = LDA.load(made / "a"), {f"w{i}" for i in range(10)}
    first, probable = (
        [w in common for row in model.top_words(5, order=order) for w in row]
        for order in (None, "probable")
    )
    assert sum(first) <= 4 < 8 < sum(probable)


def test_probabilities_stay_those_of_the_words(made):
    """Red with: scores shown in their place."""
    topics = json.loads(shown("topics", made / "a", "--json"))["topics"]
    model = LDA.load(made / "a")
    place = {w: i for i, w in enumerate(model.feature_names_in_)}
    for topic in topics:
        for word in topic["words"] + topic["probable_words"]:
            p = model.components_[topic["id"], place[word["word"]]]
            assert word["probability"] == pytest.approx(p)
        p = [word["probability"] for word in topic["probable_words"]]
        assert p == sorted(p, reverse=True)


def test_topics_show_their_distinctiveness(made):
    """Red with: all words counted for the first ten, or a column in another place than its heading."""
    model = LDA.load(made / "a")
    exclusive = model.components_ / model.components_.sum(axis=0)
    place = {w: i for i, w in enumerate(model.feature_names_in_)}
    lines = shown("topics", made / "a", "--top", "4", columns="100").splitlines()
    end = next(line for line in lines if "distinct  " in line).index("distinct") + len("distinct")
    ten = model.top_words(10)
    for topic in json.loads(shown("topics", made / "a", "--json", "--top", "4"))["topics"]:
        k = topic["id"]
        mean = np.mean([exclusive[k, place[word]] for word in ten[k]])
        assert topic["distinctiveness"] == pytest.approx(mean)
        line = next(s for s in lines if re.match(rf" *{k} +\d+\.\d %", s))
        assert line[:end].split()[-1] == f"{mean:.2f}"


def test_a_wide_terminal_lists_both_and_a_narrow_one_distinctive_words(made):
    """Red with: two columns of words at 80 columns, or headings that stand elsewhere."""
    narrow, wide = (shown("topics", made / "a", columns=c) for c in ("109", "140"))
    assert "distinctive words" in narrow
    assert "probable words" not in narrow
    head = next(line for line in wide.splitlines() if "probable words" in line)
    place = head.index("probable words")
    told = json.loads(shown("topics", made / "a", "--json"))["topics"]
    lines = wide.splitlines()
    for topic in told:
        line = next(s for s in lines if re.match(rf" *{topic['id']} +\d+\.\d %", s))
        assert line[place:].split()[0] == topic["probable_words"][0]["word"]
        assert line[head.index("distinctive") :].split()[0] == topic["words"][0]["word"]
    assert max(map(len, lines[2:])) <= 140
    assert "probable words" not in shown("topics", made / "a", "--words", "probable", columns="140")


def test_an_order_beside_probabilities_is_named(made):
    assert "Words are in the order distinctive; --words probable" in shown(
        "topics", made / "a", "--intervals", columns="100"
    )


@pytest.mark.parametrize(
    "command", [["topics"], ["report"], ["compare", "b"], ["export", "--to", "csv"]]
)
def test_an_order_that_does_not_exist_is_refused_in_a_line(made, command, monkeypatch):
    """Red with: a traceback, or `report --words 5000` taken for something."""
    monkeypatch.chdir(made)
    done = CliRunner().invoke(main, [command[0], "a", *command[1:], "--words", "5000"])
    assert done.exit_code == 2
    assert "give distinctive, probable, frex, or relevance:LAMBDA" in done.stderr


def test_python_names_the_parameter(made):
    with pytest.raises(ValueError, match=r"order: .* give distinctive"):
        LDA.load(made / "a").top_words(order="best")


def test_formats_without_lists_of_words_refuse_an_order(made, tmp_path):
    typed = ["export", str(made / "a"), "--to", "npy", "-o", str(tmp_path / "x"), "--words", "frex"]
    done = CliRunner().invoke(main, typed)
    assert done.exit_code == 2
    assert "--words applies only to --to csv and parquet and arviz" in done.stderr
