"""Any text and any counts are read as they were written, however they are divided."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import shutil
import tempfile
from collections import Counter
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.tokens import folded, tokens
from trial_counts import examples

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.corpus import lines as decompress_module
from pysgrld.corpus._sparse import COUNT, parse_entries
from pysgrld.corpus._tokenize import Dictionary, WordCounts, count_words
from pysgrld.corpus.lines import DamagedStreamError, blocks
from pysgrld.corpus.links import PLACEHOLDERS
from pysgrld.corpus.write import renumber
from pysgrld.errors import CorpusError
from pysgrld.types import Documents

ALL = CorpusOptions(min_df=1, max_df=1.0, stop_words="none")
COMPRESS = {
    "plain": bytes,
    "gz": lambda data: gzip.compress(data, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
}

#: Where characters of different kinds meet is where a tokeniser can go wrong.
PIECES = st.sampled_from(
    [
        *("a", "Z", "_", "7", " ", "-", "<", "=", ">", "'", "\t", "\r", "\x7f"),
        *("é", "e\u0301", "\u0301", "\u0338", "\u0345", "ß", "İ", "ſ", "ﬁ", "K", "Å", "Σ", "ς"),
        *("中", "한", "\u1112\u1161\u11ab", "٣", "²", "½", "–", "’", "\u200d", "\u2028", "\u0085"),
        *("\U0001d400", "\U0001f600", "\u037e", "\u1fef", "\u0344", "\ud7a3", "\uffff", "ͅ"),
        *("国", "々", "〇", "か", "が", "か\u3099", "カ", "ー", "ｶ", "ﾞ", "・", "\U00020000"),
        *("\u1100", "\u1161", "\u11a8", "\u0323", "\u0f71", "\u0f72", "ี", "่", "्", "া", "ে"),
    ]
)
TEXT = st.one_of(
    st.text(st.characters(exclude_characters="\0\n", exclude_categories=["Cs"])),
    st.lists(PIECES).map("".join),
)


def counted(documents: list[bytes], pattern: re.Pattern[str] | None = None) -> list[Counter[str]]:
    found = count_words(documents, pattern)
    assert found.bad == []
    return bags(found, Dictionary())


def bags(found: WordCounts, dictionary: Dictionary) -> list[Counter[str]]:
    ids = dictionary.place(found.words, found.ends)[found.ids]
    words = dictionary.words()
    return [
        Counter({words[ids[e]]: int(found.counts[e]) for e in range(*span) if ids[e] >= 0})
        for span in pairwise(found.indptr.tolist())
    ]


@contextmanager
def folder():
    path = Path(tempfile.mkdtemp())
    try:
        yield path
    finally:
        shutil.rmtree(path)


def entries(corpus: Corpus) -> list[Counter[str]]:
    found = corpus.take(range(corpus.documents))
    return [
        Counter(
            {
                corpus.vocabulary[found.indices[e]]: int(found.counts[e])
                for e in range(found.indptr[d], found.indptr[d + 1])
            }
        )
        for d in range(corpus.documents)
    ]


@settings(max_examples=examples(250), deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=6))
def test_the_tokeniser_equals_its_specification_for_any_unicode(texts):
    """Red with: a run of one ideograph dropped, or of one letter kept; a run that does not end where
    another script begins."""
    found = counted([text.encode() for text in texts])
    assert found == [Counter(tokens(text)) for text in texts]


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=4), st.sets(st.sampled_from(["aa", "éa", "ss", "中한"])))
def test_a_closed_dictionary_knows_its_words_and_no_others(texts, words):
    found = bags(count_words([text.encode() for text in texts]), Dictionary(sorted(words)))
    every = [Counter(tokens(text)) for text in texts]
    assert found == [Counter({w: n for w, n in c.items() if w in words}) for c in every]


@settings(max_examples=examples(100), deadline=None)
@given(st.text(st.characters(max_codepoint=127, exclude_characters="\0")))
def test_on_ascii_the_tokens_are_those_of_scikit_learn(text):
    analyse = pytest.importorskip("sklearn.feature_extraction.text").CountVectorizer()
    expected = Counter(analyse.build_analyzer()(text))
    assert counted([text.encode()]) == [expected]


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(TEXT, max_size=5))
def test_another_pattern_equals_its_regular_expression(texts):
    pattern = re.compile(r"[^\W_]")
    found = counted([text.encode() for text in texts], pattern)
    normal = [folded(text) for text in texts]
    assert found == [Counter(pattern.findall(text)) for text in normal]


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=30),
            st.lists(st.sampled_from([b"aa ", b"bb ", b"cc ", "éé ".encode(), b"\xff", b"\0"])).map(
                b"".join
            ),
        ),
        max_size=8,
    )
)
def test_any_bytes_are_documents_or_bad_and_never_leave_a_trace_if_bad(documents):
    """Red with: words, entries, or last places of a bad document kept."""
    good, reasons = [], []
    for position, document in enumerate(documents):
        if b"\0" in document or not is_utf8(document):
            reasons.append(position)
        else:
            good.append(document)
    found, expected = count_words(documents), count_words(good)
    assert [position for position, _ in found.bad] == reasons
    for name in ("indptr", "ids", "counts", "ends"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()
    assert found.words == expected.words
    assert bags(found, Dictionary()) == [Counter(tokens(document.decode())) for document in good]


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.text("abc é", max_size=12), min_size=1, max_size=40), st.integers(1, 40))
def test_words_and_counts_do_not_depend_on_how_documents_are_batched(texts, size):
    documents = [text.encode() for text in texts]
    whole, parts = Dictionary(), Dictionary()
    together = bags(count_words(documents), whole)
    apart = [
        bag
        for i in range(0, len(documents), size)
        for bag in bags(count_words(documents[i : i + size]), parts)
    ]
    assert apart == together
    assert parts.words() == whole.words()


BAG = st.lists(
    st.dictionaries(st.integers(1, 9), st.integers(1, 2**31 - 1), max_size=5).filter(
        lambda d: sum(d.values()) < 2**31
    ),
    min_size=1,
    max_size=12,
).filter(lambda bag: bool(bag[-1]))


def uci(bag: list[dict[int, int]]) -> str:
    lines = [f"{d + 1} {w} {c}\n" for d, row in enumerate(bag) for w, c in row.items()]
    return f"{len(bag)}\n9\n{len(lines)}\n" + "".join(lines)


@settings(max_examples=examples(30), deadline=None)
@given(BAG, st.sampled_from(sorted(COMPRESS)), st.integers(16, 80))
def test_counts_that_were_written_are_read_whatever_the_compression_and_blocks(bag, kind, step):
    with folder() as path, pytest.MonkeyPatch.context() as patch:
        patch.setattr(decompress_module, "STEP", step)
        (path / "vocab.x.txt").write_text("".join(f"w{i}\n" for i in range(1, 10)))
        (path / "docword.x.txt").write_bytes(COMPRESS[kind](uci(bag).encode()))
        names = tuple(f"w{i}" for i in range(1, 10))
        corpus = open_corpus(
            [str(path / "docword.x.txt")], CorpusOptions(), store=path / "s", match=names
        )
        assert entries(corpus) == [Counter({f"w{w}": c for w, c in row.items()}) for row in bag]
        assert corpus.lengths().tolist() == [sum(row.values()) for row in bag]


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(TEXT, max_size=8), st.sampled_from(sorted(COMPRESS)), st.integers(1, 64))
def test_text_is_counted_line_by_line_whatever_the_compression_and_blocks(texts, kind, step):
    # names are left out, and so are texts such as NA
    texts = [text.replace("@", "") for text in texts]
    texts = ["" if text.strip().casefold() in PLACEHOLDERS else text for text in texts]
    texts = ["this is text", *texts]  # and not some other format by chance
    expected = [Counter(tokens(text)) for text in texts]
    data = "\n".join(texts).encode()
    with folder() as path, pytest.MonkeyPatch.context() as patch:
        patch.setattr(decompress_module, "STEP", step)
        (path / "x.txt").write_bytes(COMPRESS[kind](data + b"\n"))
        words = tuple(dict.fromkeys(word for c in expected for word in c))
        corpus = open_corpus([str(path / "x.txt")], ALL, store=path / "s", match=words)
        assert entries(corpus) == expected


@settings(max_examples=examples(50), deadline=None)
@given(BAG, st.data())
def test_renaming_words_keeps_counts_and_sorts_them(bag, data):
    remap = np.asarray(data.draw(st.permutations(range(-3, 7))), np.int32)
    remap[remap < 0] = -1
    lengths = [len(row) for row in bag]
    block = Documents(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.asarray([w for row in bag for w in row], np.int32),
        np.asarray([c for row in bag for c in row.values()], np.int32),
    )
    new = renumber(block, remap)
    for d, row in enumerate(bag):
        span = slice(new.indptr[d], new.indptr[d + 1])
        expected = sorted((int(remap[w]), c) for w, c in row.items() if remap[w] >= 0)
        assert list(zip(new.indices[span].tolist(), new.counts[span].tolist(), strict=True)) == (
            expected
        )


@settings(max_examples=examples(150), deadline=None)
@given(st.text("0123456789 \t\n\r-.eN", max_size=60))
def test_lines_of_numbers_are_parsed_exactly_as_far_as_they_are_right(text):
    ids, words, counts, wrong = parse_entries(text.encode(), 1, 50, 40, COUNT)
    good, last = [], 1
    for line in text.removesuffix("\n").split("\n") if text else []:
        match = re.fullmatch(r"[ \t]*([0-9]+)[ \t]+([0-9]+)[ \t]+([0-9]+)[ \t\r]*", line)
        values = tuple(map(int, match.groups())) if match else (0, 0, 0)
        if not (last <= values[0] <= 50 and 1 <= values[1] <= 40 and 1 <= values[2] < 2**31):
            break
        last = values[0]
        good.append((values[0], values[1] - 1, values[2]))
    else:
        assert wrong == -1
        wrong = len(good)
    assert wrong == len(good)
    assert list(zip(ids.tolist(), words.tolist(), counts.tolist(), strict=True)) == good


@settings(max_examples=examples(75), deadline=None)
@given(st.binary(max_size=200), st.sampled_from(["docword.x.txt", "x.txt", "x.jsonl", "v"]))
def test_any_file_is_a_corpus_or_a_corpus_error(data, name):
    with folder() as path:
        (path / name).write_bytes(data)
        left, message = [name, "s"], ""
        try:
            open_corpus([str(path / name)], ALL, store=path / "s")
        except CorpusError as error:
            left, message = [name], str(error)
        assert "\n" not in message
        assert sorted(p.name for p in path.iterdir()) == sorted(left)


@settings(max_examples=examples(75), deadline=None)
@given(st.sampled_from(["gz", "bz2", "xz", "zst"]), st.integers(0, 10**6), st.integers(1, 255))
def test_a_changed_byte_never_escapes_as_anything_but_damage(kind, place, flip):
    data = bytearray(COMPRESS[kind](b"some words, more words and other words\n" * 20))
    data[place % len(data)] ^= flip
    rest = bytes(data)

    def raw(size: int) -> bytes:
        nonlocal rest
        piece, rest = rest[:size], rest[size:]
        return piece

    size = 0
    with suppress(DamagedStreamError):
        for block in blocks(raw):
            size += len(block)
    assert size < 2**24
