"""Ids of documents are numbers of records, which join results to the table that was read."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from listeners import Told
from named_corpora import build, every, lines_of

from pysgrld.corpus import Corpus, CorpusOptions
from pysgrld.corpus.build import build as build_stored
from pysgrld.corpus.inputs import input_names
from pysgrld.corpus.join import grown
from pysgrld.corpus.shards import build_shard, merge
from pysgrld.corpus.streams import named_documents

pd = pytest.importorskip("pandas")

#: A word that only one record has, then one that all have; None: a record without a known word.
TEXTS = ["w1 all", "w2\nall\n\nall", None, "w4 all", "w5, all", "w6 all"]


def quoted_csv(path):
    cells = ['"' + (text or "") + '"' for text in TEXTS]
    path.write_text("n,text\n" + "".join(f"{i},{c}\n" for i, c in enumerate(cells)))
    return pd.read_csv(path)


def csv_with_blank_lines(path):
    cells = ['"' + (text or "") + '"' for text in TEXTS]
    path.write_text("\nn,text\n\n" + "\n   \n".join(f"{i},{c}" for i, c in enumerate(cells)))
    return pd.read_csv(path)


def csv_of_one_column(path):
    path.write_text('text\nw1 all\n\n  \nw2 all\n""\n" "\n"w5\nall"\n')
    return pd.read_csv(path)


def tsv(path):
    cells = ['"' + (text or "") + '"' for text in TEXTS]
    path.write_text("text\tn\r\n" + "".join(f"{c}\t{i}\r\n" for i, c in enumerate(cells)))
    return pd.read_csv(path, sep="\t")


def json_lines(path):
    lines = [json.dumps({"text": text, "n": i}) for i, text in enumerate(TEXTS)]
    path.write_text("\n\n".join(lines) + "\n  \n")
    return pd.read_json(io.StringIO(path.read_text()), lines=True)


def json_array(path):
    path.write_text(json.dumps([{"text": t, "n": i} for i, t in enumerate(TEXTS)], indent=2))
    return pd.read_json(io.StringIO(path.read_text()))


def parquet(path):
    pytest.importorskip("pyarrow")
    table = pd.DataFrame({"text": TEXTS, "n": range(len(TEXTS))})
    table.to_parquet(path, row_group_size=2)
    return pd.read_parquet(path)


def workbook(path):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    book.active.append(["text", "n"])
    for i, text in enumerate(TEXTS):
        book.active.append([] if text is None else [text, i])
    book.save(path)
    return pd.read_excel(path, engine="openpyxl")


def plain_text(path):
    path.write_text("\n".join((text or "").replace("\n", " ") for text in TEXTS))
    return pd.DataFrame({"text": path.read_text().splitlines()})


def ris(path):
    pytest.importorskip("rispy")
    works = "".join(f"TY  - JOUR\nAB  - {text or 'x'}\nER  - \n\n" for text in TEXTS)
    path.write_text(works)
    return pd.DataFrame({"text": [t or "x" for t in TEXTS]})


def bibtex(path):
    pytest.importorskip("bibtexparser")
    works = [f"@misc{{k{i}, abstract = {{{t or 'x'}}}}}" for i, t in enumerate(TEXTS)]
    path.write_text("% a list\n" + "\n\n".join(works))
    return pd.DataFrame({"text": [t or "x" for t in TEXTS]})


TABLES = {
    "a.csv": quoted_csv,
    "b.csv": csv_with_blank_lines,
    "c.csv": csv_of_one_column,
    "d.tsv": tsv,
    "e.jsonl": json_lines,
    "f.json": json_array,
    "g.parquet": parquet,
    "h.xlsx": workbook,
    "i.txt": plain_text,
    "j.ris": ris,
    "k.bib": bibtex,
}


def stream(inputs, words):
    """The ids of documents that have one of the words, read as a stream."""
    documents = named_documents(
        [str(path) for path in inputs],
        CorpusOptions().for_known_words(),
        words,
        threads=1,
        notify=lambda progress: None,
        log=lambda *_: None,
    )
    lengths = np.concatenate([np.diff(block.indptr) for block in documents])
    names = documents.names(len(lengths))
    return [name.id for name, length in zip(names, lengths, strict=True) if length]


@pytest.mark.parametrize("name", TABLES)
def test_ids_are_rows_of_the_table_from_1(tmp_path, name):
    """``iloc[id - 1]`` is the row. Red with: ids that are lines, header and quoted breaks counted."""
    table = TABLES[name](tmp_path / name)
    corpus = build(tmp_path, tmp_path / name, numbers="keep", text_field="auto")
    numbers = [origin.record for origin in corpus.about.origins(every(corpus))]
    assert len(numbers) >= 3
    for row, number in enumerate(numbers):
        words = {corpus.vocabulary[w] for w in corpus.take([row]).indices}
        text = table.iloc[number - 1]["text"]
        assert words == set(text.replace(",", " ").split())
    # an entry of BibTeX has a key
    ids = [f"k{number - 1}" if name == "k.bib" else str(number) for number in numbers]
    assert corpus.about.ids(every(corpus)) == corpus.about.titles(every(corpus)) == ids
    assert stream([tmp_path / name], corpus.vocabulary) == ids


def test_a_bad_record_has_its_number_and_origins_have_the_line(tmp_path):
    """Red with: records that are counted when they are good; origins that lose their line."""
    path = tmp_path / "x.csv"
    path.write_text('n,text\n1,"m1\nis"\n2\n3,m3\n4,m4\n')
    other = build(tmp_path, lines_of(tmp_path / "y.jsonl", [{"text": "is"}]), name="other").path
    for name, inputs in {"one": [path], "stored": [tmp_path / "one", other]}.items():
        corpus = build(tmp_path, *inputs, name=name, on_bad_document="skip")
        origins = corpus.about.origins([0, 1, 2])
        assert origins == [("x.csv", 2, 1), ("x.csv", 5, 3), ("x.csv", 6, 4)]
    assert corpus.about.ids([0, 1]) == ["x.csv:1", "x.csv:3"]  # of two inputs


def test_records_of_a_folder_of_tables_are_numbered_through(tmp_path):
    """A folder of tables is one table in parts. Red with: numbers that begin with each file."""
    pytest.importorskip("pyarrow")
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in range(3):
        texts = [f"w{part}{row} all" for row in range(4)]
        pd.DataFrame({"text": [*texts, None]}).to_parquet(folder / f"{part}.parquet")
    corpus = build(tmp_path, folder)
    table = pd.read_parquet(folder)
    ids = list(map(int, corpus.about.ids(every(corpus))))
    assert ids == [1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14]
    words = [{corpus.vocabulary[w] for w in corpus.take([row]).indices} for row in every(corpus)]
    assert words == [set(table.iloc[number - 1]["text"].split()) for number in ids]


def test_ids_of_several_inputs_are_the_file_and_the_record(tmp_path):
    """Red with: two documents with the id 1, and two files of one name that nothing tells apart."""
    for year in ("2024", "2025"):
        (tmp_path / year).mkdir()
        (tmp_path / year / "posts.csv").write_text(f'text\n"m{year}\nall"\nn{year} all\n')
    (tmp_path / "x.txt").write_text("a line\n")
    inputs = [tmp_path / "2024/posts.csv", tmp_path / "2025/posts.csv", tmp_path / "x.txt"]
    corpus = build(tmp_path, *inputs)
    ids = corpus.about.ids(every(corpus))
    assert ids[:3] == ["2024/posts.csv:1", "2024/posts.csv:2", "2025/posts.csv:1"]
    assert ids[4] == "x.txt:1"
    assert stream(inputs, corpus.vocabulary) == ids
    assert build(tmp_path, *inputs, name="c", chunk=1).about.ids([0]) == ["2024/posts.csv:1#1"]
    assert input_names(["a/x.csv", "./a/x.csv"]) == {"a/x.csv": "x.csv", "./a/x.csv": "x.csv"}


def test_files_of_two_folders_are_told_apart(tmp_path):
    """Red with: ``1.txt`` twice."""
    for folder in ("pos", "neg"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "1.txt").write_text(f"all {folder}")
    both, said = [tmp_path / "pos", tmp_path / "neg"], []
    corpus = build(tmp_path, *both, log=said)
    assert corpus.about.ids([0, 1]) == ["pos/1.txt", "neg/1.txt"]
    assert stream(both, corpus.vocabulary) == ["pos/1.txt", "neg/1.txt"]
    assert not any("the same id as an earlier document" in line for line in said)
    assert build(tmp_path, tmp_path / "pos", name="p").about.ids([0]) == ["1.txt"]


def test_metadata_are_joined_by_the_number_of_the_record(tmp_path):
    """Also of several inputs. Red with: the line of a record for its id; -1 for a file's name."""
    path = tmp_path / "x.csv"
    path.write_text('text\n"m1\nis"\nm2 is\n')
    meta = tmp_path / "m.csv"
    meta.write_text("id,v\n2,two\n1,one\n")
    joined = {"metadata": str(meta), "id_field": "id"}
    assert build(tmp_path, path, name="a", **joined).about.values("v", [0, 1]) == ["one", "two"]
    (tmp_path / "y.txt").write_text("m3 is\n")
    meta.write_text("id,v\nx.csv:1,one\nx.csv:2,two\ny.txt:1,three\n")
    corpus = build(tmp_path, path, tmp_path / "y.txt", name="b", **joined)
    assert corpus.about.values("v", every(corpus)) == ["one", "two", "three"]
    meta.write_text("id,v\ny.txt,whole\n")
    corpus = build(tmp_path, tmp_path / "y.txt", name="c", document_is="file", **joined)
    assert corpus.about.values("v", [0]) == ["whole"]


