"""Pages of runs of every kind: what is on them, what is left out, and the same bytes twice."""

import base64
import json
import re
import shutil
import zlib
from collections import Counter

import numpy as np
import pytest
from click.testing import CliRunner

from pysgrld.cli import main
from pysgrld.errors import CheckpointError, CorpusError, MissingInputError, UsageError
from pysgrld.evaluate.score import Scorer
from pysgrld.reading import compare_chains
from pysgrld.reading.results import Results
from pysgrld.reading.topics import topics_of
from pysgrld.report.making import report
from pysgrld.report.reported_run import PageRequest, ReportedRun
from pysgrld.report.sections import documents, groups

SAMPLES = ("--set", "burn-in=5", "--set", "sample-every=1")
ONE_START = ("--set", "starts=1")
KINDS = {
    "lda": ("-k", "4", "--keep-text", "none", *ONE_START, *SAMPLES),
    "texts": ("-k", "4", "--keep-text", "all", *ONE_START, *SAMPLES),
    "chains": ("-k", "4", "--chains", "2", "--threads", "2", *SAMPLES),
    "deep": ("--layers", "4,3", "--algo", "tlasgr", "--set", "warm-up=0", *SAMPLES),
    "mixture": ("--model", "dpmm", "--algo", "gibbs", *SAMPLES),
    "directions": ("--model", "sam", "-k", "4", *SAMPLES),
    "approximation": ("--algo", "ovb", "-k", "4"),
    "early": ("-k", "4", "--iterations", "3"),
    "all-trained": ("-k", "4", "--holdout", "0", *ONE_START, *SAMPLES),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Gives the folder of a run of a kind, trained for a moment at its first use."""
    folder = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(2)
    topics = rng.dirichlet(np.full(60, 0.1), 4)
    lines = [
        " ".join(f"w{w}" for w in rng.choice(60, 30, p=rng.dirichlet([0.3] * 4) @ topics))
        for _ in range(80)
    ]
    (folder / "corpus.txt").write_text("\n".join(lines))

    def give(kind):
        path = folder / kind
        if not path.exists():
            command = ["train", str(folder / "corpus.txt"), "--iterations", "40", *KINDS[kind]]
            command += ["--min-df", "1", "--max-df", "1.0", "--out", str(path), "-q"]
            said = CliRunner().invoke(main, command)
            assert said.exit_code == 0, said.output
        return path

    return give


@pytest.fixture(autouse=True)
def few_bins(monkeypatch):
    """The corpus is divided into few parts, each of which takes time."""
    monkeypatch.setattr(groups, "MOST", 6)


@pytest.fixture(scope="module")
def pages(runs):
    """Gives the page of a run of a kind without options, made once by one thread."""
    made = {}

    def give(kind):
        if kind not in made:
            made[kind] = report(runs(kind), threads=1)
        return made[kind]

    return give


def blocks_of(page):
    """The blocks of a page by name, as they stand in it: their parts, and a zlib stream."""
    text = page.html.decode()
    listed = json.loads(re.search('id="report">(.*?)</script>', text)[1])["blocks"]
    packed = re.findall('<script type="text/plain" id="b-(.*?)">(.*?)</script>', text)
    return {name: (listed[name], base64.b64decode(inside)) for name, inside in packed}


def main_and_blocks(path, **asked):
    """The main JSON and the blocks' parts, read back as a page does."""
    return unpacked(report(path, threads=1, **asked))


def unpacked(page):
    """The main JSON of a page and its blocks' parts."""
    types = {"u8": "u1", "i8": "i1", "u16": "<u2", "u32": "<u4"}
    blocks = {}
    for name, (listed, packed) in blocks_of(page).items():
        data, at, parts = zlib.decompress(packed), 0, {}
        for part, kind, length in listed:
            size = length if kind == "utf8" else length * np.dtype(types[kind]).itemsize
            raw = data[at : at + size]
            parts[part] = raw.decode() if kind == "utf8" else np.frombuffer(raw, types[kind])
            at += -(-size // 4) * 4
        assert at == len(data)
        blocks[name] = parts
    return page.main, blocks


#: What a page has that not every run can have.
REGIONS = ("curve", "map", "layers", "components", "chains", "docs", "along")


@pytest.mark.parametrize(
    ("kind", "regions"),
    [
        ("lda", {"curve", "map", "chains"}),
        ("chains", {"curve", "map", "chains"}),
        ("deep", {"curve", "map", "chains", "layers"}),
        ("mixture", {"curve", "chains", "components"}),
        pytest.param("directions", {"curve", "map", "chains"}, marks=pytest.mark.nightly),  # as lda
        ("approximation", {"curve", "map"}),
        ("early", {"map"}),
        ("all-trained", {"map", "chains"}),
    ],
)
def test_runs_of_every_kind_have_their_regions(pages, kind, regions):
    """Red with: a region that stops the page of a run that lacks it."""
    found, blocks = unpacked(pages(kind))
    there = {name for name in REGIONS if found[name] is not None}
    by_data = {"map", "along"}  # whether they are there depends on the documents
    assert there - by_data == (regions | {"docs"}) - by_data
    json.dumps(found, allow_nan=False)
    k = found["size"]
    assert len(found["topics"]) == len(found["order"]) == len(found["leaf_ids"])
    assert sorted(found["order"]) == found["leaf_ids"]
    assert len(blocks["terms"]["n"]) == k
    assert len(blocks["terms"]["word"]) == blocks["terms"]["n"].sum()
    assert len(blocks["near"]["topic"]) == 12 * k
    assert len(blocks["pairs"]["distance"]) == k * k
    if found["along"] is not None:
        assert len(blocks["along"]["mean"]) == k * len(found["along"]["bins"])
        assert sum(found["along"]["documents"]) == 80
    documents = json.loads(blocks["docs"]["json"])
    assert len(documents) == len(found["docs"]["row"]) == 80
    words = blocks["words"]["text"].split("\n")
    assert len(words) == len(blocks["words"]["count"]) == found["words_total"]
    assert len(blocks["words"]["topic"]) == blocks["words"]["n"].sum()
    unsure = {"mixture", "approximation", "early"}
    assert (found["interval"]["draws"] == 0) == (kind in unsure)
    assert any("intervals" in line for line in found["missing"]) == (kind in unsure)
    lone = found["topics"][0]
    assert (lone["documents"] is not None) == (kind == "mixture")
    assert (lone["found"] is not None) == (kind == "chains")
    assert len(lone["others"]) == (1 if kind == "chains" else 0)
    assert (found["scale"] == "linear") == (kind == "directions")
    for topic in found["topics"]:
        assert set(topic["top"]) <= {words[i] for i in terms_of(blocks, topic["id"])}


def terms_of(blocks, k):
    ends = np.cumsum(blocks["terms"]["n"])
    return blocks["terms"]["word"][ends[k] - blocks["terms"]["n"][k] : ends[k]]


def test_figures_are_those_of_sgmc_topics(runs, pages):
    """Red with: topics renumbered by weight; probabilities of another draw."""
    path = runs("lda")
    found, blocks = unpacked(pages("lda"))
    expected = {t.id: t for t in topics_of(Results(path, 1), 9, intervals=True)}
    words = blocks["words"]["text"].split("\n")
    ends = np.cumsum(blocks["terms"]["n"])
    for topic in found["topics"]:
        mine = expected[topic["id"]]
        begin = ends[topic["id"]] - blocks["terms"]["n"][topic["id"]]
        listed = [words[i] for i in terms_of(blocks, topic["id"])]
        assert topic["top"] == [word.word for word in mine.words]
        for word in mine.words:
            i = listed.index(word.word)
            for part, value in (
                ("mean", word.probability),
                ("low", min(word.low, word.probability)),
                ("high", max(word.high, word.probability)),
            ):
                shown = np.exp(-float(blocks["terms"][part][begin + i]) / 65535 * 20.8)
                assert shown == pytest.approx(value, rel=3e-4)
        assert topic["npmi"] == pytest.approx(mine.npmi, abs=1e-4)
        assert topic["weight"][0] == pytest.approx(mine.weight, abs=0.05)
        assert topic["weight"][1] <= topic["weight"][0] <= topic["weight"][2]
    assert sum(t["weight"][0] for t in found["topics"]) == pytest.approx(1, abs=1e-4)


def test_the_same_run_and_options_give_the_same_bytes(runs, pages):
    """Red with: the time of day on the page; sets in the order of their hashes."""
    assert report(runs("lda"), threads=2).html == pages("lda").html


def test_what_is_asked_for_is_on_the_page(runs, pages, tmp_path):
    (tmp_path / "names.json").write_text('{"2": "</script>"}')
    found, blocks = main_and_blocks(
        runs("lda"),
        labels=tmp_path / "names.json",
        title="A <b>title",
        noun="child/children",
        documents=7,
        text=False,
        lookup=10,
    )
    corpus = pages("lda").main
    trained = sum(not held for held in corpus["docs"]["held"])
    assert (corpus["words_of"], found["words_of"]) == (trained, trained)
    assert found["title"] == "A <b>title"
    assert found["noun"] == ["child", "children"]
    named = {t["id"]: t for t in found["topics"]}
    assert named[2]["label"] == "</script>"
    assert named[2]["named"]
    assert named[1]["label"] == named[1]["auto"]
    assert len(found["docs"]["row"]) == 7
    assert found["texts"] == "none"
    assert all(not d.get("words") for d in json.loads(blocks["docs"]["json"]))
    assert 10 <= len(blocks["words"]["count"]) < 60 or found["words_total"] <= 60
    assert all(0 <= place < 7 for t in found["topics"] for place in t["rep"])


@pytest.mark.parametrize(
    ("noun", "with_article"), [("articles", "an article"), ("songs", "a song")]
)
def test_a_noun_has_the_article_that_it_needs(runs, noun, with_article):
    """Red with: a article."""
    found = report(runs("lda"), noun=noun, threads=1).main
    assert f"length of {with_article}" in [fact["label"] for fact in found["facts"]]


def test_documents_are_shown_as_long_as_they_have_room(runs, pages, monkeypatch):
    """Red with: bytes before base64; sizes of each document packed alone."""
    full = pages("texts")
    monkeypatch.setattr(documents, "ROOM", 4000)
    page = report(runs("texts"), threads=1)
    assert 4 < len(page.main["docs"]["row"]) < len(full.main["docs"]["row"])
    assert 2600 < len(base64.b64encode(page._sections[6].blocks()["docs"].packed())) < 4050


def test_blocks_have_the_documents_that_are_expected_to_fit(runs, pages, monkeypatch):
    """Red with: blocks of one size, for each of which the same texts are decompressed again."""
    full, numbers = pages("texts"), []
    written = documents.ShownDocuments._written

    def count(section, places):
        numbers.append(len(places))
        return written(section, places)

    monkeypatch.setattr(documents.ShownDocuments, "_written", count)
    monkeypatch.setattr(documents, "_TOGETHER", 2)
    monkeypatch.setattr(documents, "_MOST", 5)
    assert report(runs("texts"), threads=1).html == full.html
    assert numbers[:2] == [2, 5]
    numbers.clear()
    monkeypatch.setattr(documents, "ROOM", 4000)
    report(runs("texts"), threads=1)
    assert numbers[0] == 2
    assert len(numbers) > 1


def test_layers_of_a_deep_model(runs, pages):
    found, blocks = main_and_blocks(runs("deep"), layer=2)
    assert found["layer"] == {"at": 2, "of": 2}
    assert found["size"] == len(blocks["terms"]["n"]) == 3
    assert {node["layer"] for node in found["layers"]} == {2}
    assert found["key"] != pages("deep").main["key"]
    with pytest.raises(UsageError, match="has 2 layers"):
        report(runs("deep"), layer=3, threads=1)


def test_what_is_gone_is_left_out_and_said(runs, tmp_path):
    """Red with: any one of them needed."""
    path = tmp_path / "run"
    shutil.copytree(runs("lda"), path)
    shutil.rmtree(path / "holdout")
    found, _ = main_and_blocks(path)
    assert found["curve"] is None
    assert any("held-out documents or word counts are missing" in line for line in found["missing"])
    shutil.rmtree(path / "corpus")
    found, blocks = main_and_blocks(path)
    assert found["docs"] is None
    assert found["along"] is None
    assert "docs" not in blocks
    assert all(t["weight"] is None and t["npmi"] is None for t in found["topics"])
    assert any("the run's training corpus is no longer at" in line for line in found["missing"])
    (path / "word-counts.npy").unlink()
    for sample in (path / "samples").iterdir():
        sample.unlink()
    found, _ = main_and_blocks(path)
    assert found["words_tokens"] is None
    assert found["interval"]["draws"] == 0
    assert found["chains"] is None
    (path / "metrics.jsonl").unlink()
    main_and_blocks(path)
    with pytest.raises(UsageError, match="need the training corpus, which is missing"):
        report(path, by=("x",), threads=1)
    shutil.rmtree(path / "checkpoints")
    with pytest.raises(CheckpointError, match="no checkpoint"):
        report(path, threads=1)
    with pytest.raises(MissingInputError):
        report(tmp_path / "nothing", threads=1)


def test_draws_of_one_chain_and_of_all_are_told_apart(runs, pages):
    """Red with: draws of the first chain alone."""
    run = ReportedRun(runs("chains"), PageRequest(), 1)
    run.read()
    page, terms = pages("chains"), run.terms
    found = page.main
    assert found["sentence"].startswith(f"{len(found['topics'])} topics of ")
    assert (found["interval"]["draws"], found["interval"]["pooled"]) == (terms.draws, terms.pooled)
    assert terms.draws == len(run.results.kept())
    told = {entry["name"]: entry["text"] for entry in found["method"]}
    assert "the probability is the mean over the chains that have the topic" in told["Probability"]
    assert terms.pooled > terms.draws
    both = f"stored draws: {terms.draws} of the first chain, {terms.pooled} of all"
    assert both in told["Interval"]
    drifting = [topic for topic in found["topics"] if topic["trust"]["drift"]]
    assert all(topic["rhat"] >= 1.1 and topic["found"] == [2, 2] for topic in drifting)
    shared = [topic for topic in found["topics"] if topic["overlap"] >= 0.7]
    assert [topic for topic in found["topics"] if topic["found"] == [2, 2]] == shared
    head = f"{len(shared)} of {len(found['topics'])} topics found by both chains."
    (verdict,) = (verdict for verdict in found["verdicts"] if verdict["head"] == head)
    firm = [topic for topic in found["topics"] if topic["trust"]["state"] == "again"]
    assert (verdict["good"] is True) == (len(firm) == len(found["topics"]))
    assert (verdict["code"] == "--chains 4") == (len(shared) > len(firm))
    scores = run.evaluation
    together = scores.kind.show(scores.pooled, scores.pooled.error)
    said = f"Both chains averaged together have {together}."
    assert any(verdict["text"].endswith(said) for verdict in found["verdicts"])


@pytest.mark.parametrize(
    ("share", "said"), [(0.44, "44 % better"), (0.9899, "99 % better"), (0.99, "Far better")]
)
def test_what_a_score_gains_is_said_where_a_share_means_something(runs, monkeypatch, share, said):
    """Red with: 100 % better of densities, which are thousands of times as great."""
    monkeypatch.setattr(Scorer, "share_gained", lambda self, before, now: share)
    found = report(runs("directions"), threads=1).main
    assert f"{said} than word frequencies." in [verdict["head"] for verdict in found["verdicts"]]


def test_a_chain_without_a_checkpoint_is_left_out(runs, tmp_path):
    path = tmp_path / "chains"
    shutil.copytree(runs("chains"), path)
    shutil.rmtree(path / "chain-2" / "checkpoints")
    found, _ = main_and_blocks(path)
    assert found["chains"]["count"] == 1
    assert found["missing"] == ["chain-2: has no readable checkpoint and is ignored"]


def test_facts_are_the_page_as_plain_values(runs, pages):
    page = pages("lda")
    facts = json.loads(json.dumps(page.facts, allow_nan=False))
    assert facts["format"] == "sgmc-report"
    word = facts["topics"][0]["words"][0]
    assert set(word) == {"word", "mean", "low", "high", "open", "ten", "share"}
    assert facts["docs"]["records"][0]["theta"][0][1] > 0
    assert page.summary == "4 topics, words of 80 documents"
    assert pages("chains").folder == runs("chains")


def test_texts_that_were_kept_are_on_the_page(runs, pages):
    found, blocks = unpacked(pages("texts"))
    assert found["texts"] == "kept"
    lines = (runs("texts").parent / "corpus.txt").read_text().splitlines()
    documents = json.loads(blocks["docs"]["json"])
    assert [d["text"] for d in documents] == [lines[row] for row in found["docs"]["row"]]
    spans = np.array(documents[0]["spans"]).reshape(-1, 4)
    assert len(spans) > 20
    assert set(spans[:, 2]) <= set(range(4))


def test_texts_and_columns_may_be_lent(runs, tmp_path):
    """Red with: documents joined by order where a file has them in another one."""
    lines = (runs("lda").parent / "corpus.txt").read_text().splitlines()
    rows = [
        json.dumps({"id": str(i + 1), "title": f"t{i}", "text": t}) for i, t in enumerate(lines)
    ]
    texts = tmp_path / "texts.jsonl"
    texts.write_text("\n".join(rows[::-1]))
    table = tmp_path / "table.csv"
    table.write_text("part,year\n" + "".join(f"p{i % 3},{1900 + i}\n" for i in range(80)))
    facts = report(
        runs("lda"), texts=texts, metadata=table, along="year", by=["part"], threads=1
    ).facts
    assert facts["texts"] == "kept"
    assert [d["text"] for d in facts["docs"]["records"]] == lines
    assert facts["docs"]["title"] == [f"t{i}" for i in range(80)]
    assert [column["name"] for column in facts["columns"]] == ["part"]
    assert facts["columns"][0]["levels"] == ["p0", "p1", "p2"]
    assert facts["along"]["title"] == "by year"


def test_what_is_lent_must_be_there_and_of_these_documents(runs, tmp_path):
    with pytest.raises(MissingInputError, match=r"nothing\.txt"):
        report(runs("lda"), texts=tmp_path / "nothing.txt", threads=1)
    other = tmp_path / "other.jsonl"
    other.write_text('{"id": "x", "text": "w1 w2"}\n')
    with pytest.raises(CorpusError, match="no document has an id that occurs in the corpus"):
        report(runs("lda"), texts=other, threads=1)
    table = tmp_path / "table.csv"
    table.write_text("part\na\nb\n")
    with pytest.raises(CorpusError, match="2 rows, but 80 documents"):
        report(runs("lda"), metadata=table, threads=1)


def test_names_that_are_damaged_are_refused(runs, tmp_path):
    path = tmp_path / "run"
    shutil.copytree(runs("lda"), path)
    (path / "labels.json").write_text('{"9": "x"}')
    with pytest.raises(CorpusError, match="no topic 9"):
        report(path, threads=1)


def test_a_comparison_of_chains_reads_each_sample_once(runs, monkeypatch):
    """Red with: a pass that matches topics before the pass that follows them; other halves."""
    reads, read = [], Results.read_sample

    def counted(self, step):
        reads.append((self.path, step))
        return read(self, step)

    monkeypatch.setattr(Results, "read_sample", counted)
    for kind in ("lda", "chains"):
        reads.clear()
        once = compare_chains.diagnose(runs(kind), threads=1)
        assert len(reads) == len(set(reads)) == len(once.runs) * len(once.iterations) >= 20
        with monkeypatch.context() as patch:
            patch.setattr(compare_chains, "_posterior_means", lambda *_: None)
            twice = compare_chains.diagnose(runs(kind), threads=1)
        assert len(reads) == 3 * len(set(reads))
        assert once.moved == twice.moved
        if kind == "lda":  # of one chain the overlap is that of its halves
            assert [t.overlap for t in once.topics] == [t.overlap for t in twice.topics]


def test_a_page_reads_each_sample_once_for_words_and_the_diagnosis(runs, monkeypatch):
    """Twenty samples are read again for documents. Red with: a pass for each part of the page."""
    reads, read = Counter(), Results.read_sample

    def counted(self, step):
        reads[step] += 1
        return read(self, step)

    monkeypatch.setattr(Results, "read_sample", counted)
    page = report(runs("lda"), threads=1)
    kept = len(Results(runs("lda"), 1).kept())
    assert sorted(reads.values()) == [1] * (kept - 20) + [2] * 20
    with monkeypatch.context() as patch:
        patch.setattr(ReportedRun, "_has_one_pass", lambda _: False)
        assert report(runs("lda"), threads=1).html == page.html


def test_samples_deleted_in_the_pass_over_them_are_reported(runs, monkeypatch):
    """Red with: a page whose intervals are of the samples that were read."""
    reads, read = [], Results.read_sample

    def vanishing(self, step):
        reads.append(step)
        if len(reads) == 30:
            raise MissingInputError("no sample")
        return read(self, step)

    monkeypatch.setattr(Results, "read_sample", vanishing)
    with pytest.raises(MissingInputError, match="deleted while they were read; run the command"):
        report(runs("lda"), threads=1)
