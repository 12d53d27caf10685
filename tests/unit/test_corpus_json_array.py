"""JSON arrays: an element a document, read one after the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.corpus.about.details import WantedFields
from pysgrld.corpus.formats import Context, Noticed
from pysgrld.corpus.formats.json import TOGETHER, read_array
from pysgrld.corpus.formats.protocol import BadDocuments, RecordCounter
from pysgrld.errors import CorpusError

ALL = {"min_df": 1, "max_df": 1.0, "stop_words": "none"}


def read(path: Path, store: Path, **more: object) -> Corpus:
    return open_corpus([str(path)], CorpusOptions(**ALL | more), store=store)


def array(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "x.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_an_array_is_read_as_the_same_lines_are(tmp_path):
    """Red with: a block that ends within a word for the end of an element."""
    records = [
        {"id": f"k{i}", "text": f"wörd{i % 7} and, [{i}] " * (i % 50), "n": i} for i in range(9000)
    ]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, records)))
    lines = read(tmp_path / "x.jsonl", tmp_path / "a", meta_field="n")
    for indent in (None, 1):
        path = array(tmp_path, json.dumps(records, indent=indent, ensure_ascii=False))
        corpus = read(path, tmp_path / f"b{indent}", meta_field="n")
        assert corpus.fingerprint == lines.fingerprint
        every = range(corpus.documents)
        assert corpus.about.ids(every) == lines.about.ids(every)
        assert corpus.about.values("n", every) == lines.about.values("n", every)


def test_an_array_of_strings_is_one_of_texts(tmp_path):
    corpus = read(array(tmp_path, '\n[ "a text",\n"another one" ]\n'), tmp_path / "s")
    assert corpus.about.texts([0, 1]) == ["a text", "another one"]
    assert corpus.about.ids([0, 1]) == ["1", "2"]


def test_an_array_may_be_in_another_encoding(tmp_path):
    path = array(tmp_path, '["un café"]'.encode("utf-16"))
    assert read(path, tmp_path / "s", encoding="utf-16").vocabulary == ("café", "un")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            '[{"text": "a b"}, {"body": "c d"}]',
            "element 2: no field 'text' .the object has 'body'; choose",
        ),
        ('[{"text": "a b"}, 3]', "element 2: this is not an object with fields"),
        (
            '["a b", "' + "c d " * 500 + '"]',
            r"element 2: the object has more than 1000 bytes; allow more with --set max-line=SIZE",
        ),
        ('["a b", [5]]', "element 2: this is not an object with fields"),
        ('[{"text": "a b"}, {"text": 3}]', "element 2: field 'text' is not a string"),
    ],
)
def test_a_bad_element_is_named_by_its_number_and_can_be_skipped(tmp_path, text, why):
    path = array(tmp_path, text)
    with pytest.raises(CorpusError, match=f"x.json: {why}"):
        read(path, tmp_path / "s", max_line=1000)
    skip = {"max_line": 1000, "on_bad_document": "skip"}
    corpus = read(path, tmp_path / "t", **skip, token_pattern=r"\w+")
    assert corpus.vocabulary == ("a", "b")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('["a b", "c d"', "element 2: the file ends where a comma or the closing ] of the array"),
        ('["a b" "c d"]', "element 1: '\"' follows where a comma"),
        ('["a b", "c d', "element 2: not JSON: Unterminated string"),
        ('["a b", ]', "element 2: not JSON: Expecting value"),
        ('["a b", {"text": nothing}, "c d"]' + " " * 99, "element 2: not JSON: Expecting value"),
        ('["a b"] ["c d"]', "element 1: there is text after the end of the array"),
        ('["a b", ' + "[" * 100_000, "element 2: the element is nested too deeply"),
        ('["a b", ' + "9" * 5_000 + "]", "element 2: not JSON: a number is too long"),
        ('["a b", "' + "c d " * 500, r"element 2: the element has more than 1000 bytes"),
        (b'["a b", "caf\xe9"]', "element 1: this is not UTF-8"),
    ],
)
def test_a_fault_between_elements_ends_the_reading_by_number(tmp_path, text, why):
    """Red with: what was read so far for the whole; a traceback."""
    path = array(tmp_path, text)
    for policy in ("stop", "skip"):
        with pytest.raises(CorpusError, match=f"x.json: {why}"):
            read(path, tmp_path / "s", on_bad_document=policy, max_line=1000)


def test_an_array_is_read_block_by_block():
    """Red with: json.load."""
    taken = []

    class Endless:
        label = "x.json"

        def blocks(self):
            yield b"["
            while True:
                taken.append(1)
                yield b'{"text": "some few words"},' * 300

    options = CorpusOptions()
    context = Context(
        options,
        WantedFields.of(options),
        BadDocuments(False),
        False,
        lambda _: None,
        lambda _: None,
        Noticed(),
        RecordCounter(),
    )
    texts = read_array(Endless(), context)
    assert [len(next(texts).documents) for _ in range(20)] == [TOGETHER] * 20
    assert len(taken) * 300 < 20 * TOGETHER + 3 * 300
