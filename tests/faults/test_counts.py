"""Files of counts with impossible claims. Rows 45, 46 and 47 of the matrix."""

from __future__ import annotations

import io
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.errors import CorpusError

BANNER = "%%MatrixMarket matrix coordinate {} general\n"

#: Name of a file, what is before the third document, that document, and what is after it. The
#: places {d}, {w} and {c} are its number, its word and its count.
FORMS = {
    "UCI": ("docword.x.txt", "4\n5\n4\n1 1 2\n2 5 1\n", "{d} {w} {c}\n", "4 1 1\n"),
    "LDA-C": ("x.ldac", "1 0:2\n1 4:1\n", "2 1:1 {w}:{c}\n", "1 0:1\n"),
    "SVMlight": ("x.svmlight", "7 1:2\n7 5:1\n", "7 2:1 {w}:{c}\n", "7 1:1\n"),
    "Matrix Market": (
        "x.mtx",
        BANNER.format("real") + "4 5 4\n1 1 2\n2 5 1\n",
        "{d} {w} {c}\n",
        "4 1 1\n",
    ),
}
HUGE = {"V + 1": 6, "2^31": 2**31, "2^32": 2**32, "2^63": 2**63, "10^400": 10**400, "-1": -1}


def write(folder: Path, form: str, vocabulary: bool, d="3", w="3", c="1") -> tuple[Path, int]:
    """Return the file, and the line of its third document."""
    name, before, line, after = FORMS[form]
    if vocabulary:
        (folder / "vocab.x.txt").write_text("a\nb\nc\nd\ne\n")
    path = folder / name
    path.write_text(before + line.format(d=d, w=w, c=c) + after)
    return path, before.count("\n") + 1


def refused(path: Path, folder: Path, line: int | None) -> str:
    """Return the message on a refused file, read in memory that does not depend on its claims."""
    tracemalloc.start()
    try:
        with pytest.raises(CorpusError) as caught:
            open_corpus([str(path)], CorpusOptions(), store=folder / "s")
        assert tracemalloc.get_traced_memory()[1] < 2**25
    finally:
        tracemalloc.stop()
    message = str(caught.value)
    where = f"{path}: " if line is None else f"{path}:{line}: "
    assert message.startswith(where), message
    assert caught.value.exit_code == 65
    assert "\n" not in message
    assert len(message) < 600
    assert not [entry for entry in folder.iterdir() if entry.name.startswith((".s", "s"))]
    return message


@pytest.mark.row(45)
@pytest.mark.parametrize("vocabulary", [True, False], ids=["words", "numbers"])
@pytest.mark.parametrize("form", FORMS)
def test_an_id_that_no_word_or_document_has_is_refused(tmp_path, trials, form, vocabulary):
    """Red with: ids cut to 32 bits; the largest id not compared with the vocabulary."""
    for place in ("w", "d") if "{d}" in FORMS[form][2] else ("w",):
        for case, value in HUGE.items():
            if case == "V + 1" and not vocabulary and form in ("LDA-C", "SVMlight"):
                continue  # without a vocabulary that is just another word
            path, line = write(tmp_path, form, vocabulary, **{place: str(value)})
            message = refused(path, tmp_path, line)
            assert ("document" if place == "d" else "word") in message
            assert str(value)[:30] in message
            trials()


@pytest.mark.row(45)
@pytest.mark.parametrize("form", ["LDA-C", "SVMlight"])
def test_the_largest_id_there_can_be_costs_no_memory(tmp_path, trials, form):
    """Red with: an array of as many values as the largest id."""
    path, _ = write(tmp_path, form, False, w=str(2**31 - 2))
    tracemalloc.start()
    try:
        corpus = open_corpus([str(path)], CorpusOptions(), store=tmp_path / "s")
        assert tracemalloc.get_traced_memory()[1] < 2**25
    finally:
        tracemalloc.stop()
    assert corpus.words == 4
    trials()


COUNTS = {
    "negative": "-3",
    "0": "0",
    "2^31": str(2**31),
    "NaN": "NaN",
    "1e308": "1e308",
    "3.5": "3.5",
    "empty": "",
}
#: Formats in which a zero is an entry like any other.
SPARSE = ("SVMlight", "Matrix Market")


