"""Files that are one document each: pages, Word documents, PDF, and plain text."""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path

import pytest
from listeners import Lines

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.corpus.formats.extract import html, joined_lines
from pysgrld.corpus.formats.protocol import BadDocument
from pysgrld.corpus.inputs import resolve_document_is
from pysgrld.corpus.streams import named_documents
from pysgrld.errors import CorpusError, MissingInputError, UsageError

ALL = {"min_df": 1, "max_df": 1.0, "stop_words": "none"}
OPTIONS = CorpusOptions(**ALL)
PAGE = b"""<!DOCTYPE html><html><head><title>Bread &amp;
  wine</title><style>p { color: hidden }</style><script>var hidden = "<p>hidden</p>";</script></head>
<body><!-- hidden --><nav>menu</nav><p>un<b>broken</b> word</p><p>next<br>line</p>
<table><tr><td>left</td><td>right</td></tr></table><noscript>hidden</noscript></body></html>"""


def read(inputs: Path | list[Path], store: Path, log=None, **more: object) -> Corpus:
    inputs = inputs if isinstance(inputs, list) else [inputs]
    options = CorpusOptions(**ALL | more)
    return open_corpus([str(path) for path in inputs], options, store=store, log=log)


def texts(corpus: Corpus) -> list[str]:
    return corpus.about.texts(range(corpus.documents))


def word_document(*paragraphs: str, table: str = "") -> bytes:
    docx = pytest.importorskip("docx")
    document, file = docx.Document(), io.BytesIO()
    for text in paragraphs:
        document.add_paragraph(text)
    if table:
        document.add_table(1, 1).cell(0, 0).text = table
    document.save(file)
    return file.getvalue()


def pdf_document(*pages: str, password: str = "") -> bytes:
    pypdf = pytest.importorskip("pypdf")
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer, file = pypdf.PdfWriter(), io.BytesIO()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(300, 300)
        stream = DecodedStreamObject()
        lines = "".join(f"({line}) Tj 0 -20 Td " for line in text.split("\n"))
        stream.set_data(f"BT /F1 12 Tf 10 200 Td {lines}ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
        fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    writer.write(file)
    return file.getvalue()


# ---- pages


def test_of_a_page_stays_what_a_reader_sees_and_its_title(tmp_path):
    """Red with: script left in; text of neighbouring cells run together; a word cut at a tag."""
    (tmp_path / "page.html").write_bytes(PAGE)
    corpus = read(tmp_path / "page.html", tmp_path / "s")
    assert set(corpus.vocabulary) == {
        *("menu", "unbroken", "word", "next", "line", "left", "right")
    }
    assert corpus.about.titles([0]) == ["Bread & wine"]
    assert corpus.about.ids([0]) == ["page.html"]


@pytest.mark.parametrize(
    ("page", "options"),
    [
        ("<meta charset='windows-1252'><p>café".encode("cp1252"), {}),
        ("<meta charset=latin-1><p>café”".encode("cp1252"), {}),
        (b"<?xml version='1.0' encoding='windows-1252'?><html>caf\xe9", {}),
        ("<html>café".encode(), {}),
        ("<html>café".encode("cp1252"), {"encoding": "cp1252"}),
        ("<meta charset=utf-8><p>café".encode("cp1252"), {"encoding": "cp1252"}),
        ("<html>café".encode("utf-16"), {"encoding": "utf-16"}),
    ],
)
def test_a_page_is_decoded_by_what_is_asked_for_else_by_what_it_says(tmp_path, page, options):
    (tmp_path / "x.html").write_bytes(page)
    assert read(tmp_path / "x.html", tmp_path / "s", **options).vocabulary == ("café",)


@pytest.mark.parametrize(
    ("page", "why"),
    [
        (b"<html>caf\xe9 au lait", "this is not UTF-8"),
        (
            b"<meta charset=shift_jis><p>caf\xfe",
            "the page declares the encoding shift_jis, but is not valid",
        ),
        (
            b"<html>" + b"<div>" * 20_000 + b"deep",
            "this page has 20,001 tags that are never closed",
        ),
        (
            b"<html><p " + b"a=1 " * 20_000 + b">x",
            "an HTML tag of this page has more than 5,000 attributes",
        ),
    ],
)
def test_a_page_that_cannot_be_read_is_bad_by_name_and_can_be_skipped(tmp_path, page, why):
    """Red with: minutes in the parser; a replacement for what is not in the encoding."""
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / "a.html").write_bytes(page)
    (folder / "b.html").write_bytes(PAGE)
    with pytest.raises(CorpusError, match=f"a.html: {why}"):
        read(folder, tmp_path / "s")
    corpus = read(folder, tmp_path / "t", on_bad_document="skip")
    assert corpus.about.ids(range(corpus.documents)) == ["b.html"]


