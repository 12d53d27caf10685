"""Lists of works, collections of documents, and mail: read by content, whatever the file is called."""

from __future__ import annotations

import format_samples as samples
import pytest
from listeners import Lines

from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.corpus.formats import FORMATS, TEXT, recognise
from pysgrld.errors import CorpusError

ALL = {"min_df": 1, "max_df": 1.0, "stop_words": "none"}


@pytest.fixture
def read(tmp_path):
    number = 0

    def read(*files, said=None, **more):
        nonlocal number
        number += 1
        paths = []
        for place, file in enumerate(files):
            if isinstance(file, bytes | str):
                path = tmp_path / f"{number}-{place}.txt"
                path.write_bytes(file if isinstance(file, bytes) else file.encode())
                file = path
            paths.append(str(file))
        log = None if said is None else said.append
        return open_corpus(
            paths, CorpusOptions(**ALL | more), store=tmp_path / f"s{number}", log=log
        )

    return read


def texts(corpus) -> list[str]:
    return [" ".join(text.split()) for text in corpus.about.texts(range(corpus.documents))]


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
@pytest.mark.parametrize("suffix", [".txt", "", ".dat", ".md"])
def test_a_file_of_any_format_is_none_of_plain_text_whatever_it_is_called(format, suffix):
    """Red with: a format of the table that only its suffix tells; a new row without a sample."""
    if format.name in ("a Python pickle",):
        assert recognise(samples.sample(format.name), f"x{suffix}").refused
        return
    found = recognise(samples.sample(format.name), f"x{suffix}")
    assert found is format
    assert (found is TEXT) == (format.name == "plain text")


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_a_file_renamed_to_txt_is_read_as_its_format_or_refused(read, name):
    """Red with: a format that is read line by line, so that more than two documents come of it."""
    if name == "plain text":
        return
    refused = any(format.name == name and format.refused for format in FORMATS)
    if refused or name in ("PDF", "AnnData or 10x (HDF5)"):  # which are empty
        with pytest.raises(CorpusError):
            read(samples.sample(name))
    else:
        assert read(samples.sample(name)).documents <= 2


WORKS = {
    "Web of Science": (samples.WEB_OF_SCIENCE, ["WOS:1", "WOS:2"]),
    "PubMed": (samples.PUBMED, ["11", "12"]),
    "EndNote": (samples.ENDNOTE, None),
    "RefWorks": (samples.REFWORKS, ["1", "2"]),
    "RIS": (samples.RIS, ["a1", "a2"]),
    "BibTeX": (samples.BIBTEX, ["a1", "a2"]),
}


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("name", WORKS)
def test_a_work_is_a_document_with_the_fields_that_people_know(read, name, ends):
    """Red with: an abstract that stops where its line does; a field that has its other name alone."""
    text, ids = WORKS[name]
    text = text.replace("\n", ends)
    corpus = read(text, text_field="TI,abstract", meta_field="PY:integer,year:integer")
    assert texts(corpus) == ["Sleep of mice Mice sleep in winter.", "Fish"] or texts(corpus) == [
        "Sleep of mice. Mice sleep in winter.",
        "Fish.",
    ]
    about, rows = corpus.about, range(2)
    for column in ("PY", "year"):
        assert about.values(column, rows) == [2001, 2003]
    assert [title.rstrip(".") for title in about.titles(rows)] == ["Sleep of mice", "Fish"]
    if ids:
        assert about.ids(rows) == ids


def test_lists_of_several_databases_are_one_corpus(read):
    said = Lines()
    corpus = read(*(text for text, _ in WORKS.values()), said=said, meta_field="year:integer")
    assert corpus.documents == 6  # those without an abstract have no words
    assert texts(corpus) == ["Mice sleep in winter."] * 6
    assert corpus.about.values("year", range(6)) == [2001] * 6


def test_a_work_that_does_not_end_is_said_with_its_line(read):
    cut = samples.WEB_OF_SCIENCE.partition("UT WOS:2")[0]
    with pytest.raises(CorpusError, match=r"the work that begins in line 14 has no end \(ER\)"):
        read(cut)


def test_the_example_of_the_web_of_science_is_one_document(read):
    corpus = read(
        "FN Clarivate Analytics Web of Science\nVR 1.0\nPT J\nAU Doe, A\nTI Sleep of mice\n"
        "AB Mice sleep\n   in winter.\nPY 2001\nER\n\nEF\n"
    )
    assert texts(corpus) == ["Mice sleep in winter."]


