"""The data of a page as plain JSON, for other programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from pysgrld.report.content import PAIRS, Content


def plain(content: Content) -> dict[str, Any]:
    """Give everything that is on a page as plain values, unquantised, with words by name.

    Parameters
    ----------
    content : Content

    Returns
    -------
    dict
        The main JSON, and in it what the page has in blocks beside that.
    """
    found, vocabulary = content.found, content.found.results.vocabulary
    terms, words = found.terms, found.words
    columns = ("mean", "low", "high", "open", "ten", "share")
    record = dict(content.main)
    record["topics"] = []
    for topic in content.main["topics"]:
        k = topic["id"]
        told = [
            {"word": vocabulary[w]} | {name: getattr(terms, name)[k, i].item() for name in columns}
            for i, w in enumerate(terms.words[k].tolist())
            if terms.there[k, i]
        ]
        record["topics"].append(topic | {"words": told})
    ends = np.cumsum(words.n)
    record["words"] = [
        {
            "word": vocabulary[w],
            "count": int(words.counts[i]) if found.counts is not None else None,
            "topics": [
                [int(words.topics[j]), float(words.shares[j])]
                for j in range(ends[i] - words.n[i], ends[i])
            ],
        }
        for i, w in enumerate(words.ids.tolist())
    ]
    if content.chosen is not None:
        record["docs"] = record["docs"] | {"records": content.chosen.records}
    if found.topics <= PAIRS:
        distance, correlation = content.pairs()
        record["pairs"] = {
            "distance": np.round(distance, 5).tolist(),
            "correlation": np.round(correlation, 5).tolist(),
        }
    for name, shares in content.shares().items():
        parts = {part: np.round(x, 6).tolist() for part, x in shares._asdict().items()}
        if name == "along":
            record["along"] = record["along"] | parts
        else:
            at = int(name.removeprefix("group-"))
            record["columns"] = [
                column | (parts if i == at else {}) for i, column in enumerate(record["columns"])
            ]
    return record
