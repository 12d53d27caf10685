"""Links, addresses, names and entities in texts, and texts that stand for none."""

from __future__ import annotations

import json
import re
import time
from collections import Counter

import pytest
from listeners import Lines
from named_corpora import build, every, lines_of

from pysgrld.corpus import CorpusOptions
from pysgrld.corpus.links import PLACEHOLDERS, plain_texts, without_links
from pysgrld.corpus.masks import masked
from pysgrld.corpus.reading import KEEP_LINKS

TWEETS = [
    "RT @jane_doe: mice sleep in winter &amp; birds fly https://t.co/AbC123",
    "write to ann.lee@cs.cmu.edu or see www.example.com/a?b=c, cats &lt;3",
    "fish &amp;lt; dogs &#39;swim&#39; caf&eacute;",
]


def words(corpus) -> set[str]:
    return set(corpus.vocabulary)


def tweets(folder):
    return lines_of(folder / "t.jsonl", [{"full_text": text} for text in TWEETS])


def test_links_names_and_entities_are_no_words_and_are_counted(tmp_path):
    """Red with: https, co, rt and amp among the words, of which nothing is said."""
    said = Lines()
    corpus = build(tmp_path, tweets(tmp_path), log=said, text_field="full_text")
    assert words(corpus) == {
        *("mice", "sleep", "in", "winter", "birds", "fly", "write", "to", "or", "see", "cats"),
        *("fish", "dogs", "swim", "café"),
    }
    line = "2 links, 1 e-mail address, 1 @name, 1 RT removed (--keep-links keeps them)"
    assert line in said
    assert corpus.about.texts(every(corpus)) == TWEETS


def test_keep_links_keeps_their_words(tmp_path):
    corpus = build(tmp_path, tweets(tmp_path), text_field="full_text", keep_links=True)
    assert words(corpus) >= {"rt", "jane_doe", "https", "abc123", "edu", "www", "example"}
    assert not words(corpus) & {"amp", "lt", "eacute"}


def test_plain_text_and_csv_are_read_alike(tmp_path):
    plain, table = tmp_path / "t.txt", tmp_path / "t.csv"
    plain.write_text("\n".join(TWEETS) + "\n")
    table.write_text("text\n" + "".join(json.dumps(t) + "\n" for t in TWEETS))
    assert words(build(tmp_path, plain, name="a")) == words(build(tmp_path, table, name="b"))


def test_other_documents_are_read_as_those_of_a_corpus_were(tmp_path):
    """Red with: new documents of an older run read without the links that its words are of."""
    corpus = build(tmp_path, tweets(tmp_path), text_field="full_text")
    assert not CorpusOptions.over(corpus.reading, {}).keep_links
    older = {name: value for name, value in corpus.reading.items() if name != KEEP_LINKS}
    assert CorpusOptions.over(older, {}).keep_links


@pytest.mark.parametrize(
    "text", ["a@b", "me @ home", "at 5@10", "https:", "R&D and AT&T;", "&unknown; x", "&#0;", "www"]
)
def test_other_texts_stay_as_they_are(text, tmp_path):
    path = tmp_path / "t.txt"
    path.write_text(f"mice {text}\n")
    said = Lines()
    build(tmp_path, path, log=said)
    assert not [line for line in said if "--keep-links" in line]


def test_links_are_blanks_of_the_same_length():
    text = "see https://t.co/é and @ann now"
    assert without_links(text) == "see " + " " * 14 + " and " + " " * 4 + " now"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("@a @b", ["a b"]),
        ("x RT @a: y", ["x y"]),
        ("PRT @a", ["prt"]),
        ("see http://x.y/@ann?q=b@c.de then @bob", ["see then"]),
        ("m\u00fcller@uni-k\u00f6ln.de schrieb", ["schrieb"]),
        ("a.b+c@d.e", [""]),
        ("@ann.lee sings", ["lee sings"]),
        ("HTTP://X.Y/z end", ["end"]),
        ("(see www.x.org) end", ["see end"]),
    ],
)
def test_the_ends_of_links_and_names(text, rest):
    left_out = Counter[str]()
    plain = plain_texts([text.encode()], keep_links=False, left_out=left_out)
    found = [" ".join(re.findall(r"\w\w+", t.decode())).casefold() for t in plain]
    masked = " ".join(re.findall(r"\w\w+", without_links(text))).casefold()
    wanted = " ".join(w for w in rest[0].split() if len(w) > 1)
    assert (found, masked) == ([wanted], wanted)


@pytest.mark.parametrize("text", sorted(PLACEHOLDERS))
def test_a_text_that_stands_for_none_is_empty_and_counted(text, tmp_path):
    """Red with: a topic of the words "no abstract available"."""
    path = tmp_path / "t.csv"
    path.write_text(f"text\nmice sleep\n{text}\n {text.upper()} \n")
    said = Lines()
    corpus = build(tmp_path, path, log=said)
    assert words(corpus) == {"mice", "sleep"}
    assert (
        f"2 documents read as empty, because the text is only a placeholder: '{text}' (2)" in said
    )


@pytest.mark.parametrize(
    ("line", "rest", "kinds"),
    [
        ("open /var/log/app.log failed: errno 13", "open failed: errno", ["path", "figure"]),
        (r"load C:\Windows\x.dll and/or run ./a.sh", "load and/or run", ["path"]),
        (
            "from 10.250.19.102:54106 to fe80::1ff:fe23 in 15ms",
            "from to in",
            ["IP address", "figure"],
        ),
        ("mac 00:1a:2b:3c:4d:5e up", "mac up", ["IP address"]),
        ("at 0x7ffde4 commit 3f2a9bc of a decade", "at commit of a decade", ["hexadecimal"]),
        ("id 550e8400-e29b-41d4-a716-446655440000 x", "id x", ["hexadecimal"]),
        ("2024-05-01T12:30:01.123Z node12 utf8 20% 4,096", "node12 utf8", ["figure"]),
        ("std::vector foo::bar café mp3", "std::vector foo::bar café mp3", []),
    ],
)
def test_masks_leave_the_words_of_log_lines(line, rest, kinds):
    """Red with: a time that is an address, names with digits or colons that are none of these."""
    left_out: Counter[str] = Counter()
    (plain,) = masked([line.encode()], left_out)
    assert plain.decode().split() == rest.split()
    assert sorted(left_out) == sorted(kinds)


def test_masked_lines_are_counted_and_new_ones_are_read_alike(tmp_path):
    """Red with: a mask that later documents of the corpus do not have; no count in the log."""
    said, path = Lines(), tmp_path / "app.log"
    path.write_text("open /var/log failed 0xdead17\nopen /tmp failed 0xbeef18\n")
    corpus = build(tmp_path, path, log=said, mask=True, numbers="keep")
    assert words(corpus) == {"open", "failed"}
    assert "2 paths, 2 hexadecimal numbers removed (--mask)" in said
    assert CorpusOptions.over(corpus.reading, {}).mask


def test_masks_take_long_words_in_time():
    """Red with: a repetition that looks at the rest of a word again from each of its letters."""
    for unit in ("1", "1:", "a:", "/", "1.", "a1", "1-", "::", "f1"):
        begin = time.process_time()
        masked([unit.encode() * 20_000 + b"~z"], Counter())
        assert time.process_time() - begin < 2.0, unit