def test_shards_give_the_ids_of_one_process(tmp_path):
    """Red with: a shard of one input that does not know of the others."""
    inputs = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        inputs.append(str(lines_of(tmp_path / name / "x.jsonl", [{"text": "king lord"}] * 2)))
    (tmp_path / "words").write_text("king\nlord\n")
    options, listener = CorpusOptions(vocab=str(tmp_path / "words")), Told()
    for shard in (1, 2):
        build_shard(inputs, options, tmp_path / "all", (shard, 2), 1, listener)
    merged = merge(tmp_path / "all", listener)
    whole = build_stored(inputs, options, tmp_path / "one", 1, listener)
    assert merged.about.ids(every(merged)) == whole.about.ids(every(whole))
    assert whole.about.ids([0, 2]) == ["a/x.jsonl:1", "b/x.jsonl:1"]


def test_a_corpus_that_grows_by_files_of_one_name_has_unique_ids(tmp_path):
    """Red with: ``new.csv:1`` of each month."""
    path, stored, listener = tmp_path / "new.csv", None, Told()
    words = ["king", "lord"]
    for month in range(3):
        path.write_text(f"text\nking lord m{month}\n")
        if stored is None:
            stored = build(tmp_path, path, name="c0")
        else:
            place = tmp_path / f"w{month}" / "corpus"
            place.parent.mkdir()
            options = CorpusOptions(min_df=1, max_df=1.0)
            stored = grown(words, stored, [str(path)], options, place, 1, listener)
        words = list(stored.vocabulary)
    ids = Corpus.open(stored.path).about.ids(every(stored))
    assert ids == ["new.csv:1", "new.csv (2):1", "new.csv (3):1"]
