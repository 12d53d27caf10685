"""Small stored corpora with named documents, for tests of what is stored about documents."""

from __future__ import annotations

import json

import numpy as np
from listeners import Lines

from pysgrld.corpus import CorpusOptions, open_corpus

ALL = {"min_df": 1, "max_df": 1.0, "stop_words": "none"}


def build(tmp_path, *inputs, name="s", log=None, **options):
    lines = Lines()
    given = CorpusOptions(**ALL | options)
    corpus = open_corpus([str(i) for i in inputs], given, store=tmp_path / name, log=lines.append)
    if log is not None:
        log.extend(lines)
        getattr(log, "warnings", []).extend(lines.warnings)
    return corpus


def every(corpus):
    return np.arange(corpus.documents)


def lines_of(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def files_about(corpus):
    return {p.name: p.read_bytes() for p in corpus.path.glob("*.npz")}


def uci(tmp_path):
    path = tmp_path / "docword.x.txt"
    path.write_text("4\n3\n3\n1 1 1\n3 2 1\n4 3 1\n")
    (tmp_path / "vocab.x.txt").write_text("m1\nm3\nm4\n")
    return [path], lambda file, row: f"m{row}"
