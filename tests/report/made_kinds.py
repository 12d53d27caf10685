"""Kinds of made-up reports: large and small ones, and those of other models."""

from __future__ import annotations

from typing import Any

import numpy as np
from report.made import Made, made, packed
from report.made_effects import effects
from report.made_slices import over_time


def deep() -> Made:
    made_up = made(24, 900, 60, seed=2, texts="words")
    rng = np.random.default_rng(5)

    def node(layer: int, k: int, share: float) -> dict[str, Any]:
        below = rng.choice((24, 8)[layer - 2], 4, replace=False).tolist() if layer > 1 else []
        children = [node(layer - 1, c, round(0.5 / (i + 1), 3)) for i, c in enumerate(below)]
        words = made_up.report["topics"][(k * layer) % 24]["top"][:6]
        return {"layer": layer, "id": k, "share": share, "words": words, "children": children}

    layers = [node(3, k, share) for k, share in enumerate((0.5, 0.3, 0.2))]
    return made_up._replace(
        report={**made_up.report, "layers": layers, "layer": {"at": 1, "of": 3}}
    )


def mixture() -> Made:
    made_up = made(14, 700, 60, seed=3, texts="words")
    rng = np.random.default_rng(6)
    topics = [
        {**t, "weight": [t["weight"][0], None, None], "steady": None, "npmi": None, "overlap": None, "docs": None, "documents": int(900 * t["weight"][0])}
        for t in made_up.report["topics"]
    ]  # fmt: skip
    numbers = np.clip(30 - np.arange(80) // 5 + rng.integers(-1, 2, 80), 14, 40).tolist()
    changed = {
        "topic": ["component", "components"], "topics": topics, "docs_of": None, "interval": {"title": "90 % of draws", "remark": None, "draws": 0, "pooled": 0},
        "components": {"iterations": list(range(10, 810, 10)), "numbers": numbers}, "corpus_share": None, "columns": [], "best": None, "dots": None, "along": None,
        "curve": {**made_up.report["curve"], "name": "minus log predictive", "unigram": None, "last": {"average": 6.512, "point": 6.73, "unigram": None},
                  "average": [[i, 6.512 + 1 / (i + 1)] for i in range(9000)][::200], "point": [[i, 6.73 + 1 / (i + 2)] for i in range(9000)][::300]},
        "missing": ["components hold whole documents: no intervals of words"],
    }  # fmt: skip
    return made_up._replace(report={**made_up.report, **changed})


def bare() -> Made:
    """Make a report with little data: no held-out documents, samples or corpus, and one topic."""
    made_up = made(2, 240, 4, seed=4, texts="none")
    nothing = {
        "curve": None,
        "predictions": None,
        "map": None,
        "along": None,
        "corpus_share": None,
        "docs": None,
        "docs_of": None,
        "dots": None,
        "best": None,
        "order": [],
        "merges": [],
        "leaf_ids": [],
        "columns": [],
    }
    topics = [
        {**t, "weight": None, "npmi": None, "steady": None, "docs": None, "overlap": None, "rep": [], "xy": None, "ten": []}
        for t in made_up.report["topics"]
    ]  # fmt: skip
    report = {**made_up.report, **nothing, "topics": topics, "interval": {"title": "90 % of draws", "remark": None, "draws": 0, "pooled": 0}, "key": "b" * 64,
              "missing": ["no held-out documents: no perplexity", "no corpus: nothing on documents"]}  # fmt: skip
    keep = ("terms", "words")
    report["blocks"] = {name: made_up.report["blocks"][name] for name in keep}
    return made_up._replace(report=report, blocks={name: made_up.blocks[name] for name in keep})


def slim() -> Made:
    """Make a report of a short run: one score, top-word samples only, and two inactive topics.

    Its topics change with time.
    """
    made_up = made(8, 400, 40, seed=13, texts="words")
    topics = [
        {**t, "weight": [t["weight"][0], None, None], "hardly": t["id"] in (3, 5)}
        for t in made_up.report["topics"]
    ]
    main, records, parts = over_time(topics)
    topics = [{**t, "over_time": found} for t, found in zip(topics, records, strict=True)]
    listed, block = packed(parts)
    curve = {**made_up.report["curve"], "average": [[7.6, 765.2]], "point": [[7.6, 812.4]]}
    changed = {
        "topics": topics,
        "curve": curve,
        "effects": effects(8),
        "slices": main,
        "blocks": {**made_up.report["blocks"], "slices": listed},
        "hardly_used": "2 topics of 8 are inactive: -k 6",
    }
    report = {**made_up.report, **changed}
    return made_up._replace(report=report, blocks={**made_up.blocks, "slices": block})


KINDS = {
    "plain": made,
    "chains": lambda: made(20, 900, 60, seed=7, chains=4, texts="words"),
    "hundred": lambda: made(100, 4000, 400, seed=8, texts="words", title="A hundred"),
    "few": lambda: made(6, 240, 24, seed=7, chains=4, texts="words"),
    "listed": lambda: made(12, 600, 320, seed=8, texts="words", title="Many documents"),
    "large": lambda: made(500, 100_000, 2000, seed=9, texts="none", title="Large"),
    "thousand": lambda: made(1000, 100_000, 4000, seed=10, texts="none", title="Larger"),
    "deep": deep,
    "mixture": mixture,
    "slim": slim,
    "directions": lambda: made(12, 600, 40, seed=11, linear=True, texts="words"),
    "bare": bare,
    "hostile": lambda: made(20, 300, 42, seed=12, hostile=True, chains=2, title="</title><script>alert(1)</script> & <b>‮big"),
}  # fmt: skip
