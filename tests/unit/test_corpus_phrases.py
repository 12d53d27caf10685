"""Phrases: found in a corpus, listed in a file, and counted as one word wherever they stand."""

import math
import random
import re
from pathlib import Path

import numpy as np
import pytest
from listeners import Lines

from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.corpus import phrases as finding
from pysgrld.corpus._tokenize import Pairs, Phrases, count_words
from pysgrld.corpus.phrases import find_phrases, lines
from pysgrld.corpus.sources import recipe, stands_for
from pysgrld.corpus.streams import matched_documents
from pysgrld.errors import CorpusError, MissingInputError, UsageError
from pysgrld.options.word_files import read_phrases


def silent(*_):
    pass


def words_of(found):
    ends = found.ends.tolist()
    return [found.words[b:e].decode() for b, e in zip([0, *ends], ends, strict=False)]


def order_of(text, phrases=()):
    found = count_words([text.encode()], None, Phrases(phrases) if phrases else None, True)
    words = words_of(found)
    assert found.order[-1] == -1
    return " ".join("|" if i < 0 else words[i] for i in found.order[:-1].tolist())


def find(path, **how):
    options = how.pop("options", CorpusOptions())
    return find_phrases([str(path)], options, notify=silent, log=how.pop("log", silent), **how)


def written(folder, documents):
    path = folder / "texts.txt"
    path.write_text("".join(f"{text}\n" for text in documents))
    return path


# ---- words in their order


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("New York's well-known\tBig  Apple", "new york | well known big apple"),
        ("new. york, new (york) new; york", "new | york | new | york | new | york"),
        ("new\nyork\n\ncity\r\nhall", "new york | city hall"),
        ("vitamin C pills; été chaud. “São Paulo”", "vitamin | pills | été chaud | são paulo"),
        ("Paris—London 東京都 bar", "| paris | london | | 東京 | 京都 | bar"),
        ("", ""),
        ("... !", "|"),
    ],
)
def test_neighbours_stand_in_a_sentence(text, order):
    """Red with: points that join; blank lines that join; a word of one letter passed over."""
    assert order_of(text) == order


def greedy(words, phrases):
    """The same by lists."""
    found, i = [], 0
    while i < len(words):
        for n in range(min(4, len(words) - i), 0, -1):
            part = words[i : i + n]
            if n == 1 or (" ".join(part) in phrases and "|" not in part):
                found.append("_".join(part))
                i += n
                break
    return found


def test_the_longest_phrase_is_taken_first_and_greedily():
    """Red with: the shortest; a phrase that goes on over the end of a sentence."""
    rng = random.Random(1)
    for _ in range(200):
        words = [rng.choice(["aa", "bb", "cc", "dd", "|"]) for _ in range(rng.randrange(12))]
        phrases = {
            " ".join(rng.choice(["aa", "bb", "cc"]) for _ in range(rng.randint(2, 4)))
            for _ in range(rng.randint(1, 6))
        }
        text = " ".join(words).replace("|", ".")
        want = [word for word in greedy(words, phrases) if word != "|"]
        found = order_of(text, sorted(phrases)).split()
        assert [word for word in found if word != "|"] == want
        counts = count_words([text.encode()], None, Phrases(sorted(phrases)))
        assert dict(zip(words_of(counts), counts.counts.tolist(), strict=True)) == {
            word: want.count(word) for word in want
        }


def test_documents_that_are_bad_or_long_leave_no_trace_on_others():
    """Red with: the sequence of a bad document taken for the beginning of the next."""
    phrases = Phrases(["new york"])
    found = count_words([b"new \xff", b"york new york", b"new\0", b"york"], None, phrases, True)
    assert [i for i, _ in found.bad] == [0, 2]
    assert words_of(found) == ["york", "new_york"]
    assert found.counts.tolist() == [1, 1, 1]
    line = b"new york " * (1 << 17)  # more than a megabyte
    found = count_words([line, b""], None, phrases)
    assert words_of(found) == ["new_york"]
    assert found.counts.tolist() == [1 << 17]
    plain = count_words([b"new york"])
    assert words_of(plain) == ["new", "york"]
    assert plain.order is None