@pytest.mark.row(46)
@pytest.mark.parametrize("case", COUNTS)
@pytest.mark.parametrize("form", FORMS)
def test_a_count_that_is_none_is_refused(tmp_path, trials, form, case):
    """Red with: 3.5 rounded; a count above 2^31 wrapped; a zero in LDA-C read as an entry."""
    path, line = write(tmp_path, form, True, c=COUNTS[case])
    if case == "0" and form in SPARSE:
        corpus = open_corpus([str(path)], CorpusOptions(), store=tmp_path / "s")
        assert corpus.take([0, 1]).counts.min() == 1
        assert corpus.totals.word_counts.tolist() == [3, int(form == "SVMlight"), 0, 0, 1]
    else:
        message = refused(path, tmp_path, line)
        assert "count" in message or "is not an entry" in message
        assert COUNTS[case] in message
    trials()


@pytest.mark.row(46)
@pytest.mark.parametrize("value", [-3, 0, 2**31, np.nan, 1e308, 3.5])
def test_a_count_that_is_none_is_refused_in_a_sparse_matrix(tmp_path, trials, value):
    """Red with: NaN compared the wrong way round, and cast to an integer."""
    parts = {
        "format": np.array(b"csr"),
        "shape": np.array([2, 3]),
        "data": np.array([1, value, 2], float),
        "indices": np.array([0, 1, 2]),
        "indptr": np.array([0, 2, 3]),
    }
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in parts.items():
            file = io.BytesIO()
            np.lib.format.write_array(file, array)
            archive.writestr(f"{name}.npy", file.getvalue())
    if value == 0:
        corpus = open_corpus([str(path)], CorpusOptions(), store=tmp_path / "s")
        assert corpus.take([0, 1]).counts.tolist() == [1, 2]
    else:
        assert "document 1, word 2: the count" in refused(path, tmp_path, None)
    trials()


#: What is said of D = 4, W = 5 and NNZ = 4; and what is found instead, as far as it is read.
LIES = {
    "documents": {"2": "3", "9": "4", "99999999999": "4"},
    "words": {"3": "5", "6": "5", "2147483647": "5"},
    "entries": {"3": "more", "5": "4", "99999999999": "4"},
}


@pytest.mark.row(47)
@pytest.mark.parametrize("what", LIES)
@pytest.mark.parametrize("form", ["UCI", "Matrix Market"])
def test_a_header_that_lies_is_refused_with_both_numbers(tmp_path, trials, form, what):
    """Red with: fewer entries than promised taken for the end; arrays of the promised size."""
    for said, found in LIES[what].items():
        numbers = {"documents": "4", "words": "5", "entries": "4"}
        numbers[what] = said
        between = "\n" if form == "UCI" else " "
        head = "" if form == "UCI" else BANNER.format("integer")
        lines = ["1 1 2", "2 5 1", "3 3 1", "4 1 1"]
        path = tmp_path / FORMS[form][0]
        path.write_text(head + between.join(numbers.values()) + "\n" + "\n".join(lines) + "\n")
        (tmp_path / "vocab.x.txt").write_text("a\nb\nc\nd\ne\n")
        with pytest.raises(CorpusError) as caught:
            open_corpus([str(path)], CorpusOptions(), store=tmp_path / "s")
        message = refused(path, tmp_path, caught.value.line)
        assert caught.value.line is not None
        assert f"{int(said):,}" in message
        assert found in message.removeprefix(str(tmp_path))
        trials()


@pytest.mark.row(47)
@pytest.mark.parametrize("said", ["0", "1", "3", "99999999999", "2147483648", "x"])
def test_a_line_that_lies_of_its_pairs_is_refused_with_both_numbers(tmp_path, trials, said):
    """Red with: the number of pairs not compared."""
    path = tmp_path / "x.ldac"
    path.write_text(f"1 0:2\n{said} 1:1 3:1\n1 0:1\n")
    message = refused(path, tmp_path, 2)
    assert (said if said == "x" else f"{int(said):,}") in message
    assert said == "x" or "has 2" in message
    trials()
