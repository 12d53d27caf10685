"""Made-up time slices for a page: topics' shares, and words that rise and fall."""

from __future__ import annotations

from typing import Any

import numpy as np

NAMES = ["1990 <b>", "1991", "1992", "1993"]
WORDS = 4


def over_time(topics: list[dict[str, Any]]) -> tuple[dict[str, Any], list[dict[str, Any]], list]:
    """Return main JSON, topic records and a block, computed from topic and word numbers.

    Word i of a topic is multiplied by i + 0.4 from the first slice to the last; the third topic
    begins in the second slice, the last has no intervals.
    """
    t = np.arange(len(NAMES)) / (len(NAMES) - 1)
    k, i = np.arange(len(topics)), np.arange(WORDS)
    change = i + 0.4
    mean = 0.02 * change[:, None] ** t * np.ones((len(topics), 1, 1))
    shares = 0.02 + 0.01 * k[:, None] + 0.02 * t
    shares[2, 0] = 0.0005
    records = [
        {
            "words": topic["top"][:WORDS],
            "change": [
                [round(c, 4), *([None] * 2 if topic is topics[-1] else [0.7 * c, 1.5 * c])]
                for c in change.tolist()
            ],
            "span": [1, 3, True, False] if at == 2 else [0, 3, False, False],
        }
        for at, topic in enumerate(topics)
    ]
    codes = lambda p: np.round(-np.log(p) * 65535 / 20.8).astype(int)  # noqa: E731
    steps = lambda x: np.round(np.clip(x, 0, 1) * 65535).astype(int)  # noqa: E731
    block: list = []
    for part, by in (("mean", 1.0), ("low", 0.8), ("high", 1.3)):
        block.append((f"words-{part}", "u16", codes(mean * by)))
        block.append((part, "u16", steps(shares * by)))
    main = {"column": "year", "names": NAMES, "documents": [90, 110, 95, 105]}
    return main, records, block