def test_a_page_without_a_body_has_no_words():
    assert html(b"<frameset><frame src=x></frameset>", OPTIONS) == (b"", None)


def test_a_page_that_closes_its_tags_is_as_deep_as_it_likes():
    """Red with: a bound on the number of tags."""
    with pytest.raises(BadDocument, match="10,001 tags"):
        html(b"<html>" + b"<b>x" * 10_000, OPTIONS)
    assert html(b"<html>" + b"<b>x</b>" * 20_000 + b"</html>", OPTIONS)[0] == b"x" * 20_000


# ---- Word and PDF


def test_a_word_document_has_its_paragraphs_and_tables(tmp_path):
    data = word_document("first paragraph", "second one", table="a cell")
    (tmp_path / "essay.docx").write_bytes(data)
    corpus = read(tmp_path / "essay.docx", tmp_path / "s")
    assert texts(corpus)[0].split("\n") == ["", "first paragraph", "second one", "a cell"]
    assert corpus.about.titles([0]) == ["essay.docx"]


def test_a_pdf_has_the_text_of_its_pages_with_divided_words_put_together(tmp_path):
    (tmp_path / "paper.pdf").write_bytes(pdf_document("an exam-\nple of", "two pages"))
    corpus = read(tmp_path / "paper.pdf", tmp_path / "s")
    assert set(corpus.vocabulary) == {"an", "example", "of", "two", "pages"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("an exam-\nple", "an example"),
        ("an exam\u00ad\nple", "an example"),
        ("an exam\u2010\nple", "an example"),
        ("Бело-\nруссия", "Белоруссия"),
        ("किताबें-\nअच्छी", "किताबेंअच्छी"),
        ("Anglo-\nSaxon", "Anglo-\nSaxon"),
        ("1990-\n1995", "1990-\n1995"),
    ],
)
def test_words_divided_at_line_ends_of_a_pdf_are_joined(text, words):
    """Red with: Latin letters and the ASCII hyphen alone."""
    assert joined_lines(text) == words


def bomb() -> bytes:
    file = io.BytesIO(word_document("a text"))
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/x.xml", bytes(2**20))
    return file.getvalue()


def entities() -> bytes:
    file, made = io.BytesIO(word_document("a text")), io.BytesIO()
    laughs = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 10))
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "word/document.xml":
                head = b'<!DOCTYPE x [<!ENTITY e0 "laugh">' + laughs.encode() + b"]><w:document"
                data = data.replace(b"<w:document", head).replace(b"a text", b"kept &e9; text")
            new.writestr(name, data)
    return made.getvalue()


