"""What inputs are called: the table of formats is the one place that knows suffixes."""

from __future__ import annotations

from importlib import import_module
from inspect import isfunction, signature
from pathlib import Path
from pkgutil import iter_modules

import pytest

from pysgrld.corpus import formats
from pysgrld.corpus.formats import FILE_OF_TEXT, FORMATS, PREFIXES, SUFFIXES
from pysgrld.corpus.inputs import corpus_name, stem
from pysgrld.corpus.lines import COMPRESSED, plain_name


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("compressed", ["", *COMPRESSED])
def test_the_name_of_a_corpus_has_no_suffix_of_any_format(suffix, compressed):
    assert corpus_name([f"data/news.train{suffix}{compressed}"]) == "news.train"
    assert corpus_name([f"data/NEWS{suffix.upper()}{compressed.upper()}"]) == "NEWS"


@pytest.mark.parametrize("name", [*SUFFIXES, *(f"{prefix}*" for prefix in PREFIXES)])
def test_the_documents_name_what_files_are_called(name):
    text = (Path(__file__).parents[2] / "docs" / "corpora.md").read_text("utf-8")
    assert f"`{name}`" in text.partition("| input |")[2].partition("\n\n")[0]


def test_every_reader_has_a_row_and_every_row_has_a_reader():
    """Red with: a row whose reader is called otherwise; a module of a format without a row."""
    for module in iter_modules(formats.__path__):
        found = vars(import_module(f"{formats.__name__}.{module.name}"))
        readers = {
            f"{module.name}.{name}"
            for name, function in found.items()
            if isfunction(function) and [*signature(function).parameters] == ["source", "context"]
        }
        rows = {f.reader for f in FORMATS if f.reader.startswith(f"{module.name}.") and not f.whole}
        assert readers == rows
    for format in (*FORMATS, FILE_OF_TEXT):
        if format.refused:
            assert not format.reader
        else:
            wanted = ["data", "options"] if format.whole else ["source", "context"]
            assert [*signature(format.function()).parameters] == wanted


def test_no_suffix_ends_with_another_so_their_order_cannot_matter():
    assert len(set(SUFFIXES)) == len(SUFFIXES)
    for one in SUFFIXES:
        assert [other for other in SUFFIXES if one.endswith(other)] == [one]


def test_a_name_that_is_a_suffix_or_a_prefix_only_stays():
    assert plain_name("a/.gz") == ".gz"
    assert stem("a/.txt") == ".txt"
    for prefix in PREFIXES:
        assert stem(f"a/{prefix}") == prefix
        assert stem(f"a/{prefix}news.txt.gz") == "news"
