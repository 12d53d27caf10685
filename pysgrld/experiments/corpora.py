"""Corpora of experiments, which are kept in memory: training and held-out documents."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.corpus.minibatches import minibatch_words
from pysgrld.corpus.streams import matched_documents
from pysgrld.errors import MissingInputError
from pysgrld.evaluate import HeldOut, hold_out_whole, visits
from pysgrld.evaluate.held_out import split
from pysgrld.experiments.frame import ExperimentListener, ExperimentSetting
from pysgrld.options.option import Facts
from pysgrld.options.paths import is_file, is_folder, path_exists
from pysgrld.types import Documents

#: Number of training documents in a quick run.
QUICK_TRAIN = 300
#: Number of scored documents in a quick run.
QUICK_SCORED = 60


class SplitCorpus(NamedTuple):
    """Training documents, vocabulary size, and scored documents (whole or split in two parts)."""

    train: Documents
    words: int
    held_out: HeldOut

    def facts(self) -> Facts:
        """Return the facts about the corpus on which default options depend."""
        train = self.train
        return Facts(
            len(train),
            self.words,
            train.tokens,
            visits(self.held_out),
            minibatch_words(train, np.arange(len(train))),
        )


def read_parts(
    folder: Path, observed: float | None, setting: ExperimentSetting, listener: ExperimentListener
) -> SplitCorpus:
    """Read training documents and (whole or split) test documents from a folder.

    Parameters
    ----------
    folder : Path
        A folder with docword.NAME.train.txt, docword.NAME.test.txt and vocab.NAME.txt.
    observed : float or None
        Share of the tokens of a test document that is observed, in (0, 1), or None to score it
        whole.

    Raises
    ------
    MissingInputError
        If the files are not there.
    """
    train, test, words = read_unsplit_parts(folder, setting, listener)
    if setting.quick:
        train, test = first(train, QUICK_TRAIN), first(test, QUICK_SCORED)
    ids = np.arange(len(test))
    held_out = (
        hold_out_whole(test, ids) if observed is None else split(test, ids, observed, setting.seed)
    )
    return SplitCorpus(train, words, held_out)


def read_unsplit_parts(
    folder: Path, setting: ExperimentSetting, listener: ExperimentListener
) -> tuple[Documents, Documents, int]:
    """Read training documents and test documents from a folder; test documents stay whole.

    The folder has the files that `read_parts` reads; test documents without a known word are left
    out.

    Raises
    ------
    MissingInputError
        If the files are not there.
    """
    paths = sorted(folder.glob("docword.*train.txt*")) if is_folder(folder) else []
    tests = [p.with_name(re.sub(r"\.[^.]*train\.", ".test.", p.name)) for p in paths]
    if not paths or not path_exists(tests[0]):
        raise MissingInputError(
            f"{folder}: is not a folder with docword.NAME.train.txt(.gz), "
            "docword.NAME.test.txt(.gz) and vocab.NAME.txt; give another --corpus"
        )
    train, words = read_counts(paths[0], setting, listener)
    test = read_known_words(tests[0], words, setting, listener)
    return train, test.take(np.flatnonzero(test.lengths > 0)), len(words)


def read_split(
    path: Path, observed: float, setting: ExperimentSetting, listener: ExperimentListener
) -> SplitCorpus:
    """Read documents and split each into two parts, one for training and one for scoring.

    Parameters
    ----------
    path : Path
        A docword file, or a folder with one.
    observed : float
        Share of a document's tokens in the training part, in (0, 1).

    Raises
    ------
    MissingInputError
        If the file is missing.
    """
    paths = [path] if is_file(path) else sorted(path.glob("docword.*.txt*"))
    if not paths:
        raise MissingInputError(
            f"{path}: is neither a file docword.NAME.txt(.gz) nor a folder with such a file; give "
            "another --corpus"
        )
    documents, words = read_counts(paths[0], setting, listener)
    if setting.quick:
        documents = first(documents, QUICK_SCORED // 2)
    held_out = split(documents, np.arange(len(documents)), observed, setting.seed)
    return SplitCorpus(held_out.observed, len(words), held_out)


def read_counts(
    path: Path, setting: ExperimentSetting, listener: ExperimentListener
) -> tuple[Documents, tuple[str, ...]]:
    """Read all documents and all words of a docword file (UCI format), including rare words."""
    with tempfile.TemporaryDirectory(prefix="sgmc-") as scratch:
        corpus = open_corpus(
            [str(path)],
            CorpusOptions(min_df=0),
            store=Path(scratch) / "corpus",
            threads=setting.threads,
            log=listener.note,
        )
        return corpus.take(np.arange(corpus.documents)), corpus.vocabulary


def read_known_words(
    path: Path,
    vocabulary: tuple[str, ...],
    setting: ExperimentSetting,
    listener: ExperimentListener,
) -> Documents:
    """Count the words of a given vocabulary in a docword file; keep empty documents."""
    blocks = list(
        matched_documents(
            [str(path)],
            CorpusOptions(),
            vocabulary,
            threads=setting.threads,
            notify=lambda progress: None,
            log=listener.note,
        )
    )
    none = np.zeros(0, np.int32)
    lengths = np.concatenate([none, *(np.diff(b.indptr) for b in blocks)])
    return Documents(
        np.append(0, np.cumsum(lengths)).astype(np.int64),
        np.concatenate([none, *(b.indices for b in blocks)]).astype(np.int32),
        np.concatenate([none, *(b.counts for b in blocks)]).astype(np.int32),
    )


def first(documents: Documents, n: int) -> Documents:
    """Return the first ``n`` documents, or all documents if there are fewer."""
    return documents.take(np.arange(min(n, len(documents))))
