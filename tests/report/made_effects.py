"""Made-up effects of columns for a page."""

from __future__ import annotations

from typing import Any

import numpy as np


def effects(topics: int) -> dict[str, Any]:
    """Return effects of a party and of years, computed from the topic's number."""
    shares = [round(0.02 + 0.01 * k, 5) for k in range(topics)]

    def row(k: int) -> list[Any]:
        d = round(0.016 * (-1) ** k * (k - 1), 5)
        bounds = [d - 0.01, d + 0.01] if k != 2 else [None, None]
        sign = 0 if abs(d) < 0.02 else int(np.sign(d))
        # as of a regression that predicts a share below 0
        second = max(0.0, round(shares[k] + d, 5))
        return [k, shares[k], second, [0.0, 0.1], [0.0, 0.2], d, *bounds, sign]

    def points(n: int) -> dict[str, list[list[float]]]:
        mean = [[s * (1 + i / n) for s in shares] for i in range(n)]
        spread = {"low": 0.8, "high": 1.3}
        return {"mean": mean} | {
            p: [[x * by for x in of] for of in mean] for p, by in spread.items()
        }

    rows = [row(k) for k in range(topics)]
    return {
        "formula": "~ party + year", "documents": 400, "topics": list(range(topics)),
        "compared": [
            {"column": "party", "first": "left <b>", "second": "right", "topics": rows},
            {"column": "year", "first": "1990", "second": "2001.5", "topics": rows[::-1]},
        ],
        "curves": {
            "party": {"labels": ["left <b>", "right"], "ordered": False} | points(2),
            "year": {"labels": [str(1990 + i) for i in range(12)], "ordered": True} | points(12),
        },
    }  # fmt: skip
