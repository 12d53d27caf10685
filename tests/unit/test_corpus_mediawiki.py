"""MediaWiki dumps: which pages are articles, of any version of the format, and what is refused."""

from __future__ import annotations

import bz2
from pathlib import Path

import pytest

from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.corpus.about.details import WantedFields
from pysgrld.corpus.formats import Context, Noticed, mediawiki, recognise
from pysgrld.corpus.formats.mediawiki import is_redirect
from pysgrld.corpus.formats.protocol import BadDocuments, RecordCounter
from pysgrld.corpus.lines import Lines
from pysgrld.errors import CorpusError

DATA = Path(__file__).parents[1] / "data"
ALL = {"min_df": 1, "max_df": 1.0, "stop_words": "none"}
PAGE = "<page><title>{title}</title>{more}<revision><text>{text}</text></revision></page>"


def dump(*pages: str, version: str = "0.11") -> str:
    return f'<mediawiki version="{version}">\n' + "\n".join(pages) + "\n</mediawiki>\n"


def page(text: str, title: str = "Bread", more: str = "<ns>0</ns>") -> str:
    return PAGE.format(title=title, more=more, text=text)


class Reading:
    """All that reading a file gave."""

    def __init__(self, path: Path, *, keep_empty: bool = False, skip: bool = False, **options):
        self.log: list[str] = []
        self.bad = BadDocuments(skip)
        chosen = CorpusOptions(**options)
        wanted = WantedFields.of(chosen)
        context = Context(
            chosen,
            wanted,
            self.bad,
            keep_empty,
            lambda _: None,
            self.log.append,
            Noticed(),
            RecordCounter(),
        )
        self.raw: list[str] = []
        self.prose: list[str] = []
        self.lines: list[int] = []
        self.batches = 0
        with Lines(path, chosen.max_line) as source:
            assert recognise(source.head, source.name).name == "MediaWiki XML"
            for texts in mediawiki.read(source, context):
                self.batches += 1
                self.raw += [text.decode() for text in texts.documents]
                self.prose += [text.decode() for text in texts.clean(texts.documents)]
                self.lines += texts.lines


def read(tmp_path: Path, text: str | bytes, **more) -> Reading:
    path = tmp_path / "x.xml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Reading(path, **more)


def test_the_oldest_format_has_its_namespaces_from_titles_and_redirects_from_texts():
    """Red with: the prefix looked up as it is written, `talk:`; any `prefix:` a namespace."""
    found = Reading(DATA / "wiki-0.3.xml")
    assert found.lines == [13, 64]
    assert found.prose == [
        "Bread is baked from flour and water.\n\nKinds\nrye bread\nspelt bread",
        "Rye is a grass; bread of rye keeps for weeks.",
    ]
    assert found.log[-1].endswith(
        "read 2 articles of 7 pages; skipped 2 redirects, 2 pages of other namespaces and 1 empty pages"
    )


def test_a_new_format_says_what_a_page_is_and_what_its_namespaces_are_called():
    """Red with: names of namespaces not taken from the dump; models not looked at."""
    found = Reading(DATA / "wiki-0.11.xml")
    assert found.prose == ["Käse ist ein Milchprodukt.\n\nSiehe Molkereien", "Käse reiben"]
    assert found.log[-1].endswith(
        "read 2 articles of 5 pages; skipped 1 redirect, 2 pages of other namespaces and 0 empty pages"
    )


def test_a_compressed_dump_becomes_a_corpus(tmp_path):
    path = tmp_path / "xwiki-latest-pages-articles.xml.bz2"
    path.write_bytes(bz2.compress((DATA / "wiki-0.3.xml").read_bytes()))
    corpus = open_corpus([str(path)], CorpusOptions(**ALL), store=tmp_path / "s")
    assert corpus.documents == 2
    assert {"flour", "rye", "spelt"} <= set(corpus.vocabulary)
    assert not {"ref", "thumb", "gravel", "brot", "infobox"} & set(corpus.vocabulary)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-8"])
def test_other_encodings_are_read(tmp_path, encoding):
    text = (DATA / "wiki-0.11.xml").read_text().replace(' encoding="utf-8"', "")
    found = read(tmp_path, text.encode(encoding))
    assert found.prose[1] == "Käse reiben"
    assert found.lines == [13, 46]


def test_the_last_revision_counts(tmp_path):
    """Red with: revisions put together."""
    two = page("old").replace("</page>", "<revision><text>new</text></revision></page>")
    assert read(tmp_path, dump(two, page("other"))).raw == ["new", "other"]


def test_a_later_revision_without_text_is_an_empty_page(tmp_path):
    two = page("old").replace("</page>", '<revision><text deleted="deleted" /></revision></page>')
    found = read(tmp_path, dump(two, page("other")))
    assert found.raw == ["other"]
    assert "1 empty" in found.log[-1]


def test_texts_of_other_slots_are_not_taken(tmp_path):
    slots = "<content><role>side</role><model>x</model><text>side</text></content>"
    text = dump(page("main").replace("</revision>", slots + "</revision>"))
    assert read(tmp_path, text).raw == ["main"]


