"""The wikitext stripper on arbitrary text and on any well-formed page."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from trial_counts import examples

from pysgrld.corpus.formats.mediawiki import stripper

WIKI = stripper({})
MARKS = [
    "{{",
    "}}",
    "[[",
    "]]",
    "[",
    "]",
    "{|",
    "|}",
    "|",
    "\n",
    "\n|-",
    "==",
    "'''",
    "''",
    "<!--",
    "-->",
    "<ref>",
    "</ref>",
    "<math>",
    "</math>",
    "<nowiki>",
    "</nowiki>",
    "<table>",
    "</table>",
    "<br>",
    "&nbsp;",
    "&amp;",
    "&#160;",
    "http://",
    ":",
    "File:x.jpg",
    "-{",
    "}-",
    "__TOC__",
    ";",
]
soup = st.lists(st.one_of(st.sampled_from(MARKS), st.text(max_size=5))).map("".join)
words = st.text(st.sampled_from("abcdefgüж語"), min_size=1, max_size=6)
prose = st.lists(words, min_size=1, max_size=5).map(" ".join)


def strip(text: bytes) -> bytes:
    return WIKI.strip([text])[0]


INLINE = [
    "[[target|_]]",
    "'''a _ b'''",
    "''a _ b''",
    "<b>_</b>",
    "{{x|_}}",
    "<ref>y</ref>_",
    "[http://x.y _]",
    "[[File:x.jpg|thumb|_]]",
    "<!-- y -->_",
    "[[link]] _",
    "&nbsp;_",
]
LINES = ["_", "== _ ==", "* _", ":# _", "{|\n|-\n| _\n|}", "<table><tr><td>_</table>", " _"]


def within(forms: list[str], inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda form, text: form.replace("_", text), st.sampled_from(forms), inner)


line = st.lists(st.recursive(prose, lambda inner: within(INLINE, inner), max_leaves=4), max_size=4)
pages = st.lists(within(LINES, line.map(" ".join)), max_size=6).map("\n".join)


@settings(max_examples=examples(100))
@given(st.one_of(st.binary(), soup.map(lambda text: text.encode("utf-8", "replace"))))
def test_any_bytes_give_no_more_bytes_for_bounded_work(source):
    assert len(strip(source)) <= len(source)
    assert WIKI.work(source) <= 32 * len(source)


@given(soup)
def test_utf8_stays_utf8(text):
    strip(text.encode("utf-8", "replace")).decode()


@given(st.lists(soup.map(lambda text: text.encode("utf-8", "replace"))))
def test_documents_do_not_know_of_each_other(documents):
    assert WIKI.strip(documents) == [strip(document) for document in documents]


@given(st.lists(prose).map("\n".join))
def test_text_without_markup_is_left_alone(text):
    assert strip(text.encode()) == text.encode()


@settings(max_examples=examples(150))
@given(pages)
def test_what_is_stripped_once_is_stripped(page):
    """Of well-formed pages: what is put together from the scraps of others may be markup."""
    once = strip(page.encode())
    assert strip(once).split() == once.split()


@given(prose, prose, prose)
def test_what_is_closed_takes_only_itself_along(before, inside, after):
    for mark in ("{{%s}}", "[[File:x.jpg|%s]]", "<ref>%s</ref>", "<math>%s</math>"):
        text = f"{before} {mark % inside} {after}"
        assert strip(text.encode()).split() == f"{before} {after}".encode().split()


@given(
    prose,
    st.sampled_from(["{{", "[[", "<ref>", "<!--", "<math>", "<table>", "<nowiki>", "\n{|\n"]),
    prose,
)
def test_what_is_never_closed_takes_no_word_along(before, mark, after):
    assert strip(f"{before} {mark}{after}".encode()).split() == f"{before} {after}".encode().split()
