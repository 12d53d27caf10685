"""Distances, map and tree of topics, against loops and SciPy, and on shapes that are known."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from pysgrld.report import geometry


def topics(k=40, v=300, seed=0):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(v, 0.05), k).T.astype(np.float32)


def test_distances_are_hellingers(monkeypatch):
    """Red with: the root left out; blocks of words that overlap."""
    monkeypatch.setattr(geometry, "_BLOCK", 7)
    phi = topics(6, 50)
    shown = np.array([0, 2, 5])
    found = geometry.distances(phi, shown, signed=False)
    for i, a in enumerate(shown):
        for j, b in enumerate(shown):
            p, q = phi[:, a].astype(float), phi[:, b].astype(float)
            assert found[i, j] == pytest.approx(np.sqrt(max(0, 1 - np.sqrt(p * q).sum())), abs=1e-3)
    np.testing.assert_array_equal(found, found.T)
    assert not np.diag(found).any()


def test_directions_are_as_far_apart_as_their_angle_says():
    phi = np.array([[1, 0], [0, 1], [-1, 0], [1, 0]], np.float32).T
    found = geometry.distances(phi, np.arange(4), signed=True)
    np.testing.assert_allclose(found[0], [0, np.sqrt(0.5), 1, 0], atol=1e-7)


def test_a_tree_is_scipys_average_linkage():
    """Red with: sizes left out of the mean."""
    distance = geometry.distances(topics(), np.arange(40), signed=False)
    expected = linkage(squareform(distance, checks=False), "average")
    np.testing.assert_allclose(geometry.average_linkage(distance).merges, expected, atol=1e-12)


def test_leaves_can_be_drawn_without_crossings():
    distance = geometry.distances(topics(), np.arange(40), signed=False)
    tree = geometry.average_linkage(distance)
    place = np.argsort(tree.order)
    members = {k: [k] for k in range(40)}
    for i, (a, b, _, size) in enumerate(tree.merges):
        members[40 + i] = members[a] + members[b]
        places = place[members[40 + i]]
        assert np.ptp(places) == size - 1
    assert sorted(tree.order) == list(range(40))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_topics_have_a_tree_and_no_map(n):
    distance = geometry.distances(topics(n), np.arange(n), signed=False)
    tree = geometry.average_linkage(distance)
    assert sorted(tree.order) == list(range(n))
    assert len(tree.merges) == n - 1
    assert geometry.laid_out(distance) is None


def plane(points):
    return np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))


def test_principal_axes_give_a_plane_back():
    points = np.random.default_rng(1).normal(size=(30, 2))
    found = geometry.principal_axes(plane(points))
    np.testing.assert_allclose(plane(found), plane(points), atol=1e-8)


def test_the_map_keeps_groups_apart_that_a_plane_cannot_hold():
    """Eight groups in eight dimensions. Red with: points that are not moved."""
    rng = np.random.default_rng(2)
    points = np.repeat(np.eye(8), 10, axis=0) + 0.1 * rng.normal(size=(80, 8))
    distance = plane(points)
    axes = geometry.principal_axes(distance)
    moved = geometry.tsne(distance, axes)
    assert geometry.kept_neighbours(distance, axes) < 0.6
    assert geometry.kept_neighbours(distance, moved) > 0.8
    of = np.arange(80) // 10
    apart = plane(moved)
    np.fill_diagonal(apart, np.inf)
    assert np.mean(of[apart.argmin(axis=1)] == of) > 0.95
    found = geometry.laid_out(distance)
    assert found.how.startswith("t-SNE")
    assert found.points.min() == 0
    assert found.points.max() == 1
    np.testing.assert_array_equal(found.points, geometry.laid_out(distance).points)


def test_topics_that_are_all_the_same_have_a_map_or_none_and_no_warning():
    geometry.laid_out(np.zeros((10, 10)))
    geometry.laid_out(np.full((10, 10), 0.5) - 0.5 * np.eye(10))


def test_kept_neighbours_are_counted_as_by_hand():
    """On a line 0, 1, 2, 3; the map has them as 0, 2, 1, 3."""
    distance = np.abs(np.arange(4.0)[:, None] - np.arange(4.0))
    points = np.array([[0.0, 0], [2.1, 0], [1, 0], [3.3, 0]])
    # nearest really: 1, 0 (first of 0 and 2), 1, 2; on the map: 2, 2 (1.1 to 1.2), 0, 1
    assert geometry.kept_neighbours(distance, points, 1) == 0.0
    assert geometry.kept_neighbours(distance, distance[:, :1] * [1, 0], 1) == 1.0


def test_like_topics_have_like_hues():
    found = geometry.hues(np.array([2, 0, 3, 1]))
    assert found[2] < found[0] < found[3] < found[1]
    assert (found[[2, 0, 3, 1]] % 2).tolist() == [0, 1, 0, 1]  # drawn light and dark in turn
    assert len(set(geometry.hues(np.arange(160)).tolist())) == 160
