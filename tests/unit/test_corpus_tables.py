"""CSV, TSV and Parquet: one field of a table is the text."""

from __future__ import annotations

import csv
import gzip
import io
import random
import sys
from pathlib import Path

import pytest

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.corpus._columns import plain_records
from pysgrld.errors import CorpusError, MissingInputError

ALL = {"min_df": 1, "max_df": 1.0, "stop_words": "none"}
MATCH = ("aa", "bb", "cc", "dd", "café")


def read(path: Path, **more: object) -> Corpus:
    match, log = more.pop("match", None), more.pop("log", None)
    store = path.parent.parent / f"s{len(list(path.parent.parent.iterdir()))}"
    return open_corpus([str(path)], CorpusOptions(**ALL, **more), store=store, match=match, log=log)


def texts(path: Path, **more: object) -> list[str]:
    """The words of each document, joined."""
    corpus = read(path, match=MATCH, **more)
    block = corpus.take(range(corpus.documents))
    return [
        " ".join(corpus.vocabulary[w] for w in block.indices[block.indptr[d] : block.indptr[d + 1]])
        for d in range(corpus.documents)
    ]


@pytest.fixture
def write(tmp_path):
    def write(name: str, data: str | bytes) -> Path:
        (tmp_path / "in").mkdir(exist_ok=True)
        path = tmp_path / "in" / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return write


GOOD = {
    "comma": ("x.csv", "id,text\n1,aa bb\n2,cc\n"),
    "semicolon": ("x.csv", "id;text;z\n1;aa, bb;0\n2;cc;0\n"),
    "tab in .csv": ("x.csv", "id\ttext\n1\taa bb\n2\tcc\n"),
    "tab": ("x.tsv", "id\ttext\n1\taa, bb\n2\tcc\n"),
    "comma in .tsv": ("x.tsv", "id,text\n1,aa bb\n2,cc\n"),
    "only field": ("x.csv", "text\naa bb\ncc\n"),
    "CRLF": ("x.csv", "id,text\r\n1,aa bb\r\n2,cc\r\n"),
    "BOM": ("x.csv", "\ufefftext,id\naa bb,1\ncc,2\n"),
    "quoted": ("x.csv", '"id","text"\n"1","aa, bb"\n"2","cc"\n'),
    "quoted newlines": ("x.csv", 'id,text\n1,"aa\nbb"\n2,"\n\ncc\r\n"'),
    "doubled quotes": ("x.csv", 'id,text\n1,"""aa"" bb"\n2,"cc"""""\n'),
    "quote inside": ("x.csv", 'id,text\n5" x,aa 5" bb\n2,cc\n'),
    "blanks around names": ("x.csv", "id , text\n1,aa bb\n2, cc\n"),
    "blank lines": ("x.csv", "\n\nid,text\n\n1,aa bb\n\n2,cc\n\n"),
    "no newline at the end": ("x.csv", "id,text\n1,aa bb\n2,cc"),
    "other fields not UTF-8": ("x.csv", "id,text\n\u00e4,aa bb\n2,cc\n".encode("latin-1")),
}


@pytest.mark.parametrize("case", GOOD)
def test_a_table_is_read_whatever_its_spelling(write, case):
    """Red with: a BOM in the first name; lines cut inside quotes; doubled quotes ending a field."""
    assert texts(write(*GOOD[case])) == ["aa bb", "cc"]


def test_a_table_of_quoted_fields_is_searched_for_its_text(write):
    """Red with: "not CSV", as the semicolon that is tried next makes no sense of the quotes."""
    data = '"no","remarks"\n' + '"1","aa bb cc dd aa bb cc dd aa bb cc dd aa bb cc dd"\n' * 2
    assert texts(write("x.csv", data)) == ["aa bb cc dd"] * 2
    assert texts(write("y.csv", data.replace(",", ";"))) == ["aa bb cc dd"] * 2
    with pytest.raises(
        CorpusError, match=r"no field 'body' in the header \(the fields are 'no', 'remarks'"
    ):
        texts(write("z.csv", data), text_field="body")


