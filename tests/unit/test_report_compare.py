"""Two runs side by side: planted splits and merges, two vocabularies, names that go on, paired scores."""

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pysgrld.errors import MismatchError, MissingInputError, UsageError
from pysgrld.evaluate.matching import DISTRIBUTIONS
from pysgrld.reading.labels import Label
from pysgrld.report.compare import carry_labels
from pysgrld.report.compare.comparison import (
    ComparedTopics,
    Comparison,
    OwnWord,
    PairedScore,
    Side,
    page_of,
)
from pysgrld.report.compare.documents import with_words_of
from pysgrld.report.compare.partners import Likening, Topics, group
from pysgrld.run.chain_folders import display_name
from pysgrld.types import Documents

HOW = Likening(DISTRIBUTIONS, signed=False)


def blocks(*sizes):
    """Topics with words of their own alone, alike within each: (K, V)."""
    rows, at = np.zeros((len(sizes), sum(sizes)), np.float32), 0
    for row, size in zip(rows, sizes, strict=True):
        row[at : at + size] = 1 / size
        at += size
    return rows


def grouped(left, right, left_weights=None, right_weights=None):
    def side(rows, weights):
        return Topics(rows, np.ones(len(rows)) if weights is None else np.array(weights))

    return group(side(left, left_weights), side(right, right_weights), HOW)


def told(groups):
    return [(g.kind, g.left, g.right, round(g.overlap, 5)) for g in groups]


FOUR = blocks(5, 5, 5, 5)


def test_a_topic_that_became_two_is_split_and_the_other_way_round_merged():
    """Weights put parts together: 0.2 and 0.8. Red with: parts that all weigh the same."""
    broad = np.stack([0.2 * FOUR[1] + 0.8 * FOUR[0], FOUR[2]]).astype(np.float32)
    parts = FOUR[:3]
    assert told(grouped(broad, parts, right_weights=[0.4, 0.1, 0.5])) == [
        ("split", (0,), (0, 1), 1.0),
        ("one to one", (1,), (2,), 1.0),
    ]
    assert told(grouped(parts, broad, left_weights=[0.4, 0.1, 0.5])) == [
        ("merged", (0, 1), (0,), 1.0),
        ("one to one", (2,), (1,), 1.0),
    ]
    assert grouped(broad, parts, right_weights=[0.4, 0.1, 0.5])[0].overlaps == pytest.approx(
        (0.8, 0.2)
    )


def test_what_adds_nothing_is_no_part():
    """A small share of strange words does not make a topic a part. Red with: ADDS of 0."""
    near = 0.97 * FOUR[0] + 0.03 * FOUR[2]
    stranger = 0.9 * FOUR[3] + 0.1 * FOUR[0]
    found = grouped(np.stack([FOUR[0], FOUR[1]]), np.stack([near, stranger, FOUR[1]]))
    assert told(found) == [
        ("one to one", (1,), (2,), 1.0),
        ("one to one", (0,), (0,), 0.97),
        ("new", (), (1,), 0.1),
    ]
    assert found[-1].nearest == 0


def test_topics_without_a_partner_are_gone_or_new():
    """Red with: a partner whatever the overlap."""
    found = grouped(FOUR[[0, 1]], FOUR[[2, 0, 3]])
    assert told(found) == [
        ("one to one", (0,), (1,), 1.0),
        ("gone", (1,), (), 0.0),
        ("new", (), (0,), 0.0),
        ("new", (), (2,), 0.0),
    ]


def test_partners_have_something_in_common():
    """Each other's best, with 0.2 in common, are none. Red with: PARTNERS of 0."""
    found = grouped(FOUR[[0]], (0.2 * FOUR[0] + 0.8 * FOUR[1])[None])
    assert told(found) == [("gone", (0,), (), 0.2), ("new", (), (0,), 0.2)]
    assert [g.nearest for g in found] == [0, 0]


@pytest.mark.parametrize(
    ("correlation", "kinds"),
    [(0.71, ["one to one"]), (0.69, ["partial", "partial"]), (0.29, ["gone", "new"])],
)
def test_documents_decide_whether_topics_are_partial_or_gone(correlation, kinds):
    """Words have 0.2 in common, too little for partners. Red with: overlaps alone; `ABSENT` 0.2."""
    sides = [
        Topics(rows, np.ones(1)) for rows in (FOUR[[0]], (0.2 * FOUR[0] + 0.8 * FOUR[1])[None])
    ]
    groups = group(*sides, HOW, correlation=np.array([[correlation]]))
    assert [g.kind for g in groups] == kinds


