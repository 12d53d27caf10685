"""The page of a comparison: one HTML file, in the style and under the policy of a run's page."""

from __future__ import annotations

from typing import Any

from pysgrld.reading.values import SAME
from pysgrld.report.compare.values import Comparison, Side
from pysgrld.report.html import page
from pysgrld.run.chain_folders import called
from pysgrld.run.machine import version

#: Degrees between the colours of neighbouring rows: the golden angle, so that none are alike.
_TURN = 137.5


def page_of(found: Comparison) -> bytes:
    """Give the HTML file of a comparison. Equal ones give equal bytes."""
    topics = [
        record | {"numbers": topic.numbers, "hue": round(_TURN * n % 360)}
        for n, (record, topic) in enumerate(
            zip(found.record()["topics"], found.topics, strict=True)
        )
    ]
    report = {
        "title": f"{called(found.left.path)} and {called(found.right.path)}",
        "sides": [_side(found.left), _side(found.right)],
        "words": found.words,
        "summary": found.summary,
        "score": None if found.score is None else found.score.sentence,
        "notes": list(found.notes),
        "signed": found.signed,
        "same": SAME,
        "topics": topics,
        "sgmc": version(),
    }
    return page(report, {}, ("report.css", "media.css", "compare.css"), ("core.js", "compare.js"))


def _side(side: Side) -> dict[str, Any]:
    """Give what the page shows of a run: nothing of where it lies."""
    shown = side._asdict()
    del shown["path"], shown["labels"]
    return shown | {"run": called(side.path)}
