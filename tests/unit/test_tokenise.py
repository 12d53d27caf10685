"""Words of text, character by character."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import unicodedata
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from oracles.tokens import tokens

from pysgrld.corpus import characters
from pysgrld.corpus._tokenize import Dictionary, count_words
from pysgrld.corpus.reading import compiled_pattern


def bags(texts: list[str]) -> list[dict[str, int]]:
    found = count_words([text.encode() for text in texts])
    assert found.bad == []
    words = [found.words[a:b].decode() for a, b in pairwise([0, *found.ends.tolist()])]
    return [
        {words[found.ids[e]]: int(found.counts[e]) for e in range(*span)}
        for span in pairwise(found.indptr.tolist())
    ]


def expected(text: str) -> dict[str, int]:
    bag: dict[str, int] = {}
    for token in tokens(text):
        bag[token] = bag.get(token, 0) + 1
    return bag


@cache
def assigned() -> list[str]:
    return [c for c in map(chr, range(1, 0x110000)) if unicodedata.category(c) not in ("Cn", "Cs")]


UNASSIGNED = [c for c in map(chr, range(1, 0x110000, 61)) if unicodedata.category(c) == "Cn"]
PLACES = "{0} a{0}b {0}é e{0}\u0301 o\u0323{0} {0}\u0302\u0323 か{0}中 \u1100{0}\u11a8"


@pytest.mark.parametrize(
    ("part", "parts"),
    [(0, 131), *(pytest.param(part, 16, marks=pytest.mark.nightly) for part in range(16))],
)
def test_every_character_of_unicode_is_folded_and_cut_as_python_does_wherever_it_stands(
    part, parts
):
    """Red with: any page one character off; composing characters not told."""
    every = (assigned() + UNASSIGNED)[part::parts]
    for i in range(0, len(every), 4096):
        texts = [PLACES.format(c) for c in every[i : i + 4096]]
        assert bags(texts) == [expected(text) for text in texts]


def test_whatever_decomposes_is_composed_again():
    """Red with: a second half of a composition left out of `characters._composing`."""
    apart = [unicodedata.normalize("NFD", c) for c in assigned() if unicodedata.decomposition(c)]
    texts = [f"x{a} {a}y {a}" for a in apart]
    assert bags(texts) == [expected(text) for text in texts]


TABLE = (Path(__file__).parents[1] / "data/scripts.jsonl").read_text("utf-8")
SCRIPTS = [json.loads(line) for line in TABLE.splitlines()]


@pytest.mark.parametrize("row", SCRIPTS, ids=[row["script"] for row in SCRIPTS])
def test_a_sentence_of_each_script_has_the_words_that_icu_finds(row):
    """Words by ICU 72 of two characters or more, in the spelling of a vocabulary.

    Red with: marks taken for separators, so that most of these words are fragments.
    """
    words = row["words"]
    assert list(bags([row["sentence"]])[0]) == list(dict.fromkeys(words))
    assert [token.word for token in characters.tokens(row["sentence"])] == words


@pytest.mark.parametrize("invisible", "\u00ad\u2060\ufeff\u200e\u200f\u200c\u200d\u034f\ufe0f")
def test_invisible_characters_are_no_part_of_a_word_and_separate_none(invisible):
    texts = [f"infor{invisible}mation", f"{invisible}information{invisible}", f"{invisible}"]
    assert bags(texts) == [{"information": 1}, {"information": 1}, {}]


def test_a_dotted_capital_i_with_a_further_mark_loses_its_dot_and_keeps_the_mark():
    """Red with: the dot left out after normal form C, which depends on the order of marks."""
    marks = [chr(c) for c in range(0x300, 0x346)]
    texts = [
        f"{letter}{a}{b}stan"
        for letter in ("\u0130", "I\u0307", "i\u0307")
        for a in ("", "\u0307", "\u0334")
        for b in marks
    ]
    assert bags(texts) == [expected(text) for text in texts]
    assert bags(["\u0130\u0334stan", "\u0130\u0301stan"]) == [{"i\u0334stan": 1}, {"\u00edstan": 1}]
    for text in texts:
        word = characters.fold(text)
        assert characters.fold(word) == word == unicodedata.normalize("NFC", word)


def test_underscores_alone_are_no_word():
    """Red with: the lines of a form as the most probable word of a topic."""
    texts = [
        *(
            "name ____ date __ _id a__b __init__",
            "____________________________ é __漢字 __é é__",
            "__",
        )
    ]
    assert bags(texts) == [expected(text) for text in texts]
    assert bags(texts)[0] == {"name": 1, "date": 1, "_id": 1, "a__b": 1, "__init__": 1}
    assert [[token.word for token in characters.tokens(text)] for text in texts] == [
        *(list(expected(text)) for text in texts)
    ]


def test_the_zero_width_space_separates_words():
    assert bags(["mice\u200bsleep"]) == [{"mice": 1, "sleep": 1}]


def test_marks_out_of_order_are_put_in_order():
    """Red with: combining classes not compared, so that one word has two spellings."""
    shadda, fatha, letters = "\u0651", "\u064e", "\u0645\u062d"
    texts = [f"{letters}{a}{b}" for a, b in ((fatha, shadda), (shadda, fatha))]
    texts.append(f"{letters}{shadda}\u00ad{fatha}")
    assert bags(texts) == [{f"{letters}{fatha}{shadda}": 1}] * 3


def test_a_mark_without_a_letter_is_no_word_and_accents_do_not_make_a_letter_one():
    assert bags(["\u093e\u093f", "\u1eb9\u0301", "\u092e\u0947\u0902"]) == [
        {},
        {},
        {"\u092e\u0947\u0902": 1},
    ]


def test_no_case_folding_is_longer_than_the_table_has_room_for():
    pages = {ord(c) // 256 for c in assigned()}
    assert {len(characters.page(number)) for number in pages} == {256 * 8}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("主题模型很好", ["主题", "题模", "模型", "型很", "很好"]),
        ("2018年3月", ["2018", "年", "月"]),
        ("LDA模型A", ["lda", "模型"]),
        ("我 爱 X", ["我", "爱"]),
        ("コンピュータの性能を評価する", ["コンピュータ", "性能", "評価", "する"]),
        ("佐々木 〇一", ["佐々", "々木", "〇一"]),
        ("한국어 위키백과", ["한국어", "위키백과"]),
        ("\U00020000\U00020001", ["\U00020000\U00020001"]),
    ],
)
def test_scripts_without_spaces_are_cut(text, words):
    assert tokens(text) == words
    assert bags([text]) == [dict.fromkeys(words, 1)]


def test_utf8_is_what_python_takes_for_it():
    """Red with: overlong forms, surrogates, or characters beyond Unicode let through."""
    tails = (b"", b"\x80", b"\x80\x80", b"\xbf\xbf", b"\x80 ", b"\x80\x80\x80")
    texts = [
        b"a" + bytes([first, second]) + tail
        for first in range(0xC0, 0x100)
        for second in (*range(1, 8), *range(0x7E, 0x100))
        for tail in tails
    ]
    bad = [position for position, reason in count_words(texts).bad if reason == "not UTF-8"]
    assert bad == [position for position, text in enumerate(texts) if not is_utf8(text)]


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_a_pattern_that_is_given_is_taken_to_the_letter():
    """Red with: the default's own expression taken for the default."""
    found = count_words(["主题模型 コンピュータの X".encode()], compiled_pattern(r"\w\w+"))
    assert found.words.decode() == "主题模型コンピュータの"
    assert found.counts.tolist() == [1, 1]


