"""Documents on the page: which come first, and their words with the likeliest topic of each."""

import re

import numpy as np
import pytest
from oracles.tokens import tokens as expected

from pysgrld.corpus.characters import normal
from pysgrld.report import tinted_texts as module
from pysgrld.report.sections.documents import in_turn
from pysgrld.report.tinted_texts import KnownWords, likeliest, tinted, tokens, words_by_count
from pysgrld.types import Documents

TEXTS = [
    "In the beginning God created the heaven; a b cd",
    "STRASSE straße Ärger e\u0301tude \ufb01sch O'Neill x_y 12 3",
    "主题模型很好 LDA模型A 我 爱 X 2018年3月",
    "コンピュータの性能を評価する 佐々木 한국어 위키",
    "\U0001f600 smile \U0001d49cbc \u05e9\u05dc\u05d5\u05dd",
]


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_of_a_text_are_those_that_are_counted(text):
    """Red with: ideographs taken by runs; single letters; text not in normal form C."""
    found = tokens(normal(text), None)
    assert [token.word for token in found] == expected(text)


def test_tokens_by_a_pattern_are_where_its_group_is():
    found = list(tokens("No. 12, no. 7", re.compile(r"No\. (\d+)", re.IGNORECASE)))
    assert [(t.begin, t.end, t.word) for t in found] == [(4, 6, "12"), (12, 13, "7")]


PHI = np.array([[0.7, 0.1], [0.2, 0.1], [0.1, 0.8]], np.float32)
IDS = {"king": 0, "people": 1, "lord": 2}


def test_the_likeliest_topic_is_the_greatest_product():
    thetas = np.array([[0.4, 0.6]])
    found = likeliest(PHI, np.array([0, 1, 2]), thetas, np.zeros(3, np.int64))
    assert found.topics.tolist() == [0, 0, 1]
    np.testing.assert_allclose(
        found.probability, [0.28 / 0.34, 0.08 / 0.14, 0.48 / 0.52], rtol=1e-6
    )


def tint(text, ids, theta):
    """The given text with the likeliest topics of its words."""
    words = KnownWords(ids, None, keep_links=False)
    return next(tinted([text], words, PHI, np.array([theta])))


def units(text):
    return len(text.encode("utf-16-le")) // 2


def test_spans_are_in_units_of_browsers():
    """Red with: code points; a skip from the begin of the last word."""
    text = "\U0001f600 The King\U0001f600s and king, e\u0301 lord"
    shown = tint(text, IDS, [0.4, 0.6])
    raw, at, found = shown.text.encode("utf-16-le"), 0, []
    for i in range(0, len(shown.spans), 4):
        skip, length, topic, percent = shown.spans[i : i + 4]
        begin = at + skip
        at = begin + length
        found.append((raw[2 * begin : 2 * at].decode("utf-16-le"), topic, percent))
    assert found == [("King", 0, 80), ("king", 0, 80), ("lord", 1, 90)]
    assert shown.cut is None
    assert raw[2 * shown.best[0] : 2 * shown.best[1]].decode("utf-16-le").endswith("lord")


def test_texts_are_shown_in_the_normal_form_that_is_counted():
    """Red with: the text as it came, whose letters stand apart from their marks."""
    shown = tint("re\u0301sume\u0301", {"r\u00e9sum\u00e9": 0}, [0.4, 0.6])
    assert shown.text == "r\u00e9sum\u00e9"
    assert shown.spans == [0, 6, 0, 80]


def test_of_pairs_of_ideographs_the_surer_has_the_sign_that_both_share():
    ids = {"天地": 0, "地人": 2}
    shown = tint("天地人", ids, [0.4, 0.6])
    assert shown.spans == [0, 1, 0, 80, 0, 2, 1, 90]
    shown = tint("天地人", ids, [0.9, 0.1])
    assert shown.spans == [0, 2, 0, 100, 0, 1, 0, 55]