def test_a_table_by_tabs_of_the_web_of_science_is_read_by_its_header(read):
    """Red with: quotes and tabs of a .txt taken for text."""
    table = "PT\tAU\tTI\tAB\tPY\t\nJ\tDoe, A\tSleep of mice\tMice sleep\t2001\t\n" * 1
    corpus = read(table + "J\tPoe, C\tFish\tFish swim\t2003\t\n", meta_field="year:integer")
    assert texts(corpus) == ["Mice sleep", "Fish swim"]
    assert corpus.about.titles(range(2)) == ["Sleep of mice", "Fish"]


def test_articles_in_xml(read):
    corpus = read(samples.PUBMED_XML, meta_field="PY:integer,authors", text_field="title,abstract")
    assert texts(corpus) == ["Sleep of mice AIM: Mice & sleep in winteré.", "Fish"]
    assert corpus.about.values("PY", [0, 1]) == [2001, 2003]
    assert corpus.about.ids([0, 1]) == ["11", "12"]
    assert texts(read(samples.JATS)) == ["Mice sleep in winter."]
    whole = read(samples.JATS, text_field="body", meta_field="year:integer,journal")
    assert texts(whole) == ["Aims Birds fly far."]
    assert whole.about.ids([0]) == ["PMC1"]
    with pytest.raises(
        CorpusError, match=r"damaged XML .*after 1 article; download or export the file again"
    ):
        read(samples.PUBMED_XML[:-200])


def test_entities_that_a_file_declares_are_never_expanded(read):
    bomb = samples.JATS.replace('1.dtd">', '1.dtd" [<!ENTITY a "aaaa">]>')
    with pytest.raises(CorpusError, match="document type"):
        read(bomb)


def test_documents_between_tags(read):
    corpus = read(samples.TREC, text_field="headline,text")
    assert texts(corpus) == ["Sleep of mice Mice & birds sleep in winter", "Fish"]
    assert corpus.about.ids([0, 1]) == ["AP1", "AP2"]
    corpus = read(samples.WIKIEXTRACTOR)
    assert texts(corpus) == ["Mice Mice sleep in winter & eat.", "Fish"]
    assert corpus.about.ids([0, 1]) == ["12", "39"]
    assert corpus.about.titles([0, 1]) == ["Mice", "Fish"]
    with pytest.raises(CorpusError, match="the last document has no </doc>") as caught:
        read(samples.WIKIEXTRACTOR[:-10])
    assert caught.value.line == 7


def test_messages(read, tmp_path):
    corpus = read(samples.MBOX, meta_field="from,date:time")
    assert texts(corpus) == ["Mice sleep café", "Fish & birds From here they swim."]
    assert corpus.about.titles([0, 1]) == ["Sleep of mice", "Fish"]
    assert corpus.about.values("from", [0]) == ["Jürgen <j@x.org>"]
    assert corpus.about.values("date", [0]) == ["2001-02-06T09:00:00"]
    path = tmp_path / "a.eml"
    path.write_bytes(samples.MAIL.encode())
    corpus = read(path, text_field="subject,body", meta_field="from")
    assert texts(corpus) == ["Sleep of mice Mice sleep café"]
    assert corpus.about.ids([0]) == ["a.eml"]


def test_folders_of_messages_and_of_wikiextractor(read, tmp_path):
    """Red with: a folder of files without a suffix that is refused; ids that lose the folder."""
    news = tmp_path / "20news"
    for group, number in (("alt.atheism", 49960), ("sci.space", 60191)):
        (news / group).mkdir(parents=True)
        post = f"From: a@x.org\nSubject: Re: {group}\nLines: 2\n\nMice and {group[:3]}\n"
        (news / group / str(number)).write_text(post)
    said = Lines()
    corpus = read(news, said=said, meta_field="folder")
    assert corpus.about.ids([0, 1]) == ["alt.atheism/49960", "sci.space/60191"]
    assert texts(corpus) == ["Mice and alt", "Mice and sci"]
    assert corpus.about.values("folder", [0, 1]) == ["alt.atheism", "sci.space"]
    assert "folder" in {column.name for column in read(news).about.columns}
    wiki = tmp_path / "wiki"
    (wiki / "AA").mkdir(parents=True)
    for number in range(2):
        text = samples.WIKIEXTRACTOR.replace('"12"', f'"1{number}"')
        (wiki / "AA" / f"wiki_0{number}").write_text(text.replace('"39"', f'"3{number}"'))
    corpus = read(wiki)
    assert corpus.about.ids(range(4)) == ["10", "30", "11", "31"]
    assert [o.file for o in corpus.about.origins([0, 3])] == ["wiki/AA/wiki_00", "wiki/AA/wiki_01"]


def test_a_folder_of_exports_is_read_as_such(read, tmp_path):
    """Red with: each .txt of a folder one document whatever is in it."""
    folder = tmp_path / "exports"
    folder.mkdir()
    for number in range(3):
        (folder / f"savedrecs({number}).txt").write_text(samples.WEB_OF_SCIENCE)
    corpus = read(folder)
    assert texts(corpus) == ["Mice sleep in winter."] * 3


