"""Matching of the topics of two models: one-to-one, split, merged, partial, gone and new topics."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple

import numpy as np

from pysgrld.evaluate.matching import CORRELATED, Likeness, assign
from pysgrld.reading.former_topics import STILL_THE_SAME
from pysgrld.types import Doubles, Floats, Int64s

#: Two topics are partners only if their overlap is at least this number, or if the correlation of
#: their proportions is at least `CORRELATED`.
PARTNERS = 0.3
#: A topic without a partner is gone (or new) if its proportions have a correlation below this
#: number with the proportions of each topic of the other model. Topics whose documents were removed
#: had correlations of 0.25. With this number, 1 of 160 topics was wrongly called gone.
ABSENT = 0.3
#: A split or merged topic gets a further part only if the part raises the overlap by at least this
#: number.
ADDS = 0.05

#: Sort keys of groups of matching topics, by kind of group. Kinds that are missing here have the
#: key 0, so they come first.
_LAST = {"partial": 1, "gone": 2, "new": 3}

Kind = Literal["one to one", "split", "merged", "partial", "gone", "new"]


class Group(NamedTuple):
    """Matching topics of two models, given as row numbers in the topic matrix of each model.

    Attributes
    ----------
    kind : {"one to one", "split", "merged", "partial", "gone", "new"}
    left, right : tuple of int
        One tuple is empty for a topic without a partner.
    overlap : float
        Overlap of both sides, with several topics averaged by their weights. For a topic without a
        partner: its overlap with the `nearest`.
    overlaps : tuple of float
        For a split or merged topic: the overlap of each single part with the topic.
    nearest : int or None
        For a topic without a partner: the most similar topic of the other model.
    """

    kind: Kind
    left: tuple[int, ...]
    right: tuple[int, ...]
    overlap: float
    overlaps: tuple[float, ...] = ()
    nearest: int | None = None


class Topics(NamedTuple):
    """A model's topics over the words that both models have, (K, V), and topic weights, (K,)."""

    phi: Floats
    weights: Doubles


class Likening(NamedTuple):
    """Method of comparing topics: a similarity measure, and whether topics are unit vectors."""

    likeness: Likeness
    signed: bool

    def scaled(self, rows: Floats) -> Floats:
        """Scale topics in place to length 1 or to a sum of 1; zero topics stay zero."""
        totals = np.linalg.norm(rows, axis=1) if self.signed else rows.sum(axis=1)
        np.divide(rows, np.where(totals > 0.0, totals, 1.0)[:, None], out=rows)
        return rows

    def overlap(self, one: Floats, distributions: Floats) -> Doubles:
        """Return the overlap of a topic, (V,), with each of several distributions, (n, V)."""
        return self.likeness.overlap(np.broadcast_to(one, distributions.shape), distributions)

    def put_together(self, topics: Topics, rows: list[int]) -> Floats:
        """Average topics by weight, or equally if all weights are 0; return the scaled mean."""
        weights = topics.weights[rows]
        if not weights.sum() > 0.0:
            weights = np.ones(len(rows))
        mixed: Floats = np.average(topics.phi[rows], axis=0, weights=weights).astype(np.float32)
        scaled: Floats = self.scaled(mixed[None])[0]
        return scaled