def test_a_compressed_table_is_told_by_its_name_without_the_suffix(write):
    assert texts(write("x.csv.gz", gzip.compress(b"id,text\n1,aa\n"))) == ["aa"]


def test_a_text_with_commas_is_no_table(write):
    assert texts(write("x.txt", "aa,text\nbb,cc\n")) == ["aa", "bb cc"]


def test_commas_on_standard_input_are_text(standard_input, tmp_path):
    standard_input(b"aa,text\nbb,cc\n")
    options = CorpusOptions(**ALL)
    assert open_corpus(["-"], options, store=tmp_path / "s").documents == 2


def test_another_field_is_chosen_by_name(write):
    path = write("x.csv", "body,text\naa,bb\n")
    assert texts(path, text_field="body") == ["aa"]


def test_a_field_of_any_length_up_to_the_limit_is_read(write):
    """Red with: the csv module's own limit of 131,072."""
    assert texts(write("x.csv", "text\n" + "aa " * 100_000 + "\n")) == ["aa"]


def test_the_module_csv_writes_what_is_read(write):
    file = io.StringIO()
    rows = [["1", 'aa "bb"\n, cc'], ["2", "café\r\ndd"], ["", '"""aa'], ["x", ""]]
    csv.writer(file).writerows([["id", "text"], *rows])
    assert texts(write("x.csv", file.getvalue())) == ["aa bb cc", "dd café", "aa", ""]


NO_HEADER = {
    "other fields": (
        "a,b\n1,2\n",
        "no field 'text' in the header (the fields are 'a', 'b'; choose one",
    ),
    "twice": ("text,text\n1,2\n", "more than one field 'text'"),
    "twice but for capitals": ("Body,BODY\naa,bb\n", "the fields are 'Body', 'BODY'"),
    "blank": ("\n \n", "no field 'text'"),
    "endless name": ("a" * 10**6 + ",b\n1,2\n", "aaa...', 'b'; choose one"),
    "open quote": (
        'id,"text\n1,aa\n',
        "the header cannot be read: not CSV: a quotation mark is never closed",
    ),
}


@pytest.mark.parametrize("case", NO_HEADER)
def test_a_header_without_the_field_says_which_there_are(write, case):
    data, message = NO_HEADER[case]
    with pytest.raises(CorpusError) as caught:
        texts(write("x.csv", data), on_bad_document="skip")
    assert message in str(caught.value)
    assert caught.value.line is not None
    assert len(str(caught.value)) < 500


