"""The page of a search: one HTML file with its answers, its charts and its table."""

from __future__ import annotations

from typing import Any

from pysgrld.report.html import page
from pysgrld.run.machine import version
from pysgrld.search.charts import charts
from pysgrld.search.outcome import SearchResult
from pysgrld.search.show import sentences, table

#: File of the page in the folder of a search.
PAGE = "search.html"
#: Scripts of the page, of `pysgrld.report.html`.
SCRIPTS = ("core.js", "charts/figure.js", "charts/lines.js", "search.js")


def content(result: SearchResult) -> dict[str, Any]:
    """Give all that the page shows.

    Parameters
    ----------
    result : SearchResult
    """
    corpus = result.plan.corpus
    heads, *rows = table(result)
    tags = {result.smallest: "small enough to read", result.best: "predicts best"}
    return {
        "title": f"How many topics? {corpus['name']}",
        "corpus": corpus["name"],
        "facts": [
            ["documents", corpus["training_documents"], f"{result.documents:,} more held out"],
            ["words", corpus["training_tokens"], f"{corpus['words']:,} different"],
        ],
        "sentences": sentences(result),
        "marks": [[result.row(result.best).topics, 0], [result.row(result.smallest).topics, 1]],
        "ticks": sorted({row.topics for row in result.rows}),
        "charts": [
            chart._asdict()
            | {
                "lines": [
                    {"name": line.name, "points": [p._asdict() for p in line.points]}
                    for line in chart.lines
                ]
            }
            for chart in charts(result)
        ],
        "heads": list(heads),
        "rows": [
            {"cells": list(cells), "tag": tags.get(row.name), "dropped": row.dropped is not None}
            for cells, row in zip(rows, result.rows, strict=True)
        ],
        "sgmc": version(),
    }


def html(result: SearchResult) -> bytes:
    """Give the HTML file of a search; equal results give equal bytes.

    Parameters
    ----------
    result : SearchResult
    """
    return page(content(result), {}, scripts=SCRIPTS)
