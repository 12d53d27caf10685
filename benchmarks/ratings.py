"""Topic measures against human ratings, and whether a combination of measures is better.

    python benchmarks/ratings.py ../shared/data/human-ratings/topics.csv

The file has 300 topics of two corpora and three models, with 20 words, a mean rating, the share of people
who found an intruding word, and published coherences. A measure is judged by its rank correlation with
people: over the 150 topics of a corpus, and within the 50 of a model, as a user sees them. A combination
is a linear regression on ranks, fitted to one corpus and judged on the other.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, spearmanr

Doubles: TypeAlias = NDArray[np.float64]

#: Columns of people, and what the table calls them.
PEOPLE = {"rating": "ratings", "intrusion": "intruders found"}
#: Columns of published coherences, and what the table calls them.
PUBLISHED = {
    "npmi_train": "NPMI, training documents",
    "npmi_wikipedia_or_full": "NPMI, a reference corpus",
    "c_v": "C_v",
}
DISTINCT, RECURRENCE = "distinctiveness", "recurrence"
#: Measures that are combined.
COMBINED = {
    "NPMI and recurrence": (PUBLISHED["npmi_train"], RECURRENCE),
    "NPMI, recurrence, distinctiveness": (PUBLISHED["npmi_train"], RECURRENCE, DISTINCT),
    "all five": (*PUBLISHED.values(), RECURRENCE, DISTINCT),
}
#: Words of a topic that distinctiveness looks at.
WORDS = 10


def measure(rows: list[dict[str, str]]) -> dict[str, Doubles]:
    """Return the measures of the topics of one corpus, each (n,).

    Distinctiveness is the mean over words of 1 / topics of the model that list the word. Recurrence is
    the mean over the other models of the greatest share of the topic's words in one of their topics.
    """
    values = {name: np.array([float(row[key]) for row in rows]) for key, name in PUBLISHED.items()}
    words = [row["words"].split() for row in rows]
    models = np.array([row["model"] for row in rows])
    listed = {
        model: Counter(w for i in np.flatnonzero(models == model) for w in words[i])
        for model in set(models)
    }
    values[DISTINCT] = np.array(
        [
            np.mean([1 / listed[m][w] for w in ws[:WORDS]])
            for ws, m in zip(words, models, strict=True)
        ]
    )
    sets = [set(ws) for ws in words]
    values[RECURRENCE] = np.array(
        [
            np.mean(
                [
                    max(len(sets[i] & sets[j]) for j in np.flatnonzero(models == other))
                    for other in sorted(set(models) - {models[i]})
                ]
            )
            / len(sets[i])
            for i in range(len(rows))
        ]
    )
    return values


def ranks(values: Doubles, groups: Sequence[NDArray[np.int64]]) -> Doubles:
    """Return ranks within groups, of mean 0 and variance 1."""
    ranked = np.empty(len(values))
    for group in groups:
        rank = rankdata(values[group])
        ranked[group] = (rank - rank.mean()) / rank.std()
    return ranked


def correlate(value: Doubles, target: Doubles, groups: Sequence[NDArray[np.int64]]) -> float:
    """Return the mean over groups of Spearman's correlation."""
    return float(np.mean([spearmanr(value[group], target[group]).statistic for group in groups]))


def table(corpora: dict[str, list[dict[str, str]]], *, within: bool) -> None:
    """Print the correlations over all topics of a corpus, or within its models."""
    measures = {name: measure(rows) for name, rows in corpora.items()}
    groups = {}
    for name, rows in corpora.items():
        models = np.array([row["model"] if within else "" for row in rows])
        groups[name] = [np.flatnonzero(models == model) for model in np.unique(models)]
    titles = [f"{title}, {name}" for title in PEOPLE.values() for name in corpora]
    print(
        f"\n| {'within a model' if within else 'over three models'} |",
        " | ".join(titles),
        "| mean |",
    )
    print("|---|" + "---|" * (len(titles) + 1))
    for title in [*next(iter(measures.values())), *COMBINED]:
        scores = []
        for key in PEOPLE:
            target = {c: np.array([float(row[key]) for row in rows]) for c, rows in corpora.items()}
            for name in corpora:
                if title in COMBINED:
                    (other,) = set(corpora) - {name}
                    inputs = {
                        c: np.stack([ranks(measures[c][m], groups[c]) for m in COMBINED[title]], 1)
                        for c in corpora
                    }
                    wanted = ranks(target[other], groups[other])
                    value = inputs[name] @ np.linalg.lstsq(inputs[other], wanted, rcond=None)[0]
                else:
                    value = measures[name][title]
                scores.append(correlate(value, target[name], groups[name]))
        print(f"| {title} |", " | ".join(f"{s:.2f}" for s in scores), f"| {np.mean(scores):.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    with parser.parse_args().file.open() as lines:
        rows = sorted(csv.DictReader(lines), key=lambda row: row["corpus"])
    corpora = {name: list(some) for name, some in groupby(rows, key=lambda row: row["corpus"])}
    for within in (False, True):
        table(corpora, within=within)


if __name__ == "__main__":
    main()