HEAD = 'id,text\n1,"aa\n\n"\n'  # a record of three lines before: the next one begins in line 5
BAD = {
    "too few fields": ("aa\n", "the record has 1 field, but the header has 2", "wrong number", 1),
    "too many fields": ("1,aa,bb\n", "the record has 3 fields", "wrong number", 1),
    "too many in two lines": ('1,"aa\nbb",\n', "the record has 3 fields", "wrong number", 1),
    "text after a quote": ('1,"aa"bb\n', "a closing quotation mark", "not CSV", 1),
    "carriage return": ("1,aa\rbb\n", "carriage return", "not CSV", 1),
    "NUL": ("1,a\0a\n", "a NUL", "NUL", 1),
    "not UTF-8": (b"1,\xffaa\n", "not UTF-8", "not UTF-8", 1),
    "lone surrogate": (b"1,\xed\xa0\x80\n", "not UTF-8", "not UTF-8", 1),
    "line too long": ("1," + "a" * 200 + "\n", "the line has more than 100 bytes", "line too", 1),
    "record too long": (
        '1,"' + "aa \n" * 50 + '"\n',
        "the record has more than 100",
        "line too",
        51,
    ),
    "open quote": ('1,"aa\n', "quotation mark is never closed (--set quote=none", "not CSV", 1),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_record_stops_with_its_line(write, case):
    """Red with: the number of the last line of a record for that of the first."""
    data, message, _, _ = BAD[case]
    data = data if isinstance(data, bytes) else data.encode()
    path = write("x.csv", HEAD.encode() + data)
    with pytest.raises(CorpusError) as caught:
        texts(path, max_line=100)
    assert str(caught.value).startswith(f"{path}:5: ")
    assert message in str(caught.value)
    assert "--on-bad-document skip" in str(caught.value)


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("match", [None, MATCH], ids=["trained", "matched"])
def test_a_bad_record_is_skipped_and_the_next_ones_are_read(write, case, match):
    """An open quote costs its line, not the file. Red with: reading on inside the open quote."""
    data, _, reason, bad = BAD[case]
    data = data if isinstance(data, bytes) else data.encode()
    path = write("x.csv", HEAD.encode() + data + b"2,bb\n3,cc dd\n")
    corpus = read(path, max_line=100, on_bad_document="skip", match=match)
    skipped = corpus.provenance["skipped"]
    assert sum(skipped.values()) == bad + (corpus.provenance["empty"] if match and not bad else 0)
    assert any(name.startswith(reason) for name in skipped)
    assert corpus.documents == (3 if match is None else 3 + bad)
    assert corpus.totals.word_counts.sum() == 4


def test_a_quote_that_is_never_closed_takes_no_more_than_the_limit_in_memory(write, monkeypatch):
    """Red with: a record that grows until its quote is closed."""
    from pysgrld.corpus.formats import delimited

    seen = 0
    real = delimited._RecordLines.__next__

    def spy(self):
        nonlocal seen
        line = real(self)
        seen = max(seen, self.size + len(self.block))
        return line

    monkeypatch.setattr(delimited._RecordLines, "__next__", spy)
    monkeypatch.setattr("pysgrld.corpus.lines.STEP", 4096)
    path = write("x.csv", 'text\n"aa\n' + "bb cc\n" * 60_000)
    corpus = read(path, max_line=10_000, on_bad_document="skip")
    assert corpus.documents == 60_000
    assert seen < 200_000


def test_a_line_is_split_as_the_module_csv_splits_it():
    """Red with: a doubled quote kept, text after a closing quote, or a carriage return within."""
    rng, split = random.Random(3), 0
    for _ in range(20_000):
        delimiter, quoted = rng.choice(",;\t|"), rng.random() < 0.8
        parts = [
            "a",
            "é",
            '"',
            '""',
            delimiter,
            " ",
            "\r",
            "\0",
            '"a"',
            '"' + delimiter,
            "\udcff",
            "本",
        ]
        line = "".join(rng.choices(parts, k=rng.randint(0, 9))) + rng.choice(["\n", "\r\n", ""])
        quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
        try:
            cells = next(
                csv.reader([line], delimiter=delimiter, strict=True, quoting=quoting), None
            )
        except csv.Error:
            cells = None
        inner = line.removesuffix("\n").removesuffix("\r")
        for width in (2, 3):
            data = b"a line" + line.encode("utf-8", "surrogateescape")
            records, end = plain_records(data, 6, ord(delimiter), width, quoted, 9)
            assert records in ([], [cells])
            assert end == (len(data) if records else 6)
            if cells is not None and len(cells) == width and not {"\r", "\0"} & {*inner}:
                split += len(records)
                assert records, line
    assert split > 1_000


def test_records_within_lines_and_beyond_blocks_keep_their_order(write, monkeypatch):
    """Red with: a line lost where a block, a record of several lines or a damaged one ends."""
    monkeypatch.setattr("pysgrld.corpus.lines.STEP", 64)
    lines = ["id,text"]
    for i in range(300):
        word = MATCH[i % 4]
        lines.append(
            {0: f'{i},"{word}\n{word}"', 1: f'{i},"{word}', 2: ""}.get(i % 7, f"{i},{word}")
        )
    path = write("x.csv", "\n".join(lines))
    assert texts(path, on_bad_document="skip") == [
        MATCH[i % 4] if i % 7 != 1 else "" for i in range(300) if i % 7 != 2
    ]


@pytest.mark.parametrize("name", ["x.txt", "x.csv"])
def test_a_header_above_a_single_column_is_no_document(write, name):
    """Red with: the word "text" as the first document of a .txt."""
    log: list[str] = []
    path = write(name, "text\naa bb\n\ncc\n")
    corpus = read(path, log=lambda message, *_: log.append(message))
    assert corpus.vocabulary == ("aa", "bb", "cc")
    assert corpus.about.ids([0]) == ["1"]
    assert any("skipped the first line, 'text'" in line for line in log) == (name == "x.txt")


@pytest.mark.parametrize("sign", ["~", "^"])
def test_rare_signs_separate_fields(write, sign):
    """Red with: one field 'id~text~year'."""
    lines = "id~text~year\n1~aa, bb~1990\n2~cc~1991\n3~dd~1992\n"
    path = write("x.txt", lines.replace("~", sign))
    assert texts(path) == ["aa bb", "cc", "dd"]


# -- Parquet ----------------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    def table(column, name="x.parquet", field="text", **options) -> Path:
        (tmp_path / "in").mkdir(exist_ok=True)
        ids = pa.array(range(len(column)))
        pq.write_table(pa.table({"id": ids, field: column}), tmp_path / "in" / name, **options)
        return tmp_path / "in" / name

    return table


TYPES = ["string", "large_string", "binary", "large_binary"]


@pytest.mark.parametrize("kind", [*TYPES, "dictionary"])
def test_a_column_of_any_text_type_is_read_and_a_null_has_no_words(table, kind):
    pa = pytest.importorskip("pyarrow")
    values = ["aa bb", None, "café\ncc", ""] * 200
    column = pa.array(values)
    types = {name: getattr(pa, name) for name in TYPES}
    types["dictionary"] = lambda: pa.dictionary(pa.int8(), pa.string())
    column = column.cast(types[kind]())
    path = table(column, row_group_size=300)
    assert texts(path) == ["aa bb", "", "cc café", ""] * 200
    assert read(path).provenance["skipped"] == {"no known word": 400}


def test_parquet_is_told_by_content_whatever_its_name(table):
    pa = pytest.importorskip("pyarrow")
    assert texts(table(pa.array(["aa"]), name="x.txt")) == ["aa"]


def test_a_header_above_the_limit_is_said(tmp_path):
    """Red with: nothing said after the colon where such lines are skipped."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "x.csv").write_text(f"id,text,{'a' * 100}\n1,aa,b\n")
    with pytest.raises(CorpusError, match="the header cannot be read: a line is too long"):
        read(folder / "x.csv", max_line=50, on_bad_document="skip")


def test_only_the_batch_is_in_memory(table, monkeypatch):
    """Red with: a row group read at once."""
    pa = pytest.importorskip("pyarrow")
    path = table(pa.array([f"aa{i} " * 200 for i in range(20_000)]), compression="none")
    before = pa.default_memory_pool().bytes_allocated()
    peak = 0
    from pysgrld.corpus.formats import protocol

    real = protocol.Texts

    def spy(*arguments, **others):
        nonlocal peak
        peak = max(peak, pa.default_memory_pool().bytes_allocated() - before)
        return real(*arguments, **others)

    monkeypatch.setattr(protocol, "Texts", spy)
    assert read(path).documents == 20_000
    assert path.stat().st_size > 20 * 2**20
    assert 0 < peak < 8 * 2**20


def test_progress_of_a_table_ends_at_all_bytes(table, tmp_path):
    pa = pytest.importorskip("pyarrow")
    path = table(pa.array(["aa", "bb"]))
    seen: list = []
    options = CorpusOptions(**ALL)
    open_corpus([str(path)], options, store=tmp_path / "s", notify=seen.append)
    assert seen[-1][0] == seen[-1][1] == path.stat().st_size


def test_a_column_that_is_missing_says_which_there_are(table):
    pa = pytest.importorskip("pyarrow")
    path = table(pa.array(["aa"]), field="remark")
    with pytest.raises(
        CorpusError, match=r"no column 'text' \(the columns are 'id', 'remark'; choose one"
    ):
        read(path)
    assert texts(path, text_field="remark") == ["aa"]


def test_a_column_of_numbers_is_refused(table):
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(CorpusError, match="column 'id' is not text but int64"):
        read(table(pa.array(["aa"])), text_field="id")


def test_a_bad_row_is_named_and_skipped_if_asked(table):
    pa = pytest.importorskip("pyarrow")
    path = table(pa.array([b"aa", b"\xff", b"bb " * 99], pa.binary()))
    with pytest.raises(CorpusError, match=r"x.parquet:2: this is not UTF-8"):
        read(path)
    corpus = read(path, on_bad_document="skip", max_line=100)
    assert corpus.provenance["skipped"] == {"line too long": 1, "not UTF-8": 1}
    assert texts(path, on_bad_document="skip", max_line=100) == ["aa", "", ""]


@pytest.mark.parametrize("keep", [4, 12, 0.5, 0.9])
def test_a_parquet_file_that_was_cut_is_refused(table, keep):
    pa = pytest.importorskip("pyarrow")
    path = table(pa.array(["aa"] * 1000))
    data = path.read_bytes()
    path.write_bytes(data[: keep if isinstance(keep, int) else int(len(data) * keep)])
    with pytest.raises(CorpusError, match=r"damaged .* write it again") as caught:
        read(path)
    assert "\n" not in str(caught.value)


def test_a_changed_page_is_refused(table):
    """Red with: checksums of pages not compared."""
    pa = pytest.importorskip("pyarrow")
    column = pa.array([f"aa{i}" for i in range(1000)])
    path = table(column, compression="none", use_dictionary=False, write_page_checksum=True)
    data = bytearray(path.read_bytes())
    data[data.index(b"aa500")] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorpusError, match="damaged"):
        read(path)


def test_a_parquet_file_whose_names_are_no_text_is_refused(table):
    """Red with: an error of decoding that is none of PyArrow's (70)."""
    path = table(["a b", "c d"])
    data = path.read_bytes()
    path.write_bytes(data.replace(b"text", b"t\xb6xt"))
    with pytest.raises(CorpusError, match=r"x.parquet: the Parquet file is damaged"):
        read(path)


def test_compressed_parquet_is_refused_with_advice(table):
    pa = pytest.importorskip("pyarrow")
    path = table(pa.array(["aa"]))
    packed = path.with_name("x.parquet.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(CorpusError, match="decompress it"):
        read(packed)


def test_parquet_on_standard_input_is_refused_with_advice(standard_input, tmp_path):
    pytest.importorskip("pyarrow")
    standard_input(b"PAR1....")
    with pytest.raises(CorpusError, match=r"<stdin>: .*give the file's name"):
        open_corpus(["-"], CorpusOptions(), store=tmp_path / "s")


def test_texts_that_unpack_to_more_than_max_input_are_refused(table):
    pa = pytest.importorskip("pyarrow")
    path = table(pa.array([f"aa{i} " * 50 for i in range(10_000)]))
    with pytest.raises(CorpusError, match="more than --set max-input=1000000"):
        read(path, max_input=10**6)


def test_without_pyarrow_the_message_says_what_to_install(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = write("x.parquet", b"PAR1....PAR1")
    with pytest.raises(MissingInputError, match=r"pip install pyarrow") as caught:
        read(path)
    assert caught.value.exit_code == 66