def test_words_are_numbered_by_first_sight_and_so_is_their_dictionary():
    found = count_words([b"bb aa bb", b"cc aa", b""])
    assert found.indptr.tolist() == [0, 2, 4, 4]
    assert found.ids.tolist() == [0, 1, 2, 1]
    assert found.counts.tolist() == [2, 1, 1, 1]
    assert (found.words, found.ends.tolist()) == (b"bbaacc", [2, 4, 6])
    dictionary = Dictionary()
    assert dictionary.place(b"zzaa", found.ends[:2]).tolist() == [0, 1]
    assert dictionary.place(found.words, found.ends).tolist() == [2, 1, 3]
    assert (dictionary.words(), len(dictionary)) == (["zz", "aa", "bb", "cc"], 4)


def test_a_closed_dictionary_says_minus_one_and_stays_as_it_is():
    dictionary = Dictionary(["aa", "Zz"])
    found = count_words([b"bb aa Zz"])
    assert dictionary.place(found.words, found.ends).tolist() == [-1, 0, -1]
    assert dictionary.words() == ["aa", "Zz"]


def test_many_words_keep_their_numbers_while_the_table_grows():
    """Red with: a table that is not rebuilt, or shrinks a probe chain, when words are forgotten."""
    words = [f"w{i * 7919 % 50_021:x}" + "long" * (i % 4) for i in range(50_000)]
    half = " ".join(words[:25_000]).encode()
    found = count_words([half, " ".join(words).encode() + b" \xff", half + b" new"])
    assert [position for position, _ in found.bad] == [1]
    assert found.ids.tolist() == [*range(25_000), *range(25_000), 25_000][: len(found.ids)]
    assert len(found.ends) == 25_001
    dictionary = Dictionary(words)
    ids = dictionary.place(found.words, found.ends)
    assert ids.tolist() == [*range(25_000), -1]


