"""Documents on the page: which come first, and their words with the likeliest topic of each."""

import re

import numpy as np
import pytest
from oracles.tokens import tokens as expected

from pysgrld.report.sections import documents as module
from pysgrld.report.sections.documents import by_count, in_turn, likeliest, normal, tinted, tokens

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
    found = likeliest(PHI, np.array([0, 1, 2]), np.array([0.4, 0.6]))
    assert found.topics.tolist() == [0, 0, 1]
    np.testing.assert_allclose(
        found.probability, [0.28 / 0.34, 0.08 / 0.14, 0.48 / 0.52], rtol=1e-6
    )


def units(text):
    return len(text.encode("utf-16-le")) // 2


def test_spans_are_in_units_of_browsers():
    """Red with: code points; a skip from the begin of the last word."""
    text = "\U0001f600 The King\U0001f600s and king, e\u0301 lord"
    shown = tinted(text, None, IDS, PHI, np.array([0.4, 0.6]))
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
    shown = tinted("re\u0301sume\u0301", None, {"r\u00e9sum\u00e9": 0}, PHI, np.array([0.4, 0.6]))
    assert shown.text == "r\u00e9sum\u00e9"
    assert shown.spans == [0, 6, 0, 80]


def test_of_pairs_of_ideographs_the_surer_has_the_sign_that_both_share():
    ids = {"天地": 0, "地人": 2}
    shown = tinted("天地人", None, ids, PHI, np.array([0.4, 0.6]))
    assert shown.spans == [0, 1, 0, 80, 0, 2, 1, 90]
    shown = tinted("天地人", None, ids, PHI, np.array([0.9, 0.1]))
    assert shown.spans == [0, 2, 0, 100, 0, 1, 0, 55]


def test_a_long_text_is_cut_around_its_best_stretch(monkeypatch):
    monkeypatch.setattr(module, "LONGEST", 200)
    monkeypatch.setattr(module, "STRETCH", 40)
    text = "people " * 50 + "lord " * 8 + "people " * 50
    shown = tinted(text, None, IDS, PHI, np.array([0.4, 0.6]))
    assert 200 - 2 * len("people ") < len(shown.text) <= 200
    assert sum(shown.cut) == len(text) - len(shown.text)
    assert set(shown.text.split(" ")) == {"people", "lord"}  # and no piece of a word
    assert shown.text[slice(*shown.best)] == ("lord " * 8).strip()
    spans = np.array(shown.spans).reshape(-1, 4)
    assert spans[:, :2].sum() <= units(shown.text)
    assert (spans >= 0).all()


def test_a_text_without_a_known_word_is_shown_plain():
    shown = tinted("", None, IDS, PHI, np.array([0.5, 0.5]))
    assert shown == ("", [], (0, 0), None)
    assert tinted("nothing", None, IDS, PHI, np.array([0.5, 0.5])).spans == []


def test_words_by_count_are_the_most_frequent(monkeypatch):
    monkeypatch.setattr(module, "WORDS", 2)
    words, counts = np.array([0, 1, 2]), np.array([1, 3, 3])
    found = likeliest(PHI, words, np.array([0.4, 0.6]))
    assert by_count(words, counts, found, ("king", "people", "lord")) == [
        ["people", 3, 0, 55],
        ["lord", 3, 1, 90],
    ]


def test_documents_take_turns_and_the_others_are_evenly_spaced():
    turn = in_turn([[7, 3], [], [7, 9, 1]], [2, 0, 1], 64)
    assert turn[:4] == [7, 9, 3, 1]
    assert sorted(turn) == list(range(64))
    rest = sorted(turn[4:36])
    assert max(np.diff([0, *rest, 63])) <= 4