def group(
    left: Topics,
    right: Topics,
    how: Likening,
    apart: Collection[tuple[int, int]] = (),
    correlation: Doubles | None = None,
) -> list[Group]:
    """Group topics of two models that belong together, and sort the groups by decreasing overlap.

    If both models have equally many topics, the best partners are the assignment with the greatest
    sum of similarities; otherwise the best partner is the most similar topic. A topic is split or
    merged if two or more topics of the other model are its parts: parts are added in the order of
    their overlap, and each must raise the joint overlap by at least `ADDS`. Every topic is in a
    group. A topic without a partner is partial if a topic of the other model correlates with it by
    at least `ABSENT`, else it is gone or new.

    Parameters
    ----------
    left, right : Topics
    how : Likening
        Measure that matches topics by its similarity, and reports its overlap.
    apart : collection of (int, int)
        Pairs of rows, left and right, of topics that were replaced by new topics. They are not
        partners, and one of them has another partner only if their overlap is at least `STILL_THE_SAME`.
    correlation : (K, L) float64, optional
        Correlations of proportions in the same documents. Without correlations, no topic is
        partial. Topics in ``apart`` are never partial.
    """
    replaced = {i for i, _ in apart}, {j for _, j in apart}
    every = how.likeness.similarity(left.phi, right.phi)
    similarity = every.copy()
    for i, j in apart:
        similarity[i, j] = 0.0
    # If both models have equally many topics, partners are assigned one-to-one.
    if len(left.phi) == len(right.phi):
        to_right = assign(similarity)
        to_left = np.empty_like(to_right)
        to_left[to_right] = np.arange(len(to_right))
    else:  # If the numbers of topics differ, a topic may be the partner of several topics.
        to_right, to_left = similarity.argmax(axis=1), similarity.argmax(axis=0)
    groups = [
        *(
            Group("split", (one,), found.rows, found.overlap, found.overlaps)
            for one, found in _divided(left, right, to_right, to_left, how)
        ),
        *(
            Group("merged", found.rows, (one,), found.overlap, found.overlaps)
            for one, found in _divided(right, left, to_left, to_right, how)
        ),
    ]
    excluded = {(i, j) for found in groups for i in found.left for j in found.right} | set(apart)
    mutual = np.flatnonzero(to_left[to_right] == np.arange(len(to_right)))
    overlaps = how.likeness.overlap(left.phi[mutual], right.phi[to_right[mutual]])
    for i, overlap in zip(mutual.tolist(), overlaps.tolist(), strict=True):
        j = int(to_right[i])
        alike = correlation is not None and correlation[i, j] >= CORRELATED
        least = STILL_THE_SAME if i in replaced[0] or j in replaced[1] else PARTNERS
        if (alike or overlap >= least) and (i, j) not in excluded:
            groups.append(Group("one to one", (i,), (j,), overlap))
    in_left = {i for found in groups for i in found.left}
    in_right = {j for found in groups for j in found.right}
    closest = every if correlation is None else correlation

    def kind(absent: Literal["gone", "new"], i: int, j: int) -> Kind:
        if correlation is None or (i in replaced[0] if absent == "gone" else j in replaced[1]):
            return absent
        return "partial" if correlation[i, j] >= ABSENT else absent

    groups += [
        Group(kind("gone", i, near), (i,), (), overlap, nearest=near)
        for i, near, overlap in _alone(left, right, closest, in_left, how)
    ]
    groups += [
        Group(kind("new", near, j), (), (j,), overlap, nearest=near)
        for j, near, overlap in _alone(right, left, closest.T, in_right, how)
    ]
    return sorted(groups, key=lambda g: (_LAST.get(g.kind, 0), -g.overlap, g.left, g.right))


class _Parts(NamedTuple):
    """Topics of the other model into which a topic is split, with their overlaps."""

    rows: tuple[int, ...]
    overlap: float
    overlaps: tuple[float, ...]


def _divided(
    ones: Topics, other_side: Topics, best: Int64s, back: Int64s, how: Likening
) -> Iterator[tuple[int, _Parts]]:
    """Yield the row of each topic that the other model splits, and the topic's parts."""
    for one, phi in enumerate(ones.phi):
        candidates = sorted({int(best[one]), *np.flatnonzero(back == one).tolist()})
        if len(candidates) < 2:
            continue
        # Begin with the most similar topic, and add each further topic that raises the overlap
        # enough.
        overlaps = how.overlap(phi, other_side.phi[candidates]).tolist()
        alone = dict(zip(candidates, overlaps, strict=True))
        first, *further = sorted(candidates, key=lambda row: (-alone[row], row))
        taken, overlap = [first], alone[first]
        for row in further:
            together = float(how.overlap(phi, how.put_together(other_side, [*taken, row])[None])[0])
            if together >= overlap + ADDS:
                taken.append(row)
                overlap = together
        if len(taken) > 1 and overlap >= PARTNERS:
            yield one, _Parts(tuple(taken), overlap, tuple(alone[row] for row in taken))


def _alone(
    ones: Topics, candidates: Topics, similarity: Doubles, excluded: set[int], how: Likening
) -> list[tuple[int, int, float]]:
    """Return tuples (row of an unmatched topic, row of the most similar topic, their overlap)."""
    rows = [n for n in range(len(ones.phi)) if n not in excluded]
    nearest = similarity[rows].argmax(axis=1)
    overlaps = how.likeness.overlap(ones.phi[rows], candidates.phi[nearest])
    return list(zip(rows, nearest.tolist(), overlaps.tolist(), strict=True))