def mixed(h: int, chunk: int) -> int:
    rotated = (h << 23 | h >> 41) & 2**64 - 1
    return (rotated ^ chunk) * 0x9FB21C651E98DF25 & 2**64 - 1


def test_words_whose_hashes_collide_are_different_words():
    """Red with: words compared by hash alone, or without their sizes."""

    def word(*chunks: int) -> bytes:
        return b"".join(chunk.to_bytes(8, "little") for chunk in chunks)

    first, other, second = 0x6161616161616161, 0x6262626262626262, 0x6363636363636363
    # the second half makes up for what the first changes
    change = mixed(0, 0) ^ (mixed(16, first) << 23 | mixed(16, first) >> 41) & 2**64 - 1
    change ^= (mixed(16, other) << 23 | mixed(16, other) >> 41) & 2**64 - 1
    hashed = mixed(mixed(16, first), second)
    words = [word(first, second), word(other, second ^ change), word(hashed ^ hashed >> 32)]
    ends = np.cumsum([len(w) for w in words])
    assert Dictionary().place(b"".join(words), ends).tolist() == [0, 1, 2]


def test_threads_that_count_at_the_same_time_do_not_see_each_other():
    """Red with: one counter for all threads."""
    texts = [
        [f"word{t} été 中国人 e\u0301{t} shared w{i % 97}" for i in range(1000)] for t in range(6)
    ]
    results: dict[int, list[dict[str, int]]] = {}

    def run(t: int) -> None:
        results[t] = bags(texts[t])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=run, args=(t,)) for t in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    for t in range(6):
        assert results[t] == [expected(text) for text in texts[t]]


INTERRUPTED = """
from pysgrld.corpus import characters
from pysgrld.corpus.reading import compiled_pattern
from pysgrld.corpus._tokenize import count_words

def stop(*_):
    raise KeyboardInterrupt

text = "aa e\u0301e bb".encode()
for name in ("page", "fold"):  # before the first page is there, then after
    right = getattr(characters, name)
    setattr(characters, name, stop)
    try:
        count_words([text])
    except KeyboardInterrupt:
        print(name)
    setattr(characters, name, right)
    assert count_words([text]).words == "aaéebb".encode()
"""


def test_an_interruption_in_the_middle_of_counting_comes_out_of_it():
    """Red with: errors of the Unicode tables swallowed (words would be missing without a word)."""
    command = [sys.executable, "-P", "-c", INTERRUPTED]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["page", "fold"]