BAD = {
    "cut.docx": (
        lambda: word_document("a text")[:3000],
        "this is not a Word document, or it is damaged",
    ),
    "none.docx": (lambda: b"PK\x03\x04nothing", "this is not a Word document, or it is damaged"),
    "locked.docx": (lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1....", "protected by a password"),
    "bomb.docx": (bomb, r"unpacks to 1\d+ bytes, more than 500000; allow more with --set max-line"),
    "cut.pdf": (lambda: pdf_document("a text")[:60], "this is not a PDF, or it is damaged"),
    "none.pdf": (lambda: b"nothing", "this is not a PDF, or it is damaged"),
    "locked.pdf": (lambda: pdf_document("a text", password="x"), "protected by a password"),
    "large.pdf": (lambda: b"%PDF-" + bytes(500_000), "more than 500000 bytes"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_document_stops_by_name_or_is_skipped(tmp_path, name):
    """Red with: a traceback of a parser; a bomb that is unpacked."""
    make, why = BAD[name]
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / name).write_bytes(make())
    (folder / "good.txt").write_text("good words")
    with pytest.raises(CorpusError, match=f"{name}: .*{why}.*on-bad-document skip"):
        read(folder, tmp_path / "s", max_line=500_000)
    corpus = read(folder, tmp_path / "t", max_line=500_000, on_bad_document="skip")
    assert corpus.about.ids(range(corpus.documents)) == ["good.txt"]


@pytest.mark.row(53)
def test_entities_of_a_word_document_are_not_expanded(tmp_path):
    """Red with: a parser that resolves them."""
    (tmp_path / "x.docx").write_bytes(entities())
    try:
        corpus = read(tmp_path / "x.docx", tmp_path / "s")
    except CorpusError as error:
        assert "damaged" in str(error)  # noqa: PT017
    else:
        assert len(texts(corpus)[0]) < 100


@pytest.mark.parametrize(("name", "library"), [("x.docx", "docx"), ("x.pdf", "pypdf")])
def test_a_library_that_is_not_there_is_said_with_what_to_install(
    tmp_path, monkeypatch, name, library
):
    monkeypatch.setitem(sys.modules, library, None)
    (tmp_path / name).write_bytes(b"%PDF-" if name.endswith(".pdf") else b"PK\x03\x04")
    with pytest.raises(MissingInputError, match=r"pip install ") as caught:
        read(tmp_path / name, tmp_path / "s", on_bad_document="skip")
    assert name in str(caught.value)


def test_a_folder_of_all_kinds_is_read_by_path_and_text_alone_by_the_encoding(tmp_path):
    """Red with: the encoding of text for a PDF."""
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / "a.PDF").write_bytes(pdf_document("one"))
    (folder / "b.docx").write_bytes(word_document("two"))
    (folder / "c.html").write_bytes(b"<title>Third</title><p>thr\xe9e")
    (folder / "d.txt").write_bytes(b"fo\xfcr")
    corpus = read(folder, tmp_path / "s", encoding="latin-1")
    assert [text.strip() for text in texts(corpus)] == ["one", "two", "thrée", "foür"]
    assert corpus.about.titles(range(4)) == ["a.PDF", "b.docx", "Third", "d.txt"]


# ---- plain text: a line, or a file


def letters(
    folder: Path, number: int, text: str = "dear {0}\n\nthank you\nfor {0}\n"
) -> list[Path]:
    folder.mkdir(exist_ok=True)
    for i in range(number):
        (folder / f"{i}.txt").write_text(text.format(f"name{i}"))
    return sorted(folder.glob("*.txt"))


def test_several_files_in_paragraphs_are_a_document_each_as_their_folder_is(tmp_path):
    """Red with: each of their lines."""
    files, said = letters(tmp_path / "letters", 5), Lines()
    corpus = read(files, tmp_path / "s", said.append)
    assert corpus.fingerprint == read(tmp_path / "letters", tmp_path / "t").fingerprint
    assert corpus.about.ids(range(5)) == [f"{i}.txt" for i in range(5)]
    assert said[0] == (
        "5 text files: each file is a document (--document-is line makes each line a document)"
    )
    assert corpus.reading["document-is"] == "file"


def test_either_reading_can_be_asked_for(tmp_path):
    files, said = letters(tmp_path / "letters", 3), Lines()
    corpus = read(files, tmp_path / "s", said.append, document_is="line")
    assert corpus.documents == 9
    assert said[0] == (
        "3 text files: each line is a document (--document-is file makes each file a document)"
    )
    assert read(files[0], tmp_path / "t", document_is="file").documents == 1


@pytest.mark.parametrize(
    ("files", "text", "more", "found"),
    [
        (3, "a line\nand another\n", {}, "line"),
        (3, "a line\n" * 30 + "\n", {}, "line"),
        (3, "one line only\n", {}, "file"),
        (2, "a paragraph\n\nand another\n", {}, "line"),
        (1, "a paragraph\n\nand another\n", {}, "line"),
        (1, "a paragraph\n\nand another\n", {"chunk": 100}, "file"),
        (1, "a line\nand another\n", {"chunk": 100}, "line"),
    ],
)
def test_what_a_document_is_goes_by_what_files_look_like(tmp_path, files, text, more, found):
    paths = [str(path) for path in letters(tmp_path, files, text)]
    assert resolve_document_is(paths, CorpusOptions(**more)).document_is == found


def test_lines_of_a_folder_are_asked_for_by_its_files(tmp_path):
    letters(tmp_path, 2)
    with pytest.raises(UsageError, match=r"give .*/\*\.txt"):
        resolve_document_is([str(tmp_path)], CorpusOptions(document_is="line"))


def test_an_empty_file_among_files_that_are_documents_is_one_without_words(tmp_path):
    """Red with: an end of the reading."""
    files = letters(tmp_path / "x", 3)
    files[1].write_text("")
    assert read(files, tmp_path / "s").documents == 2
    stream = named_documents(
        [str(path) for path in files],
        CorpusOptions(),
        ("dear",),
        threads=1,
        notify=lambda _: None,
        log=lambda *_: None,
    )
    assert [n for block in stream for n in block.lengths.tolist()] == [1, 0, 1]