@pytest.mark.parametrize(("share", "kinds"), [(0.6, {"one to one"}), (0.4, {"gone", "new"})])
def test_a_topic_that_was_replaced_needs_half_of_another_topic_to_be_its_partner(share, kinds):
    """Both topics of a continued run are new, with words of the other topic of the former run.

    Red with: partners from an overlap of 0.3 on, which `compare` then lists as steady.
    """
    left = Topics(FOUR[:2], np.ones(2))
    right = Topics(share * FOUR[[1, 0]] + (1.0 - share) * FOUR[2:4], np.ones(2))
    groups = group(left, right, HOW, apart=[(0, 0), (1, 1)])
    assert {g.kind for g in groups} == kinds
    assert {g.kind for g in group(left, right, HOW)} == {"one to one"}


def test_topics_are_the_same_by_their_documents_if_these_are_known():
    """Red with: the overlap alone."""
    for correlation, same in ((None, True), (0.69, False), (0.7, True)):
        assert row("one to one", (0,), (0,), 0.7, correlation=correlation).same == same
    assert row("one to one", (0,), (0,), 0.4, correlation=0.7).same
    assert not row("gone", (0,), (), 0.9, correlation=0.9, nearest=0).same


def test_documents_are_read_over_the_words_of_the_other_run():
    """Red with: indices of the words of their own run; words that the other run lacks."""
    documents = Documents(
        np.array([0, 3, 4]), np.array([0, 1, 2, 1], np.int32), np.array([5, 6, 7, 8], np.int32)
    )
    owner, reader = (SimpleNamespace(vocabulary=tuple(words)) for words in ("abc", "cxa"))
    read = with_words_of(documents, owner, reader)
    assert (read.indices.tolist(), read.counts.tolist()) == ([2, 0], [5, 7])
    assert read.lengths.tolist() == [12, 0]


@pytest.mark.parametrize(("common", "kinds"), [(0.31, ["one to one"]), (0.29, ["gone", "new"])])
def test_partners_have_three_tenths_in_common(common, kinds):
    found = grouped(FOUR[[0]], (common * FOUR[0] + (1 - common) * FOUR[1])[None])
    assert [g.kind for g in found] == kinds


@pytest.mark.parametrize(("share", "kinds"), [(0.052, ["split"]), (0.048, ["one to one", "new"])])
def test_a_part_adds_a_twentieth_at_least(share, kinds):
    broad = ((1 - share) * FOUR[0] + share * FOUR[1])[None]
    found = grouped(broad, FOUR[:2], right_weights=[1 - share, share])
    assert [g.kind for g in found] == kinds


def test_as_many_topics_are_matched_by_the_exact_assignment():
    """The best pair is given up where both have more together. Red with: the most similar ones."""
    left = np.stack([0.6 * FOUR[0] + 0.4 * FOUR[1], FOUR[0]])
    right = np.stack([0.55 * FOUR[0] + 0.45 * FOUR[2], 0.5 * FOUR[1] + 0.5 * FOUR[3]])
    found = grouped(left, right)
    assert [(g.left, g.right) for g in found] == [((1,), (0,)), ((0,), (1,))]
    assert [g.overlap for g in found] == pytest.approx([0.55, 0.4])


def test_every_topic_is_told_of():
    rng = np.random.default_rng(5)
    for k, n in ((3, 7), (7, 3), (6, 6), (1, 4)):
        left, right = (rng.dirichlet(np.full(30, 0.2), m).astype(np.float32) for m in (k, n))
        found = grouped(left, right, rng.random(k), rng.random(n))
        assert {i for g in found for i in g.left} == set(range(k))
        assert {j for g in found for j in g.right} == set(range(n))
        partners = [g.overlap for g in found if g.nearest is None]
        assert partners == sorted(partners, reverse=True)


# ---- what is made of it


def side(path, names, labels=None, **given):
    usual = {
        "path": path,
        "model": "lda",
        "algo": "scir",
        "noun": "topic",
        "layer": 1,
        "topics": len(names),
        "words": 20,
        "documents": 100,
        "iteration": 60,
        "samples": 5,
        "running": False,
        "names": dict(enumerate(names)),
        "labels": {k: Label(name) for k, name in (labels or {}).items()},
        "outside": 0.0,
    }
    return Side(**usual | given)


def row(kind, left, right, overlap, **given):
    usual = {
        "overlaps": (),
        "correlation": None,
        "nearest": None,
        "share_left": 0.5,
        "share_right": 0.5,
        "outside_left": 0.0,
        "outside_right": 0.0,
        "both": ("king",),
        "only_left": (OwnWord("old", True),),
        "only_right": (OwnWord("</script>", False),),
    }
    return ComparedTopics(kind, left, right, overlap, **usual | given)