def test_pairs_in_bounded_memory_lack_no_more_than_is_said():
    """Red with: frequent pairs dropped before rare ones; what was dropped not counted."""
    rng = np.random.default_rng(0)
    pairs = Pairs(3000)
    ids, marked = np.arange(400, dtype=np.int32), np.zeros(400, np.uint8)
    true = {}
    for _ in range(60):
        order = rng.zipf(1.3, 2000).clip(0, 399).astype(np.int32)
        pairs.add(order, ids, marked, False)
        for pair in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
            true[pair] = true.get(pair, 0) + 1
    assert len(true) > 6000
    first, second, counts = pairs.frequent(1)
    assert len(counts) <= 3000
    assert 0 < pairs.lacking < 60
    found = dict(
        zip(zip(first.tolist(), second.tolist(), strict=True), counts.tolist(), strict=True)
    )
    for pair, count in true.items():
        assert count - pairs.lacking <= found.get(pair, 0) <= count


# ---- found


TEXTS = (
    ["Fast trains to New York City. New York City is large"] * 15
    + ["The United States of America, and new york"] * 10
    + ["red green", "green red", "of the", "blue red blue green"] * 12
)


def test_pairs_and_triples_are_found_by_their_association(tmp_path):
    """Red with: N of the pairs for N of the words; stop words inside; ends of sentences passed over."""
    found = {p.words: p for p in find(written(tmp_path, TEXTS), count=10)}
    assert set(found) >= {"new york", "new york city", "united states", "fast trains"}
    assert found["new york"].occurrences == 40
    assert found["new york city"].occurrences == 30
    assert not any(word in {"of", "the", "is", "and", "to"} for p in found for word in p.split())
    assert "arrive new" not in found
    words = [word for text in TEXTS for word in re.findall(r"\w\w+", text.lower())]
    for pair in ("new york", "york city", "fast trains"):
        p = found[pair].occurrences / len(words)
        a, b = (words.count(word) / len(words) for word in pair.split())
        assert found[pair].npmi == pytest.approx(math.log(p / (a * b)) / -math.log(p)), pair
    assert found["new york"].npmi == pytest.approx(1.0)
    assert found["york city"].npmi < 0.99
    assert all(1 >= p.npmi >= 0.5 for p in found.values())
    assert find(written(tmp_path, TEXTS), count=41) == []
    assert find(written(tmp_path, TEXTS), count=10, npmi=0.999999) != []


def test_stop_words_of_another_language_than_the_text_are_told(tmp_path):
    """Red with: phrases of a Spanish text "fue un" and "del siglo", and no word on why."""
    lines = Lines()
    inputs = written(
        tmp_path, ["la casa que hemos visto estaba en la colina y ellos no estaban allí"] * 9
    )
    find(inputs, log=lines.append)
    assert [line for line in lines if "--stop-words spanish" in line] == lines != []
    lines.clear()
    find(inputs, log=lines.append, options=CorpusOptions(stop_words="spanish"))
    assert lines == []


def test_threads_and_small_memory_do_not_change_what_is_found(tmp_path, monkeypatch):
    path = written(tmp_path, TEXTS * 20)
    one = find(path, count=10)
    assert find(path, count=10, threads=3) == one
    monkeypatch.setattr(finding, "MOST_PAIRS", 8)
    said = Lines()
    few = find(path, count=400, log=said.append)
    assert any("rare pairs were dropped" in line for line in said)
    assert {p.words for p in few} <= {p.words for p in one}


@pytest.mark.parametrize(("lacking", "told"), [(4, False), (5, True)])
def test_counts_that_may_be_too_small_by_five_are_told_of(tmp_path, monkeypatch, lacking, told):
    class Few(finding.Pairs):
        @property
        def lacking(self):
            return lacking

    monkeypatch.setattr(finding, "Pairs", Few)
    said = Lines()
    find(written(tmp_path, TEXTS * 20), count=10, log=said.append)
    assert any(f"too small by up to {lacking}" in line for line in said) == told