@pytest.mark.parametrize(
    ("text", "local", "expected"),
    [
        ("#REDIRECT [[Bread]]", False, True),
        (" \n#redirect:[[Bread]] {{R from plural}}", False, True),
        ("# Redirect [[Bread]]", False, True),
        ("#REDIRECT", False, False),
        ("#Redirecting [[light]] is done by mirrors.", False, False),
        ("#ПЕРЕНАПРАВЛЕНИЕ [[Хлеб]]", True, True),
        ("#đổi hướng [[Bánh mì]]", True, True),
        ("#転送[[パン]]", True, True),
        ("#เปลี่ยนทาง [[ขนมปัง]]", True, True),
        ("#Käse [[reiben]]", False, False),
        ("#Käse [[reiben]]" + " und backen" * 30, True, False),
        ("# Käse [[reiben]]", True, False),
        ("* [[Bread]]", True, False),
    ],
)
def test_redirects_by_their_text(text, local, expected):
    assert is_redirect(text, local) is expected


def test_batches_are_about_a_megabyte_and_lines_are_those_of_pages(tmp_path):
    found = read(tmp_path, dump(*[page("x" * 99_999 + "\n") for _ in range(50)]))
    assert len(found.raw) == 50
    assert 3 <= found.batches <= 6
    assert found.lines == list(range(2, 102, 2))


def test_a_page_above_the_limit_is_a_bad_document(tmp_path):
    text = dump(page("a"), page("b" * 3000), page("c"))
    with pytest.raises(
        CorpusError, match=r"x\.xml:3: the page has more than 2000 bytes .*--set max-line"
    ):
        read(tmp_path, text, max_line=2000)
    found = read(tmp_path, text, max_line=2000, skip=True)
    assert found.raw == ["a", "c"]
    assert found.bad.skipped == {"line too long": 1}
    assert read(tmp_path, text, max_line=2000, skip=True, keep_empty=True).raw == ["a", "", "c"]


def test_a_page_above_the_limit_is_not_missed_where_it_is_no_article(tmp_path):
    text = dump(page("a"), page("b" * 3000, more="<ns>1</ns>"), page("c"))
    assert read(tmp_path, text, max_line=2000).raw == ["a", "c"]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("<?xml version='1.0'?>\n<rss/>", 2, "not a MediaWiki dump .it begins with <rss>"),
        ("<!DOCTYPE page>\n<page></page>", 1, "document type"),
        (dump(page("a"), page("b & c")), 3, r"not well formed.*\(after 1 article\)"),
        (dump(page("a"), page("b &nbsp; c")), 3, "undefined entity"),
        (dump(page("a")) + "<mediawiki/>", 4, "junk after document"),
        (
            dump(page("a"), page("b", more="<title>" + "t" * 5000 + "</title>")),
            3,
            "an element <title> has more",
        ),
        ("<?xml version='1.0'?>" + " " * 100_000, 1, "no <mediawiki> in the first"),
        ("<?xml version='1.0'?>\n", 2, "the dump is incomplete"),
    ],
)
def test_what_is_no_dump_is_refused_with_its_line(tmp_path, text, line, says):
    with pytest.raises(CorpusError, match=says) as caught:
        read(tmp_path, text)
    assert caught.value.line == line
    assert "\n" not in str(caught.value)


def test_a_title_may_have_as_many_bytes_as_a_field_and_no_more(tmp_path):
    assert read(tmp_path, dump(page("bread", title="é" * 2048))).raw == ["bread"]
    with pytest.raises(CorpusError, match="an element <title> has more than 4096 bytes"):
        read(tmp_path, dump(page("bread", title="é" * 2048 + "e")))


@pytest.mark.parametrize("compress", [bytes, bz2.compress])
def test_a_dump_that_is_cut_off_says_where_and_after_how_many_articles(tmp_path, compress):
    whole = compress(dump(*[page(f"text {n} " * 9) for n in range(9)]).encode())
    cut = whole[: len(whole) * 2 // 3]
    with pytest.raises(
        CorpusError, match=r"incomplete.*download it again|download or export the file again"
    ) as found:
        read(tmp_path, cut)
    assert found.value.line is not None
    if compress is bytes:
        pages = cut.count(b"</page>")
        assert f"(after {pages} article" in str(found.value)
        assert found.value.line == cut.count(b"\n") + 1


def test_a_dump_without_articles_says_so(tmp_path):
    path = tmp_path / "x.xml"
    path.write_text(dump(page("#REDIRECT [[a]]")))
    with pytest.raises(CorpusError, match="no document has a word"):
        open_corpus([str(path)], CorpusOptions(**ALL), store=tmp_path / "s")


def test_text_that_mentions_dumps_is_text(tmp_path):
    assert recognise(b"The <mediawiki> element", "x.txt").name == "plain text"
    assert recognise(b"<!-- note --> text", "x.txt").name == "plain text"
    assert recognise(b"<!-- note -->\n<mediawiki>", "").name == "MediaWiki XML"
