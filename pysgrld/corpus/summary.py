"""A stored corpus in figures, for ``sgmc corpus info``."""

from __future__ import annotations

from typing import Any

import numpy as np

from pysgrld.corpus.store import Corpus

QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)


def describe(corpus: Corpus, words: int = 20) -> dict[str, Any]:
    """Describe a corpus by figures, as plain values.

    Parameters
    ----------
    corpus : Corpus
    words : int
        How many of the most frequent words.

    Returns
    -------
    dict
        ``path``, ``fingerprint``, ``documents``, ``words``, ``tokens``, ``nnz``, ``bytes``;
        ``empty`` documents; ``unused_words`` that never occur; ``length_quantiles`` by share,
        in tokens; ``frequent`` as pairs of word and count; whether documents have ``ids`` and
        ``titles`` of their own; ``columns`` with ``name``, ``kind``, ``missing``;
        ``texts`` that are kept: ``documents``, ``bytes``; ``provenance``.
    """
    about = corpus.about
    lengths, counts = corpus.lengths(), corpus.totals.word_counts
    found = np.quantile(lengths, QUANTILES, method="inverted_cdf")
    most = np.argsort(-counts, kind="stable")[:words]
    return {
        "path": str(corpus.path),
        "fingerprint": corpus.fingerprint,
        "documents": corpus.documents,
        "words": corpus.words,
        "tokens": corpus.tokens,
        "nnz": corpus.nnz,
        "bytes": sum(file.stat().st_size for file in corpus.path.rglob("*") if file.is_file()),
        "empty": int((lengths == 0).sum()),
        "unused_words": int((counts == 0).sum()),
        "length_quantiles": {
            f"{q:g}": int(n) for q, n in zip(QUANTILES, found.tolist(), strict=True)
        },
        "frequent": [(corpus.vocabulary[i], int(counts[i])) for i in most.tolist()],
        "ids": about.has_ids,
        "titles": about.has_titles,
        "columns": [column._asdict() for column in about.columns],
        "texts": {"documents": about.texts_kept, "bytes": about.text_bytes},
        "provenance": corpus.provenance,
    }
