"""What every sampler of the table owes to those who use it."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pysgrld.core import padded_width
from pysgrld.errors import CheckpointError
from pysgrld.models.options import option_text
from pysgrld.options.option import to_lists
from pysgrld.samplers import SAMPLERS
from pysgrld.samplers import lazy_rows as lazy
from pysgrld.samplers.geodesic import GeodesicSettings
from pysgrld.samplers.scir import ScirSettings
from pysgrld.samplers.state import Counts, EnergyGradient
from pysgrld.samplers.table import CONJUGATE_SHAPES, SHAPES, sampler_options
from pysgrld.samplers.tlasgr import ScaledSettings
from pysgrld.samplers.trajectories import TrajectorySettings
from pysgrld.types import Block, Key

V, K = 30, 5
WORDS = np.array([3, 7, 8, 29], np.int32)
TOPICS = Block("phi", "simplex", (V, K), 0.05, 0, 500.0)
SPARSE = TOPICS._replace(prior=0.001)
VECTOR = Block("r", "positive", (1, K), 1.0, 8, 0.0, hyper=(1.0, 1.0, 1.0, 1.0, 1.0))

POINTS = Block("phi", "sphere", (V, K), 1.0, 0, 0.0, np.full(V, V**-0.5))

#: Ten words in three slices of time, of each of which the counts have one.
WALKS = Block("phi", "walk", (V, K), 0.0, 0, 500.0, hyper=(0.3, 1.0), sparse=True, copies=3)

LAZY = TOPICS._replace(sparse=True, settings=ScirSettings(lazy="on"))

#: Every kind of state: sampler and block.
KINDS = {
    **{
        name: (sampler, {"sphere": POINTS, "walk": WALKS}.get(sampler.geometry, TOPICS))
        for name, sampler in SAMPLERS.items()
    },
    "scir-lazy": (SAMPLERS["scir"], LAZY),
    "scir-log": (SAMPLERS["scir"], SPARSE),
    "scir-natural": (SAMPLERS["scir"], TOPICS._replace(settings=ScirSettings("natural"))),
    "tlasgr-reflect": (SAMPLERS["tlasgr"], TOPICS._replace(settings=ScaledSettings("reflect"))),
    "sggmc-inner": (SAMPLERS["sggmc"], POINTS._replace(settings=GeodesicSettings(0.1, 2))),
    "gmc-adapted": (SAMPLERS["gmc-bgibbs"], POINTS._replace(settings=TrajectorySettings(2, 10**9))),
    "gibbs-log": (SAMPLERS["gibbs"], SPARSE),
    "shapes": (SHAPES, VECTOR),
    "shapes-gibbs": (CONJUGATE_SHAPES, VECTOR),
}


@pytest.fixture(autouse=True)
def lazy_rows_stay_lazy(monkeypatch):
    """However small the topics of these states are."""
    monkeypatch.setattr(lazy, "DENSE", 0.0)


def statistics(t):
    """Counts of a minibatch of some words, or of shapes."""
    counts = np.zeros((len(WORDS), padded_width(K)), np.int64)
    counts[:, :K] = np.random.default_rng(t).integers(0, 9, (len(WORDS), K))
    return Counts(WORDS, counts, 2.0, 40.0, 3.0)


class Pull:
    """A potential that draws points to one of the axes."""

    def sample_and_evaluate(self, key, part, x, *, noise=False):
        return self.evaluate(x)

    def evaluate(self, x, *, noise=False):
        gradient = np.zeros_like(x)
        gradient[3, :K] = -20.0
        return EnergyGradient(-20.0 * float(x[3].sum()), gradient)


def advance(state, t, steps=1):
    for now in range(t, t + steps):
        state.catch_up(Key(1, 0, now), WORDS)
        found = Pull() if state.block.geometry == "sphere" else statistics(now)
        state.step(Key(1, 0, now), found, 0.01)


def bytes_of(state):
    return {name: array.tobytes() for name, array in state.arrays().items()}


def started(kind, *, warm):
    sampler, block = KINDS[kind]
    state = sampler.start(Key(1, 0, 0), block, 1)
    return state if warm else state.end_warm_up()


@pytest.mark.parametrize("warm", [True, False], ids=["warm-up", "sampling"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_state_goes_on_from_its_arrays_as_if_nothing_had_happened(kind, warm):
    """Red with: ``updates`` left out of ``names``; of lazy rows ``now``."""
    state = started(kind, warm=warm)
    advance(state, 0, 3)
    kept = {name: array.copy() for name, array in state.arrays().items()}
    again = started(kind, warm=warm)
    again.restore(kept)
    sampler, block = KINDS[kind]
    read = sampler.from_checkpoint(block, kept, 1, warm=warm)
    for other in (again, read):
        assert type(other) is type(state)
        assert bytes_of(other) == bytes_of(state)
    for one in (state, again, read):
        advance(one, 3, 2)
    assert bytes_of(again) == bytes_of(read) == bytes_of(state)


@pytest.mark.parametrize("warm", [True, False], ids=["warm-up", "sampling"])
@pytest.mark.parametrize("kind", KINDS)
def test_looking_changes_nothing_and_gives_what_documents_would_read(kind, warm):
    """Red with: a look at lazy rows that corrects the sums of the state itself."""
    state = started(kind, warm=warm)
    advance(state, 0, 3)
    before = bytes_of(state)
    all_of_them = state.current_rows(Key(1, 0, 3))
    some = state.current_rows(Key(1, 0, 3), WORDS)
    total = np.zeros(all_of_them.shape)
    state.add_to(total)
    assert bytes_of(state) == before
    assert (all_of_them[..., K:] == 0).all()
    if state.block.geometry == "sphere":
        np.testing.assert_allclose((all_of_them[:, :K] ** 2).sum(axis=0), 1.0, rtol=1e-5)
    elif all_of_them.ndim == 2:
        sums = all_of_them[:, :K].sum(axis=0)
        np.testing.assert_allclose(sums, state.block.copies, rtol=1e-5)
        # a topic's sum is known better by a look at all words; the words' shares of it are the same
        scale = some[:, :K].sum(axis=0) / all_of_them[WORDS, :K].sum(axis=0)
        np.testing.assert_allclose(some[:, :K], all_of_them[WORDS, :K] * scale, rtol=1e-5)
    assert np.isfinite(state.summary()).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_warm_up_ends_once(kind):
    """Red with: the scale of the natural rate put in again by a state that samples."""
    state = started(kind, warm=False)
    before = bytes_of(state)
    assert state.end_warm_up() is state
    assert bytes_of(state) == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_that_is_none_is_found_with_its_topic(kind):
    """Red with: the first of the padded columns looked at, or none."""
    state = started(kind, warm=False)
    arrays = state.arrays()
    by = ("squares", "log_sums", "log_g", "sums", "r", "x")  # what tells, the first that is there
    arrays[next(name for name in by if name in arrays)][..., 2] = np.nan
    assert np.flatnonzero(~np.isfinite(state.summary())).tolist() == [2]


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_that_lacks_an_array_is_named(kind):
    """Red with: a KeyError."""
    sampler, block = KINDS[kind]
    arrays = started(kind, warm=False).arrays()
    missing = list(arrays)[-1]
    del arrays[missing]
    with pytest.raises(CheckpointError, match=f"lacks array '{block.name}.{missing}'"):
        sampler.from_checkpoint(block, arrays, 1)
    with pytest.raises(CheckpointError, match=f"lacks array '{block.name}.{missing}'"):
        started(kind, warm=False).restore(arrays)


def test_two_states_share_no_scratch_memory():
    """Red with: one scratch memory for all states of a process."""
    states = [started(kind, warm=False) for kind in KINDS for _ in range(2)]
    own = [state.work for state in states if hasattr(state, "work")]
    assert len(set(map(id, own))) == len(own) > 10


def test_listing_the_samplers_loads_neither_numpy_nor_the_core(tmp_path):
    """The help lists them and must be instant. Red with: a sampler's module imported by the table."""
    code = (
        "import sys, pysgrld.samplers.sampler as p, pysgrld.samplers as s; assert s.SAMPLERS;"
        "sys.exit(bool({'numpy', 'pysgrld._core'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_options_of_a_row_are_the_fields_of_its_settings(name):
    """Red with: an option that no field takes; a field that nobody can set; another default."""
    sampler = SAMPLERS[name]
    fields = {
        f.name.replace("_", "-"): f.default for f in dataclasses.fields(sampler.settings_class)
    }
    assert set(fields) == set(sampler.options)
    for option, row in sampler.options.items():
        said = (
            ",".join(map(str, row.default)) if isinstance(row.default, tuple) else str(row.default)
        )
        assert row.parse(said) == row.default
        assert sampler.settings_class.from_values({option: row.default}).plain()[
            option
        ] == to_lists(row.default)


def test_the_docs_have_every_option_of_single_samplers():
    lines = ["| option | default | what it does |", "|---|---|---|"]
    for name, option in sampler_options(tuple(SAMPLERS)).items():
        metavar = option.metavar.replace("|", "\\|")
        lines.append(f"| `{option_text(name, metavar)}` | {option.shown} | {option.help} |")
    table = "\n".join(lines)
    page = Path(__file__).parents[2] / "docs" / "choosing-a-sampler.md"
    assert f"\n\n{table}\n\n" in page.read_text("utf-8"), f"write there:\n{table}"
