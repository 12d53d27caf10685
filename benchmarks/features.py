"""Topic proportions as features: accuracy of a logistic regression on them.

    python benchmarks/features.py --train DOCWORD LABELS --test DOCWORD LABELS [--layers 128,64,32]
    python benchmarks/features.py --train DOCWORD LABELS --test DOCWORD LABELS --directions 20,50

Models are trained on the training documents without their labels: one for each depth up to that of
--layers, and LDA of the first width, all with the defaults and the same number of iterations; or for each
number of topics of --directions LDA and the spherical admixture model, by counts and by tf-idf.
Proportions of training and test documents are inferred alike. The cost of the regression is chosen on a
fifth of the training documents; the test documents are scored once.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit

from pysgrld import LDA, SAM, DeepLDA
from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.types import Documents

#: Costs to choose among.
COSTS = 2.0 ** np.arange(-4, 15, 2)


def main() -> None:
    """Train, infer, classify, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("train", "test"):
        parser.add_argument(f"--{name}", nargs=2, required=True, metavar=("DOCWORD", "LABELS"))
    parser.add_argument("--layers", default="128,64,32")
    parser.add_argument("--directions", default="")
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    layers = tuple(int(k) for k in given.layers.split(","))
    with tempfile.TemporaryDirectory() as scratch:
        train = open_corpus([given.train[0]], CorpusOptions(), store=Path(scratch) / "train")
        test = open_corpus(
            [given.test[0]], CorpusOptions(), store=Path(scratch) / "test", match=train.vocabulary
        )
        x = [matrix(c.take(np.arange(c.documents)), train.words) for c in (train, test)]
    y = [
        [line.split()[0] for line in Path(labels).read_text().splitlines()]
        for _, labels in (given.train, given.test)
    ]
    common: dict[str, Any] = {
        "max_iter": given.iterations,
        "holdout": 0,
        "random_state": given.seed,
    }
    print("| features | dimensions | test accuracy | seconds of training |")
    print("|---|---|---|---|")
    show("word counts", x[0], x[1], y)
    show("word frequencies", *(sparse.diags_array(1 / m.sum(axis=1)) @ m for m in x), y)
    if given.directions:
        for k in (int(k) for k in given.directions.split(",")):
            lda, seconds = fitted(LDA(k, **common), x[0])
            show(f"LDA {k}", *(lda.transform(m) for m in x), y, seconds)
            for weighting in ("tf", "tf-idf"):
                sam, seconds = fitted(SAM(k, weighting=weighting, **common), x[0])
                show(f"SAM {k}, {weighting}", *(sam.transform(m) for m in x), y, seconds)
        return
    lda, seconds = fitted(LDA(layers[0], **common), x[0])
    show(f"LDA {layers[0]}", *(lda.transform(m) for m in x), y, seconds)
    for depth in range(1, len(layers) + 1):
        deep, seconds = fitted(DeepLDA(layers[:depth], **common), x[0])
        thetas = [[deep.transform(m, layer) for layer in range(1, depth + 1)] for m in x]
        name = "deep LDA " + "-".join(map(str, layers[:depth]))
        show(f"{name}, first layer", *(theta[0] for theta in thetas), y, seconds)
        if depth > 1:
            show(f"{name}, all layers", *(np.hstack(theta) for theta in thetas), y, seconds)


def matrix(documents: Documents, words: int) -> Any:
    """Return documents as a sparse matrix of counts, (n, V)."""
    parts = (documents.counts.astype(float), documents.indices, documents.indptr)
    return sparse.csr_array(parts, shape=(len(documents), words))


def fitted(model: Any, x: Any) -> tuple[Any, float]:
    """Fit a model; return it, and the seconds that this took."""
    began = time.perf_counter()
    return model.fit(x), time.perf_counter() - began


def show(
    name: str, train: Any, test: Any, y: list[list[str]], seconds: float | None = None
) -> None:
    """Train and test a classifier, and print a row."""
    # proportions sum to 1: as many times, so that costs mean the same for all widths
    scale = 1.0 if sparse.issparse(train) else float(train.shape[1])
    model = GridSearchCV(
        LogisticRegression(max_iter=2000, tol=1e-3),
        {"C": COSTS},
        cv=StratifiedShuffleSplit(1, test_size=0.2, random_state=0),
    )
    model.fit(train * scale, y[0])
    accuracy = (model.predict(test * scale) == np.array(y[1])).mean()
    spent = "" if seconds is None else f"{seconds:.0f}"
    print(f"| {name} | {train.shape[1]} | {100 * accuracy:.1f} % | {spent} |", flush=True)


if __name__ == "__main__":
    main()