@pytest.fixture
def made(tmp_path):
    """A comparison of two made-up runs, whose folders are there."""
    for name in ("left", "right"):
        (tmp_path / name).mkdir()
    rows = (
        row("one to one", (0,), (2,), 0.9),
        row("one to one", (1,), (0,), 0.7),
        row("one to one", (2,), (1,), 0.69),
        row("one to one", (4,), (3,), 0.9, outside_right=0.6),
        row("split", (3,), (4, 5), 0.95, overlaps=(0.8, 0.3)),
        row("new", (), (6,), 0.1, nearest=0, share_left=None, outside_left=None),
    )
    return Comparison(
        side(tmp_path / "left", "abcde", {k: f"name {k}" for k in range(5)}),
        side(tmp_path / "right", "tuvwxyz", {2: "mine"}),
        20,
        rows,
        PairedScore("perplexity", "perplexity", 1, 100.0, 90.0, -10.0, 2.0, 50),
        ("a note",),
    )


def written(made):
    return json.loads((made.right.path / "labels.json").read_text())


def test_names_go_to_partners_and_never_over_names_that_a_person_gave(made):
    """Red with: 0.69 for a partner; names of split topics carried; names replaced unasked."""
    carried = carry_labels(made)
    assert written(made) == {"0": "name 1", "2": "mine"}
    assert carried.new == {0: "name 1"}
    assert carried.kept == {2: "mine"}
    assert carried.lost == {2: "name 2", 3: "name 3", 4: "name 4"}
    carry_labels(made, replace=True)
    assert written(made) == {"0": "name 1", "2": "name 0"}


def test_without_names_there_is_nothing_to_carry(made):
    bare = made._replace(left=made.left._replace(labels={}))
    with pytest.raises(MissingInputError, match="no topic has a name that can be copied"):
        carry_labels(bare)
    assert not (made.right.path / "labels.json").exists()


def test_the_page_has_the_same_bytes_twice_and_words_are_text(made):
    page = page_of(made)
    assert page == page_of(made)
    assert page.count(b"</script>") == 2
    assert b"default-src 'none'" in page
    assert str(made.left.path.parent).encode() not in page, "a page tells nothing of this machine"


def test_a_comparison_says_itself_in_lines(made):
    lines = repr(made).splitlines()
    assert len(lines) == 1 + len(made.topics)
    assert "2 the same (an overlap of 0.7 or more)" not in lines[0]
    assert "3 the same (an overlap of 0.7 or more), 1 alike, 1 split, 1 new" in lines[0]
    assert lines[5].split() == ["0.95", "3", "->", "4,", "5", "king"]
    assert "right minus left -10.0 (95 % interval -13.9 to -6.1)" in made.score.sentence
    assert made.score.sentence.endswith("the right run predicts better.")
    unsure = made.score._replace(error=8.0).sentence
    assert unsure.endswith("it is uncertain which run predicts better.")


def test_news_are_topics_that_are_new_or_have_another_share(made):
    """Red with: a topic without a partner called grown; a rare topic called so for its ratio alone."""
    shares = [(0.10, 0.151), (0.10, 0.149), (0.10, 0.06), (0.001, 0.005)]
    pairs = [
        row("one to one", (k,), (k,), 0.9, share_left=a, share_right=b)
        for k, (a, b) in enumerate(shares)
    ]
    pairs.append(row("one to one", (5,), (5,), 0.4, share_right=0.01, outside_right=0.5))
    lone = [row("gone", (4,), (), 0.1, nearest=0, share_right=None)]
    news = made._replace(topics=(*pairs, *lone, made.topics[-1])).news
    assert {change: [t.numbers for t in topics] for change, topics in news.items()} == {
        "new": ["- -> 6", "5 -> 5"],
        "grown": ["0 -> 0"],
        "faded": ["2 -> 2"],
        "gone": ["4 -> -"],
        "partial": [],
        "steady": ["1 -> 1", "3 -> 3"],
    }


