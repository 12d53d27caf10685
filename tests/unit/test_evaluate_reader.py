"""How long documents are visited, and which sweeps count."""

import numpy as np
import pytest

from pysgrld.core import core, padded_width
from pysgrld.evaluate import VisitPurpose
from pysgrld.evaluate.reader import Sweeps, held_out_sweeps, sweeps_of_new
from pysgrld.models.dlda.reader import deep_readers
from pysgrld.models.dlda.resolved import DeepLDAOptions
from pysgrld.models.lda.reader import lda_readers
from pysgrld.types import Documents, HeldOutCounts, Key

PURPOSE = core.Purpose


@pytest.mark.parametrize(
    ("how", "fresh", "wanted"),
    [
        (VisitPurpose.CONTINUE, True, Sweeps(PURPOSE.evaluation, 50, 25, go_on=True)),
        (VisitPurpose.CONTINUE, False, Sweeps(PURPOSE.evaluation, 4, 2, go_on=True)),
        (VisitPurpose.DRAW, True, Sweeps(PURPOSE.evaluation, 50, 1, go_on=True)),
        (VisitPurpose.DRAW, False, Sweeps(PURPOSE.evaluation, 4, 1, go_on=True)),
        (VisitPurpose.AFRESH, False, Sweeps(PURPOSE.point_evaluation, 50, 25, go_on=False)),
    ],
)
def test_sweeps_of_each_visit(how, fresh, wanted):
    """Red with: the first visit of a draw averaged; a point score that resumes from kept chains."""
    assert held_out_sweeps(how, fresh=fresh) == wanted


def test_a_document_that_is_too_long_keeps_its_last_sweep():
    """Red with: one token more than can be counted taken for short enough."""
    most = deep_readers(DeepLDAOptions.from_values(DEEP)).longest
    assert most == core.MAX_COLLECTED // 100
    assert sweeps_of_new(200, longest=most) == Sweeps(PURPOSE.infer, 200, 100, go_on=False)
    assert sweeps_of_new(200, longest=most + 1).kept == 1


DOCUMENTS = Documents(np.array([0, 2, 3]), np.array([0, 1, 2], np.int32), np.full(3, 4, np.int32))
SCORED = HeldOutCounts(np.array([0, 1, 2]), np.array([2, 0], np.int32), np.ones(2, np.int32))
DEEP = {"layers": (3,), "link": "counts", "p-prior": (0.01, 0.01), "c-prior": (1.0, 1.0)}
READERS = {
    "gibbs": lda_readers(3, 0.1),
    "mean-field": lda_readers(3, 0.1, mean_field=True),
    "deep": deep_readers(DeepLDAOptions.from_values(DEEP)),
}


def draw(seed):
    phi = core.zeros(3, padded_width(3), "float32")
    phi[:, :3] = np.random.default_rng(seed).dirichlet(np.ones(3), 3).T
    r = np.zeros(padded_width(3), np.float32)
    r[:3] = 0.5
    return {"phi": phi, "r": r, "weights": phi}


@pytest.mark.parametrize("make", [readers.make for readers in READERS.values()], ids=READERS)
def test_what_a_visit_leaves_behind(make):
    """Kept chains move when they are continued, and then only; what they were restores them.

    Red with: a point score, or new documents, by the kept chains; sweeps of a restored reader those
    of a fresh one.
    """
    reader, key = make(DOCUMENTS, np.arange(2), 1), Key(1, 0, 1)

    def arrays(of):
        return {n: a.copy() for n, a in of.arrays().items()}

    first = arrays(reader)
    reader.predict(key, draw(1), SCORED, VisitPurpose.AFRESH)
    theta = reader.theta(key, draw(1), VisitPurpose.NEW, 0)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0)
    assert all(np.array_equal(a, first[n]) for n, a in reader.arrays().items())
    reader.predict(key, draw(1), SCORED, VisitPurpose.CONTINUE)
    then = arrays(reader)
    assert not then or any(not np.array_equal(a, first[n]) for n, a in then.items())
    again = make(DOCUMENTS, np.arange(2), 1)
    again.restore(then, "")
    later = Key(1, 0, 2)
    for how in (VisitPurpose.CONTINUE, VisitPurpose.DRAW):
        found = [r.predict(later, draw(2), SCORED, how) for r in (reader, again)]
        np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(reader.shares(0).sum(), 1.0)


@pytest.mark.parametrize("name", ["gibbs", "deep"])
def test_kept_chains_begin_once(name, monkeypatch):
    """Also where they were restored. Red with: every visit the first one; a restored one the first."""
    make, seen = READERS[name].make, []
    reader, again = (make(DOCUMENTS, np.arange(2), 1) for _ in range(2))

    def spy(how, *, fresh):
        seen.append(fresh)
        return held_out_sweeps(how, fresh=fresh)

    monkeypatch.setattr(f"{type(reader).__module__}.held_out_sweeps", spy)
    for how in (VisitPurpose.AFRESH, VisitPurpose.CONTINUE, VisitPurpose.DRAW):
        reader.predict(Key(1, 0, 1), draw(1), SCORED, how)
    again.restore({n: a.copy() for n, a in reader.arrays().items()}, "")
    again.predict(Key(1, 0, 2), draw(1), SCORED, VisitPurpose.CONTINUE)
    assert seen == [True, True, False, False]
