"""Quantities of a draw of a mixture that do not depend on the names of its components.

Components of one draw are not those of the next, so none can be followed. What can be compared is how
large they are, and which documents a draw puts together; docs/diagnose.md says what the figures mean.
"""

from __future__ import annotations

import math

import numpy as np

from pysgrld.core.arithmetic import dot, log
from pysgrld.types import Array, Doubles

#: Documents of a component that is more than a passing one.
LARGE = 10
#: Names of the quantities, and what a person reads.
TITLES = {
    "components": "components of a document or more",
    "components_of_ten": "components of ten documents or more",
    "effective": "effective components",
    "first": "largest weight",
    "second": "second weight",
    "third": "third weight",
    "together": "a document and the next together",
}
#: Held-out documents, at most, of which each is asked whether it is with the next.
NEIGHBOURS = 2000


def quantities(w: Doubles, documents: int, p: Doubles | None) -> dict[str, float]:
    """Measure one draw, by names of `TITLES`.

    Parameters
    ----------
    w : (J,) float64
        Weights of the components.
    documents : int
        Training documents.
    p : (n, J) float64 or None
        Probability of each component of some documents; without them nothing is known of which
        documents are together.
    """
    numbers = numbers_of_components(w * documents)
    found = {name: float(number) for name, number in numbers.items()}
    found["effective"] = effective(w)
    largest = np.sort(np.append(w, np.zeros(3)))[::-1][:3]
    found |= zip(("first", "second", "third"), largest.tolist(), strict=True)
    if p is not None:
        found["together"] = float((p[:-1] * p[1:]).sum(axis=1).mean())
    return found


def numbers_of_components(sizes: Array) -> dict[str, int]:
    """Count the components that have a document, and ten, of how many documents each has, (J,)."""
    return {"components": int((sizes >= 1).sum()), "components_of_ten": int((sizes >= LARGE).sum())}


def effective(w: Doubles) -> float:
    """Give the exponential of the entropy of weights: as many equal components would have it."""
    p = w[w > 0] / w.sum()
    return math.exp(-dot(p, log(p)))
