"""Files that are not read are refused by name, with what to do, and never taken for text."""

from __future__ import annotations

import io
import pickle
import tarfile
import zipfile

import numpy as np
import pytest

from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.corpus.formats import recognise
from pysgrld.errors import CorpusError


def tar() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        entry = tarfile.TarInfo("a.txt")
        entry.size = 6
        archive.addfile(entry, io.BytesIO(b"a text"))
    return file.getvalue()


def npy() -> bytes:
    file = io.BytesIO()
    np.save(file, np.eye(3))
    return file.getvalue()


def zipped(*names: str, first: str = "") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, first)
    return file.getvalue()


def opened(kind: str) -> bytes:
    return zipped("mimetype", "content.xml", first=f"application/{kind}")


REFUSED = {
    "proquest.txt": (b"_" * 60 + b"\n\nDocument 1 of 2\n\nMice\n", "ProQuest", "RIS or CSV"),
    "list.toml": (b'# a\n[[doc]]\ntext = "mice"\n', "a file of settings", "JSON lines"),
    "x.php.txt": (b'a:1:{s:4:"text";s:4:"mice";}\n', "serialised PHP", "JSON lines"),
    "x.zip": (b"PK\x03\x04" + bytes(26) + b"a.txt", "a zip archive", "unpack"),
    "x.tar": (tar(), "a tar archive", "unpack"),
    "x.npy": (npy(), "dense NumPy array", "save_npz"),
    "x.pt": (b"PK\x03\x04" + bytes(26) + b"archive/data.pkl", "a zip archive", "unpack"),
    "x.pkl": (
        pickle.dumps({"text": "a"}),
        "pickle, which sgmc cannot read; a pickle is never",
        "save_npz",
    ),
    "x.xml": (b'<?xml version="1.0"?>\n<book><p>a text</p></book>\n', "XML", "JSON lines"),
    "utf16.txt": ("a text".encode("utf-16"), "UTF-16", "UTF-8"),
    "x.h5": (
        b"\x89HDF\r\n\x1a\n",
        "this is not an AnnData or 10x file, or it is damaged",
        "write it again",
    ),
    "talk.pptx": (zipped("[Content_Types].xml", "ppt/slides.xml"), "a PowerPoint file", "save the"),
    "essay.odt": (opened("vnd.oasis.opendocument.text"), "an OpenDocument text", "save it"),
    "book.epub": (opened("epub+zip"), "a book (.epub, .mobi)", "extract the text"),
    "old.doc": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Word or Excel file", "save it"),
    "x.xls": (
        b"<html><body><table></table></body></html>",
        "this is not a spreadsheet",
        "save it as",
    ),
    "x.rtf": (rb"{\rtf1 a text}", "rich text", "save it"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_format_that_is_not_read_is_refused_by_name_with_what_to_do(tmp_path, name):
    data, what, advice = REFUSED[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(CorpusError) as caught:
        open_corpus([str(tmp_path / name)], CorpusOptions(), store=tmp_path / "s")
    message = str(caught.value)
    assert what in message
    assert advice in message
    assert "\n" not in message
    assert "dump" not in message or name == "x.xml"
    assert not (tmp_path / "s").exists()


MARKET = b"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1\n"
RECOGNISED = [
    (b"3\n4\n5\n1 1 1\n", "counts.txt", "UCI bag of words"),
    (b"0\n0\n0\n2 0:1 1:1\n", "x.txt", "LDA-C"),
    (b"2 0:1 4:2\n0\n1 3:1\n", "x.txt", "LDA-C"),
    (b"2 0:1 4:2\n3 3:1\n1 0:1\n", "x.dat", "LDA-C"),
    (b"0\n0\n2 0:1 4:2\n", "x", "LDA-C"),
    (b"2 0:1 4:2\n", "x.svmlight", "SVMlight"),
    (b"-1 1:0.5 3:2\n", "x.ldac", "LDA-C"),
    (b"-1 1:0.5 3:2\n", "x.txt", "SVMlight"),
    (b"# made by hand\n1 1:2\n0 3:1 4:1\n", "x.dat", "SVMlight"),
    (b"2 qid:7 1:2 2:1\n", "", "SVMlight"),
    (b"1 1:2 2:1 # two\n", "", "SVMlight"),
    (b"5 1:2 2:1\n5 1:1\n5 3:1 4:1\n", "", "SVMlight"),
    (b"", "x.libsvm", "SVMlight"),
    (MARKET, "x.txt", "Matrix Market"),
    (b"1 1 1\n", "x.mtx", "Matrix Market"),
    (b'{"text": "a"}\n', "x.csv", "JSON lines"),
    (b"a,text\n", "x.csv", "CSV or TSV"),
    (b"a\ttext\n", "x.TSV", "CSV or TSV"),
    (b"first, a line with commas\nand, another\n", "x.txt", "plain text"),
    (b"id,text\n1,hello\n", "", "CSV or TSV"),
    (b"aa,text\n1,hello\n", "", "plain text"),
    (b"2020 12:30 we met\n", "x.txt", "plain text"),
    (b"12 angry men\n", "x.txt", "plain text"),
    (b" " * 2**16, "x.txt", "plain text"),  # red with: a pattern that takes half a minute
    (b"@a{" + b" " * 2**16, "x.txt", "plain text"),
    (b"<a>" + b"\n" * 2**16, "x.txt", "plain text"),
    (b"1. a 2001; " * 2**13, "x.txt", "plain text"),
    (b"PAR1....", "x", "Parquet"),
    (b"PK\x03\x04" + bytes(26) + b"indices.npy....", "x", "SciPy .npz"),
    (b"PK\x03\x04" + bytes(26) + b"a.txt", "x.npz", "SciPy .npz"),
    (b"PK\x03\x04" + bytes(26) + b"a.txt", "x.txt", "a zip archive"),
]


@pytest.mark.parametrize(("head", "name", "format"), RECOGNISED)
def test_a_format_is_told_by_content_then_by_name(head, name, format):
    """Red with: commas making a CSV of any text; one labelled line making SVMlight of LDA-C."""
    assert recognise(head, name).name == format


def test_one_wrong_number_of_pairs_does_not_make_svmlight_of_ldac():
    """A file that is LDA-C but for a fault is read as LDA-C, so that the fault is found."""
    assert recognise(b"2 0:1 4:2\n2 3:1\n1 0:1\n", "x.txt").name == "LDA-C"
