"""Counts that other programs write: transposed matrices, vocabularies of R and gensim, single cells."""

from __future__ import annotations

import gzip
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmwrite

from pysgrld import LDA
from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.corpus.vocabulary import read_vocabulary
from pysgrld.errors import CorpusError

ALL = {"min_df": 1, "max_df": 1.0, "stop_words": "none"}
#: Two documents of four words.
COUNTS = np.array([[1, 1, 0, 2], [0, 3, 1, 0]])
WORDS = ["cat", "dog", "fish", "bird"]
TD = "%%MatrixMarket matrix coordinate integer general\n4 2 5\n1 1 1\n2 1 1\n4 1 2\n2 2 3\n3 2 1\n"
UCI = "4\n2\n5\n1 1 1\n2 1 1\n2 2 3\n3 2 1\n4 1 2\n"


def read(tmp_path, path, **more):
    store = tmp_path / f"s{len(list(tmp_path.iterdir()))}"
    return open_corpus([str(path)], CorpusOptions(**ALL | more), store=store)


def dense(corpus) -> list[list[int]]:
    documents = corpus.take(np.arange(corpus.documents))
    shape = corpus.documents, corpus.words
    found = sparse.csr_matrix((documents.counts, documents.indices, documents.indptr), shape)
    order = [corpus.vocabulary.index(word) for word in WORDS]
    return found.toarray()[:, order].tolist()


@pytest.mark.parametrize("name", ["td.mtx", "docword.td.txt", "td.npz"])
def test_a_transposed_matrix_is_refused_and_read_if_it_is_said(tmp_path, name):
    """Red with: a vocabulary that is longer than the width which the file states."""
    path = tmp_path / name
    if name.endswith(".npz"):
        sparse.save_npz(path, sparse.csr_matrix(COUNTS.T))
    else:
        path.write_text(TD if name.endswith(".mtx") else UCI)
    (tmp_path / "vocab.td.txt").write_text("\n".join(WORDS))
    with pytest.raises(CorpusError, match=r"rows and columns may be exchanged: try --transpose"):
        read(tmp_path, path)
    corpus = read(tmp_path, path, transpose="on")
    assert dense(corpus) == COUNTS.tolist()
    (tmp_path / "vocab.td.txt").write_text("\n".join([*WORDS, "one"]))
    for turned in ("on", None):
        with pytest.raises(
            CorpusError,
            match=r"words?, but the vocabulary .* has 5; give the vocabulary of this file",
        ):
            read(tmp_path, path, transpose=turned)


def test_formats_of_a_document_a_line_cannot_be_transposed(tmp_path):
    path = tmp_path / "x.ldac"
    path.write_text("2 0:1 1:2\n")
    with pytest.raises(CorpusError, match="leave out --transpose"):
        read(tmp_path, path, transpose="on")


VOCABULARIES = {
    "plain": "cat\ndog\nfish\nbird\n",
    "write.table of R": '"x"\n"1" "cat"\n"2" "dog"\n"3" "fish"\n"4" "bird"\n',
    "without numbers of rows": '"cat"\n"dog"\n"fish"\n"bird"\n',
    "with a header": '"x"\n"cat"\n"dog"\n"fish"\n"bird"\n',
    "write.csv of R": '"","x"\n"1","cat"\n"2","dog"\n"3","fish"\n"4","bird"\n',
    "gensim": "9\n3\tbird\t7\n0\tcat\t8\n1\tdog\t1\n2\tfish\t9\n",
    "ids from 1": "4\tbird\t7\n1\tcat\t8\n2\tdog\t1\n3\tfish\t9\n",
    "word and count": "cat\t17\ndog\t3\nfish\t2\nbird\t1\n",
}


@pytest.mark.parametrize("name", VOCABULARIES)
def test_vocabularies_that_other_programs_write_give_the_words(tmp_path, name):
    """Red with: words in quotes, or with a tab and a count, which no text has."""
    path = tmp_path / "words.txt"
    path.write_text(VOCABULARIES[name])
    assert list(read_vocabulary(path)) == WORDS