@pytest.mark.parametrize(
    ("inputs", "options", "error", "said"),
    [
        (["-"], {}, UsageError, "read only once"),
        (["texts.txt"], {"token_pattern": r"\w+"}, UsageError, "token_pattern"),
        (["missing.txt"], {}, MissingInputError, "missing.txt"),
        (
            [str(Path(__file__).parents[1] / "data/docword.tiny.txt")],
            {},
            CorpusError,
            "order of words",
        ),
    ],
)
def test_what_has_no_order_of_words_is_refused(tmp_path, monkeypatch, inputs, options, error, said):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, TEXTS)
    with pytest.raises(error, match=said):
        find_phrases(inputs, CorpusOptions(**options), notify=silent, log=silent)


# ---- a file of them


def test_what_is_found_is_read_again(tmp_path):
    found = find(written(tmp_path, TEXTS), count=10)
    path = tmp_path / "phrases"
    path.write_text(lines(found, "texts.txt"))
    assert read_phrases(str(path)) == tuple(sorted(p.words for p in found))
    path.write_text("\ufeff# mine\r\nNew  York\t12\nnew york\n\nE\u0301te\u0301 chaud\n")
    assert read_phrases(str(path)) == ("new york", "été chaud")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "has no phrase"),
        (b"# none\n\n", "has no phrase"),
        (b"new york\nnew\n", "'new' has 1 word, but a phrase has 2 to 10"),
        (b"aa " * 400_000, "has 400,000 words"),
        (b"new york-city\n", "can never occur"),
        (b"vitamin c\n", "can never occur"),
        (b"new \xff\n", "the file is not UTF-8"),
    ],
)
def test_a_damaged_file_is_refused_in_a_line(tmp_path, content, said):
    path = tmp_path / "phrases"
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=said) as refused:
        read_phrases(str(path))
    assert len(str(refused.value)) < 400
    with pytest.raises(MissingInputError, match="--phrases"):
        read_phrases(str(tmp_path / "none"))


# ---- counted


def test_a_corpus_counts_phrases_as_words_and_other_documents_are_read_alike(tmp_path):
    """Red with: phrases forgotten in the record; not known when documents are matched."""
    path = written(tmp_path, TEXTS)
    options = CorpusOptions(phrases=("new york", "new york city"), min_df=1, max_df=1.0)
    corpus = open_corpus([str(path)], options, store=tmp_path / "a")
    words = dict(zip(corpus.vocabulary, corpus.totals.word_counts.tolist(), strict=True))
    assert words["new_york_city"] == 30
    assert words["new_york"] == 10
    assert "york" not in words
    assert corpus.reading["phrases"] == ["new york", "new york city"]
    assert stands_for(corpus.provenance, [str(path)], options, silent)
    other = CorpusOptions(phrases=("new york",), min_df=1, max_df=1.0)
    assert not stands_for(corpus.provenance, [str(path)], other, silent)
    assert recipe(other) != recipe(options)  # by which a build that was interrupted goes on
    blocks = matched_documents(
        [str(path)],
        options.for_known_words(),
        corpus.vocabulary,
        threads=1,
        notify=silent,
        log=silent,
    )
    assert sum(block.tokens for block in blocks) == corpus.tokens


def test_phrases_of_what_has_no_order_of_words_are_refused(tmp_path):
    """A corpus that is stored, counts, and words by a pattern of one's own."""
    path = written(tmp_path, TEXTS)
    open_corpus([str(path)], CorpusOptions(), store=tmp_path / "a")
    asked = CorpusOptions(phrases=("new york",))
    for given in (tmp_path / "a", Path(__file__).parents[1] / "data/docword.tiny.txt"):
        with pytest.raises(CorpusError, match="--phrases needs text"):
            open_corpus([str(given)], asked, store=tmp_path / "b")
    with pytest.raises(UsageError, match="--token-pattern"):
        CorpusOptions(phrases=("new york",), token_pattern=r"\w+")
