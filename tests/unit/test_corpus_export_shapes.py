"""Files in the shapes that databases, platforms and programs export: read whole, or refused."""

from __future__ import annotations

import re

import pytest
from careless_exports import CARELESS
from export_samples import EXPORTS as USUAL
from named_corpora import build

from pysgrld.corpus.formats import TEXT, recognise
from pysgrld.errors import CorpusError

EXPORTS = USUAL | CARELESS


def words(text: str) -> list[str]:
    return re.findall(r"\w\w+", text.lower())


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_recognised_by_its_content(name):
    """Red with: an export that is plain text if it is called .txt."""
    export = EXPORTS[name]
    head = export.content.removeprefix("\ufeff".encode())
    format = recognise(head, f"{export.name}.txt")
    assert format is recognise(head, export.name)
    assert format is not TEXT


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_read_whole_or_refused_with_advice(name, tmp_path):
    """Red with: an export read line by line; a header or a label as a document; markup among words."""
    for library in ("rispy", "bibtexparser"):
        pytest.importorskip(library)
    export = EXPORTS[name]
    path = tmp_path / export.name
    path.write_bytes(export.content)
    options = dict(export.options)
    if export.refused:
        with pytest.raises(CorpusError, match=export.refused):
            build(tmp_path, path, **options)
        return
    if export.year:
        options["meta_field"] = export.year
    corpus = build(tmp_path, path, keep_text="all", **options)
    rows = range(corpus.documents)
    assert corpus.documents == len(export.texts)
    counts = corpus.take([*rows])
    assert [sum(counts.counts[counts.indptr[i] : counts.indptr[i + 1]]) for i in rows] == [
        len(words(text)) for text in export.texts
    ]
    assert {*corpus.vocabulary} == {word for text in export.texts for word in words(text)}
    if export.titles:
        assert tuple(corpus.about.titles(rows)) == export.titles
    if export.year:
        years = corpus.about.values(export.year, rows)
        assert [int(str(year)[:4]) for year in years] == [2001, 2002][: len(export.texts)]