def test_ids_of_a_vocabulary_with_gaps_are_refused(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("0\tcat\t8\n2\tdog\t1\n")
    with pytest.raises(CorpusError, match="the word ids must be the numbers 0 to 1"):
        read_vocabulary(path)


@pytest.mark.parametrize("prefix", ["", "GSM1_"])
@pytest.mark.parametrize("genes", ["features", "genes"])
def test_single_cells_of_10x_are_read_whole(tmp_path, prefix, genes):
    """Red with: cells as words; barcodes that are no ids."""
    folder = tmp_path / "cells"
    folder.mkdir()
    with gzip.open(folder / f"{prefix}matrix.mtx.gz", "wb") as file:
        mmwrite(file, sparse.csc_matrix(COUNTS.T))
    rows = [f"ENSG{i}\t{word}\tGene Expression\n" for i, word in enumerate(["cat", *WORDS[1:]])]
    (folder / f"{prefix}{genes}.tsv").write_text("".join(rows))
    (folder / f"{prefix}barcodes.tsv").write_text("AAA-1\nCCC-1\n")
    paths = [folder / f"{prefix}matrix.mtx.gz"] + ([] if prefix else [folder])
    for path in paths:
        corpus = read(tmp_path, path)
        assert dense(corpus) == COUNTS.tolist()
        assert corpus.about.ids([0, 1]) == ["AAA-1", "CCC-1"]
    (folder / f"{prefix}barcodes.tsv").write_text("AAA-1\n")
    with pytest.raises(
        CorpusError, match=r"the matrix has 2 columns, but .*barcodes\.tsv has 1 line"
    ):
        read(tmp_path, paths[0])


def test_genes_of_the_same_name_are_two_words(tmp_path):
    (tmp_path / "matrix.mtx").write_text(TD)
    (tmp_path / "barcodes.tsv").write_text("a\nb\n")
    (tmp_path / "features.tsv").write_text("E1\tcat\nE2\tcat\nE3\tcat-1\nE4\tdog\n")
    words = read(tmp_path, tmp_path / "matrix.mtx").vocabulary
    assert set(words) == {"cat", "cat-2", "cat-1", "dog"}


@pytest.mark.parametrize("form", ["csr", "csc", "dense", "10x", "layer"])
def test_anndata_files(tmp_path, form):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "cells.h5ad"
    with h5py.File(path, "w") as file:

        def put(name, matrix, kind):
            if kind == "dense":
                file[name] = matrix
                return
            made = sparse.csc_matrix(matrix) if kind == "csc" else sparse.csr_matrix(matrix)
            group = file.create_group(name)
            group.attrs["encoding-type"] = f"{kind}_matrix"
            group.attrs["shape"] = made.shape
            for part in ("data", "indices", "indptr"):
                group[part] = getattr(made, part)

        if form == "10x":
            put("matrix", COUNTS, "csr")
            file["matrix/shape"] = [4, 2]
            file["matrix/barcodes"] = [b"AAA-1", b"CCC-1"]
            file["matrix/features/name"] = [word.encode() for word in WORDS]
        else:
            values = COUNTS / 3.0 if form == "layer" else COUNTS.astype(np.float32)
            put("X", values, "csr" if form == "layer" else form)
            if form == "layer":
                put("layers/counts", COUNTS, "csr")
            for table, names in (("obs", ["AAA-1", "CCC-1"]), ("var", WORDS)):
                file.create_group(table).attrs["_index"] = "names"
                file[table]["names"] = [name.encode() for name in names]
    corpus = read(tmp_path, path)
    assert dense(corpus) == COUNTS.tolist()
    assert corpus.about.ids([0, 1]) == ["AAA-1", "CCC-1"]
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(CorpusError, match="damaged"):
        read(tmp_path, path)


def test_an_object_of_anndata_is_fitted_by_its_counts():
    """Red with: genes without their names; normalised values in place of the layer of counts."""
    rng = np.random.default_rng(0)
    counts = sparse.csr_matrix(rng.poisson(2.0, (60, 4)))
    adata = SimpleNamespace(
        X=counts, var_names=WORDS, obs_names=[str(i) for i in range(60)], layers={}
    )
    how = {"n_components": 2, "max_iter": 60, "random_state": 0, "holdout": 0}
    plain = LDA(**how).fit(counts, vocabulary=WORDS)
    for data in (
        adata,
        SimpleNamespace(**vars(adata) | {"X": counts / 3.0, "layers": {"counts": counts}}),
    ):
        model = LDA(**how).fit(data)
        assert list(model.feature_names_in_) == WORDS
        assert np.array_equal(model.components_, plain.components_)
        assert np.array_equal(model.transform(data), plain.transform(counts))


def test_a_table_of_counts_is_no_text(tmp_path):
    """Red with: the column of the word "body" taken for the text."""
    path = tmp_path / "dtm.csv"
    path.write_text("id,body,mice,sleep\n1,0,2,1\n2,1,0,3\n3,2,2,2\n")
    with pytest.raises(CorpusError, match=r"the table seems to contain counts.*save_npz"):
        read(tmp_path, path)
    path.write_text("document,word,count\n1,mice,2\n1,sleep,1\n2,mice,4\n")
    with pytest.raises(CorpusError, match=r"the table seems to contain counts"):
        read(tmp_path, path)
