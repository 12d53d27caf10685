"""Messages for inputs that people bring often: what is wrong, where, and what to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from listeners import Lines
from named_corpora import ALL, build, every

from pysgrld import LDA
from pysgrld.corpus import CorpusOptions
from pysgrld.errors import CorpusError, UsageError

TEXTS = ["mice sleep", "birds fly", "fish swim", "cats meow", "dogs bark"]


@pytest.mark.parametrize("missing", [None, float("nan"), 7])
@pytest.mark.parametrize("kind", ["list", "array", "Series"])
def test_a_missing_text_is_named(missing, kind):
    """Red with: "X is not a matrix of numbers", or "X has dtype <U373"."""
    texts = [*TEXTS, missing]
    if kind == "array":
        texts = np.array(texts, object)
    elif kind == "Series":
        texts = pytest.importorskip("pandas").Series(texts)
    with pytest.raises(
        UsageError, match=r"^X\[5\] is .*, which is not a text; leave it out, or give ''"
    ):
        LDA(2, max_iter=2).fit(texts)


@pytest.mark.parametrize(
    ("x", "problem"),
    [
        ((text for text in TEXTS), r"^X is a generator or file, .* give list\(X\)$"),
        (map(str.upper, TEXTS), "^X is a generator or file"),
        (set(TEXTS), "^X is a set, whose documents have no order; give a list$"),
        (dict.fromkeys(TEXTS, 1), r"^X is a dictionary; .* list\(X\.values\(\)\)$"),
        (Path("x.txt"), "^X is a path; give the texts in the file, or train with sgmc train FILE$"),
        ([["a", "b"], None], r"^X\[1\] is None, which is not a list of tokens"),
        ([["a", "b"], ["b", 3]], r"^X\[1\]\[1\] is 3, which is not a token; leave it out$"),
    ],
)
def test_the_kind_of_a_wrong_collection_is_named(x, problem):
    """Red with: "X is not a matrix of numbers"; a set, whose order differs between processes."""
    with pytest.raises(UsageError, match=problem):
        LDA(2, max_iter=2).fit(x)


def test_one_text_is_not_a_list_of_texts():
    with pytest.raises(UsageError, match="X is a single text; give a list of texts"):
        LDA(2, max_iter=2).fit("mice sleep in winter")


@pytest.mark.parametrize("line", ["mice, sleep", '"mice";"sleep"', "mice sleep", "Mice,sleep\r"])
def test_a_stop_list_may_be_one_line(line, tmp_path):
    """Red with: the one stop word "mice, sleep", which no text has."""
    (tmp_path / "stop.txt").write_text(line + "\n")
    (tmp_path / "x.txt").write_text("mice sleep in winter\n")
    corpus = build(tmp_path, tmp_path / "x.txt", stop_words=str(tmp_path / "stop.txt"))
    assert set(corpus.vocabulary) == {"in", "winter"}


def test_few_long_documents_are_advised_to_be_read_in_pieces(tmp_path):
    """Red with: --min-df 1 --max-df 1.0 advised, by which three books stay three documents."""
    for name in "abc":
        text = " ".join(f"word{name}{i % 500}" for i in range(2500))
        (tmp_path / f"{name}.txt").write_text(text + "\n")
    paths = [tmp_path / f"{name}.txt" for name in "abc"]
    with pytest.raises(CorpusError, match=r"few and long; split them into pieces: --chunk 500"):
        build(tmp_path, *paths, min_df=2, max_df=0.5, stop_words="english")


def books(folder, n=3, words=12_000):
    """Write files of long texts in paragraphs, with the notes and the licence of Project Gutenberg."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name in "abc"[:n]:
        text = " ".join(
            f"word{i}" + "\n\n" * (i % 9 == 0) for i in rng.integers(0, 90, words).tolist()
        )
        begin = "Licence: redistribute.\n*** START OF THE PROJECT GUTENBERG EBOOK A ***\n"
        end = (
            "\n*** END OF THE PROJECT GUTENBERG EBOOK A ***\nThe trademark licence, redistribute.\n"
        )
        (folder / f"{name}.txt").write_text(begin + text + end)
    return folder