def test_a_field_of_plain_text_is_refused(read):
    """Red with: --text-field that is passed over where the file has no fields."""
    for file in ("mice sleep\n", "<html><body>mice</body></html>"):
        with pytest.raises(CorpusError, match=r"has no fields; leave out --text-field") as caught:
            read(file, text_field="AB")
        assert caught.value.exit_code == 65
    with pytest.raises(CorpusError, match="has no fields"):
        read('{"AB": "mice"}\n', "mice sleep\n", text_field="AB")


BIB = r"""@string{early = "19"}
@article{a, title = "T " # "0", abstract = {Caf{\'e} M{\"u}ller}, year = {2001}}
@article{a, title = early # {99}, abstract = "Caf{\'e} M{\"u}ller", year = 2001, month = jan # " 5"}
@article{b, title = {T}, title = {U}, abstract = {Caf\'e M\"uller}, year = {2003}}
"""


def test_every_entry_of_bibtex_is_decoded(read):
    """Red with: a key or a field that comes twice, whose entry keeps its TeX and its braces."""
    corpus = read(BIB, meta_field="year,month")
    assert texts(corpus) == ["Café Müller"] * 3
    assert corpus.about.values("year", range(3)) == [2001, 2001, 2003]
    assert corpus.about.values("month", range(3)) == [None, "Jan 5", None]
    assert corpus.about.titles(range(3)) == ["T 0", "1999", "T"]
    assert corpus.about.ids(range(3)) == ["a", "a", "b"]


def test_a_comma_that_is_missing_is_said_and_costs_one_entry(read):
    bad = "@article{a, title = {T} year = 2001}\n@article{b, abstract = {mice}}\n"
    with pytest.raises(CorpusError, match=r"entry 1: a comma is missing before 'year = 2001'"):
        read(bad)
    assert texts(read(bad, on_bad_document="skip")) == ["mice"]


def test_values_within_objects_are_fields(read):
    """Red with: a path of names that is no field; a list of tokens that is no string."""
    lines = (
        '{"key": "a", "data": {"body": "mice sleep", "by": [{"name": "A"}, {"name": "B"}]}}\n'
        '{"key": "b", "data": {"body": null}}\n{"key": "c", "data": {"body": "fish", "by": []}}\n'
    )
    corpus = read(lines, text_field="data.body", meta_field="data.by.name")
    assert texts(corpus) == ["mice sleep", "fish"]
    assert corpus.about.values("data.by.name", [0, 1]) == ["A; B", None]
    with pytest.raises(CorpusError, match=r"no field 'data.text' \(the object has 'key', 'data'"):
        read(lines, text_field="data.text")


def test_lists_of_tokens_and_inverted_abstracts_are_texts(read):
    assert texts(read('{"text": ["mice", "sleep"]}\n{"text": ["fish"]}\n')) == [
        "mice sleep",
        "fish",
    ]
    assert texts(read('[["mice", "sleep"], ["fish"]]')) == ["mice sleep", "fish"]
    pages = '{"id": "a", "fullText": ["First page.", "Second page."]}\n'
    assert texts(read(pages)) == ["First page. Second page."]
    work = '{"id": "W1", "abstract_inverted_index": {"sleep": [1, 3], "Mice": [0], "and": [2]}}\n'
    assert texts(read(work + '{"id": "W2", "abstract_inverted_index": null}\n')) == [
        "Mice sleep and sleep"
    ]
    tweet = (
        '{"text": "mice sl...", "truncated": true, "extended_tweet": {"full_text": "mice sleep"}}\n'
    )
    assert texts(read(tweet)) == ["mice sleep"]
    with pytest.raises(CorpusError, match="field 'text' is not a string but list"):
        read('{"text": ["mice", 5]}\n')


def test_columns_by_tabs_without_names_are_noticed(read):
    said = Lines()
    read("d1\ten\tmice sleep\nd2\ten\tfish swim\nd3\tde\tBirds fly\n", said=said)
    assert any("each line has 3 tab-separated fields" in line for line in said)


def test_a_subject_is_the_title_of_mail_alone(read, tmp_path):
    """Red with: a field `subject` of any record that is the title (a participant, a school subject)."""
    table = tmp_path / "marks.csv"
    table.write_text("text,subject\nmice and cats,biology\ncats and numbers,mathematics\n")
    about = read(table, meta_field="subject").about
    assert about.titles([0, 1]) == ["1", "2"]  # the numbers of the records
    assert about.values("subject", [0, 1]) == ["biology", "mathematics"]