# ---- runs


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Runs of two corpora: 'a' and 'b' of the same with 2 and 3 topics, 'c' with other words."""
    from pysgrld.cli import main

    folder = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(1)
    themes = [[f"{name}{i}" for i in range(12)] for name in ("sea", "bread", "star")]
    lines = [" ".join(rng.choice(themes[d % 3], 30)) for d in range(90)]
    (folder / "old.txt").write_text("\n".join(lines))
    newer = [re.sub(r"\bsea2\b", "tide", re.sub(r"\bsea1\b", "ocean", line)) for line in lines]
    (folder / "new.txt").write_text("\n".join(newer))
    (folder / "other.txt").write_text("un deux trois quatre cinq\n" * 20)
    usual = [
        "--algo",
        "gibbs",
        "--set",
        "burn-in=20",
        "--iterations",
        "60",
        "--max-df",
        "1.0",
        "-q",
    ]
    for name, corpus, k in (("a", "old", 2), ("b", "old", 3), ("c", "new", 3), ("d", "other", 2)):
        out = ["-k", str(k), "--out", f"{folder / name}"]
        with pytest.raises(SystemExit) as ended:
            main(["train", f"{folder / corpus}.txt", *usual, *out])
        assert ended.value.code == 0
    return folder


def test_runs_of_one_split_are_scored_in_pairs(trained):
    """The difference and its error are those of the same documents. Red with: errors of each run."""
    from pysgrld.reading.find_runs import open_run
    from pysgrld.reading.score import score_own
    from pysgrld.report.compare import compare

    told_of = []
    found = compare(trained / "a", trained / "b", tell=lambda *now: told_of.append(now))
    a, b = (score_own(open_run(trained / name, 1)).average for name in "ab")
    assert found.score.difference == pytest.approx(b - a)
    influence = b.influence - a.influence
    n = len(influence)
    assert found.score.error == pytest.approx((n / (n - 1) * (influence**2).sum()) ** 0.5)
    assert found.score.documents == n == 9
    assert told_of == [(done, 5) for done in (1, 2, 3, 4, 5)]
    assert (found.words, found.left.topics, found.right.topics) == (36, 2, 3)
    back = compare(trained / "b", trained / "a")
    assert [t.overlap for t in back.topics] == pytest.approx([t.overlap for t in found.topics])
    flip = {"split": "merged", "merged": "split", "gone": "new", "new": "gone"}
    assert sorted(flip.get(t.kind, t.kind) for t in back.topics) == sorted(
        t.kind for t in found.topics
    )


def test_two_vocabularies_are_compared_over_the_words_of_both(trained):
    """Words that one lacks are told, and take nothing from the overlap. Red with: no scaling."""
    from pysgrld.report.compare import compare

    found = compare(trained / "b", trained / "c")
    assert found.words == 34
    assert found.score is None
    assert any("different documents" in note for note in found.notes)
    sea = next(t for t in found.topics if any(w.word == "ocean" for w in t.only_right))
    assert sea.kind == "one to one"
    assert sea.overlap > 0.9
    assert sea.correlation > 0.9
    assert 0.1 < sea.outside_left < 0.25
    assert 0.1 < sea.outside_right < 0.25
    lacking = {w.word for w in sea.only_right if not w.known}
    assert "ocean" in lacking
    assert lacking <= {"ocean", "tide"}
    assert all(t.outside_left < 0.01 for t in found.topics if t is not sea)
    assert found.right.outside == pytest.approx(sea.share_right * sea.outside_right, abs=0.02)
    assert page_of(found) == page_of(compare(trained / "b", trained / "c"))


def test_a_page_says_nothing_of_where_runs_lie(trained, tmp_path):
    """Nor in its remarks. Red with: a remark that names a run by its path."""
    from pysgrld.report.compare import compare

    shutil.copytree(trained / "a", tmp_path / "running")
    path = tmp_path / "running" / "status.json"
    path.write_text(path.read_text().replace('"finished"', '"running"'))
    found = compare(tmp_path / "running", trained / "b")
    assert "The left run is still training; its newest checkpoint is compared." in found.notes
    assert str(tmp_path).encode() not in page_of(found)


def test_chains_are_named_by_the_folder_that_they_are_in(monkeypatch, tmp_path):
    """Red with: "chain-1 and chain-1" for the first chains of two runs."""
    assert display_name(Path("runs/k-20/chain-1")) == "k-20, chain 1"
    assert display_name(Path("runs/chain-letters")) == "chain-letters"
    monkeypatch.chdir(tmp_path)
    assert display_name(Path("chain-2")) == f"{tmp_path.name}, chain 2"


def test_what_cannot_be_compared_is_said(trained):
    from pysgrld.report.compare import compare

    with pytest.raises(MismatchError, match="have no word in common"):
        compare(trained / "a", trained / "d")
    with pytest.raises(UsageError, match="cannot be compared with itself"):
        compare(trained / "a", str(trained / "b" / ".." / "a"))
    with pytest.raises(MissingInputError, match="is not a run"):
        compare(trained / "a", trained / "nothing")
    with pytest.raises(UsageError, match="has 1 layer"):
        compare(trained / "a", trained / "b", layers=(1, 2))