def test_few_and_long_files_are_cut_and_lose_their_licence(tmp_path):
    """Red with: three books as three documents; a licence that is a topic; later books read whole."""
    said, folder = Lines(), books(tmp_path / "books")
    corpus = build(tmp_path, folder, name="cut", log=said)
    assert (
        "3 long documents split into 72 pieces of about 500 words (--chunk none keeps them whole)"
        in said
    )
    assert "licence text of Project Gutenberg removed from 3 documents" in said
    assert corpus.documents == 72
    assert not {"licence", "redistribute", "trademark", "gutenberg"} & set(corpus.vocabulary)
    assert CorpusOptions.over(corpus.reading, {}).chunk == 500
    whole = build(tmp_path, folder, name="whole", chunk=0, max_df=1.0)
    assert whole.documents == 3
    assert CorpusOptions.over(whole.reading, {}).chunk == 0
    short = build(tmp_path, books(tmp_path / "few", words=500), name="short", max_df=1.0)
    assert short.documents == 3
    assert CorpusOptions.over(short.reading, {}).chunk == 0  # new long ones are whole, too


@pytest.mark.parametrize("field", ["file", "FILE"])
def test_rows_of_metadata_may_call_files_without_their_suffix(field, tmp_path):
    """Red with: an exact comparison of names, by which no row of 001_smith is of 001_smith.txt."""
    (tmp_path / "texts").mkdir()
    for name in ("001_smith", "002_jones"):
        (tmp_path / "texts" / f"{name}.txt").write_text(f"mice sleep {name}\n")
    (tmp_path / "m.csv").write_text("File,year\n001_smith,2001\n002_jones.txt,2002\n")
    options = {"metadata": str(tmp_path / "m.csv"), "id_field": field}
    corpus = build(tmp_path, tmp_path / "texts", **options)
    assert corpus.column("year") == [2001, 2002]


def test_metadata_that_match_no_document_show_an_id_of_each_side(tmp_path):
    """Red with: the document's side alone, if no column has ids."""
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "001_smith.txt").write_text("mice sleep\n")
    (tmp_path / "m.csv").write_text("file,year\nsmith,2001\n")
    options = {"metadata": str(tmp_path / "m.csv")}
    sides = "the first such document is '001_smith.txt', and the first row without a document is 'smith'"
    with pytest.raises(CorpusError, match=sides):
        build(tmp_path, tmp_path / "texts", **options, id_field="file")
    (tmp_path / "two.csv").write_text("book,year\nsmith,2001\njones,2002\n")
    with pytest.raises(CorpusError, match=r"document 1 is '001_smith\.txt', but row 1 has 'smith'"):
        build(tmp_path, tmp_path / "texts", metadata=str(tmp_path / "two.csv"))
    with pytest.raises(
        CorpusError, match=r"'name' .*, so rows cannot be matched .* another field: 'file', 'year'"
    ):
        build(tmp_path, tmp_path / "texts", **options, id_field="name")


def test_more_columns_than_there_may_be_are_no_fault_of_a_document(tmp_path):
    """Red with: --on-bad-document skip advised, which would leave all documents out."""
    names = [f"c{i}" for i in range(300)]
    rows = [",".join(["text", *names]), *[",".join(["mice sleep", *["1"] * 300])] * 3]
    (tmp_path / "x.csv").write_text("\n".join(rows) + "\n")
    for how in ("stop", "skip"):
        with pytest.raises(CorpusError) as caught:
            build(tmp_path, tmp_path / "x.csv", meta_field="all", on_bad_document=how)
        assert str(caught.value).endswith("columns, too many to keep all; name the columns to keep")


@pytest.mark.parametrize("name", ["x.txt", "x.csv", "x.jsonl"])
def test_lines_may_end_in_carriage_returns_alone(name, tmp_path):
    """Red with: one document, and an error that speaks of stop words."""
    rows = {
        "x.txt": TEXTS,
        "x.csv": ["id,text", *(f"{i},{text}" for i, text in enumerate(TEXTS))],
        "x.jsonl": [f'{{"text": "{text}"}}' for text in TEXTS],
    }[name]
    (tmp_path / name).write_bytes("".join(row + "\r" for row in rows).encode())
    corpus = build(tmp_path, tmp_path / name)
    assert corpus.about.texts(every(corpus)) == TEXTS


def test_utf8_that_was_taken_for_latin_1_is_noticed(tmp_path):
    text = "café müller “mice”"
    (tmp_path / "x.txt").write_text(f"{text}\n{text.encode().decode('cp1252', 'ignore')}\n")
    said = Lines()
    build(tmp_path, tmp_path / "x.txt", log=said)
    assert any(
        line.startswith("1 document with wrong characters such as 'Ã©'") for line in said.warnings
    )
    assert CorpusOptions(**ALL).encoding == "utf-8"