def test_a_long_text_is_cut_around_its_best_stretch(monkeypatch):
    monkeypatch.setattr(module, "LONGEST", 200)
    monkeypatch.setattr(module, "STRETCH", 40)
    text = "people " * 50 + "lord " * 8 + "people " * 50
    shown = tint(text, IDS, [0.4, 0.6])
    assert 200 - 2 * len("people ") < len(shown.text) <= 200
    assert sum(shown.cut) == len(text) - len(shown.text)
    assert set(shown.text.split(" ")) == {"people", "lord"}  # and no piece of a word
    assert shown.text[slice(*shown.best)] == ("lord " * 8).strip()
    spans = np.array(shown.spans).reshape(-1, 4)
    assert spans[:, :2].sum() <= units(shown.text)
    assert (spans >= 0).all()


def test_the_best_stretch_is_that_of_each_text_alone(monkeypatch):
    """Red with: stretches that reach into the previous text; the last of equally good stretches."""
    monkeypatch.setattr(module, "STRETCH", 12)
    texts = ["lord", "king lord people lord lord king", "", "king king king king"]
    words = KnownWords(IDS, None, keep_links=False)
    thetas = np.array([[0.1, 0.9]] * 3 + [[0.9, 0.1]])
    shown = list(tinted(texts, words, PHI, thetas))
    assert [each.best for each in shown] == [(0, 4), (17, 26), (0, 0), (0, 9)]


def test_the_cache_of_words_is_emptied_when_it_is_full(monkeypatch):
    """Red with: numbers of the emptied cache."""
    monkeypatch.setattr(module, "_CACHED", 2)
    words = KnownWords(IDS, None, keep_links=False)
    for text in ("king people lord", "lord a king", "people king"):
        places = words.find([text, text])
        expected = [IDS[word] for word in text.split() if word in IDS]
        assert places.word.tolist() == 2 * expected
        assert [text[a:b] for a, b in zip(places.begin, places.end, strict=True)] == 2 * [
            word for word in text.split() if word in IDS
        ]


def test_a_text_without_a_known_word_is_shown_plain():
    shown = tint("", IDS, [0.5, 0.5])
    assert shown == ("", [], (0, 0), None)
    assert tint("nothing", IDS, [0.5, 0.5]).spans == []


def test_words_by_count_are_the_most_frequent(monkeypatch):
    monkeypatch.setattr(module, "WORDS", 2)
    both = Documents(
        np.array([0, 3, 5]),
        np.array([0, 1, 2, 0, 2], np.int32),
        np.array([1, 3, 3, 2, 1], np.int32),
    )
    thetas = np.array([[0.4, 0.6], [0.9, 0.1]])
    assert list(words_by_count(both, PHI, thetas, ("king", "people", "lord"))) == [
        [["people", 3, 0, 55], ["lord", 3, 1, 90]],
        [["king", 2, 0, 100], ["lord", 1, 0, 55]],
    ]


@pytest.mark.parametrize("letters", [1, 500_000])
def test_texts_together_are_tinted_like_each_alone(monkeypatch, letters):
    """Red with: proportions of the first text for all; ids of words without their document."""
    monkeypatch.setattr(module, "_LETTERS", letters)
    monkeypatch.setattr(module, "_CELLS", 4)
    texts = ["king lord", "", "lord people king", "\U0001f600 天地人 lord"]
    ids = IDS | {"天地": 0, "地人": 2}
    thetas = [[0.4, 0.6], [0.5, 0.5], [0.1, 0.9], [0.9, 0.1]]
    words = KnownWords(ids, None, keep_links=False)
    together = list(tinted(texts, words, PHI, np.array(thetas)))
    assert together == [tint(text, ids, theta) for text, theta in zip(texts, thetas, strict=True)]
    assert len({tuple(shown.spans) for shown in together}) == 4


def test_documents_take_turns_and_the_others_are_evenly_spaced():
    turn = in_turn([[7, 3], [], [7, 9, 1]], [2, 0, 1], 64)
    assert turn[:4] == [7, 9, 3, 1]
    assert sorted(turn) == list(range(64))
    rest = sorted(turn[4:36])
    assert max(np.diff([0, *rest, 63])) <= 4
