"""Inactive topics, a sign that the number of topics is too large."""

from __future__ import annotations

from collections.abc import Sequence

from pysgrld.errors import plural
from pysgrld.reading.results import Results
from pysgrld.reading.topics import Topic

#: A topic with less than this share of the average weight is inactive. With 400 posts at K = 100,
#: after training has converged, 42 topics weigh 0.05 to 0.13 of the average and have no theme. In
#: six corpora with active topics only, the least weighs 0.2.
HARDLY = 0.15
#: With fewer topics than these, or more cells, a run is not read for a remark when it has ended: the
#: memory plan has no part for that.
FEWEST, MOST_CELLS = 20, 1 << 22


def is_hardly_used(weight: float | None, topics: int) -> bool:
    """Return True if a topic with this share of the corpus is inactive, of `topics` topics.

    Parameters
    ----------
    weight : float or None
        Share of the topic, or None if unknown.
    topics : int

    Returns
    -------
    bool
        False if the share is unknown.
    """
    return weight is not None and weight * topics < HARDLY


def remark(results: Results, topics: Sequence[Topic]) -> str | None:
    """Return a line with the number of inactive topics and the advice, or None if all are active.

    Parameters
    ----------
    results : Results
    topics : sequence of Topic
        All topics of a layer.

    Returns
    -------
    str or None
        One line.
    """
    return line_of_use(results, [topic.weight for topic in topics])


def remark_at_the_end(results: Results) -> str | None:
    """Return the remark on a run that has just ended, or None if reading the run would take too long.

    Parameters
    ----------
    results : Results

    Returns
    -------
    str or None
        One line.
    """
    topics = results.fitted.layers[0]
    if topics < FEWEST or topics * len(results.vocabulary) > MOST_CELLS:
        return None
    weights = results.weights()
    return None if weights is None else line_of_use(results, weights.tolist())


def line_of_use(results: Results, weights: Sequence[float | None]) -> str | None:
    """Return the remark on topics with these shares of the corpus, or None if all are active.

    Parameters
    ----------
    results : Results
    weights : sequence of float or None
        Shares of all topics of a layer, or None if unknown.

    Returns
    -------
    str or None
        One line.
    """
    few = sum(is_hardly_used(weight, len(weights)) for weight in weights)
    chosen = results.options.topics is not None and len(results.fitted.layers) == 1
    if not few or not chosen:
        return None
    used = len(weights) - few
    better = used if used < 20 else round(used / 5) * 5 if used < 50 else round(used / 10) * 10
    if better >= len(weights):  # rounded to the present number
        better = used
    are = "is" if few == 1 else "are"
    return (
        f"{plural(few, results.fitted.noun)} of {len(weights)} {are} hardly used: -k {better}, or "
        "sgmc search"
    )
