"""Draws in netCDF-4, as opened by xarray and ArviZ."""

import resource
import subprocess
import sys

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from pysgrld.errors import MissingInputError, UsageError
from pysgrld.reading.compare_chains import diagnose
from pysgrld.reading.results import Results
from pysgrld.report.exports import ExportRequest, export


def opened(folder):
    import xarray  # it takes a second: not in every process of the tests

    with xarray.open_datatree(folder / "draws.nc", engine="h5netcdf") as tree:
        return tree.load()


@pytest.mark.parametrize(("name", "at"), [("lda", 0), ("dlda", 1), ("sam", 0)])
def test_draws_are_the_samples_of_all_chains(exported, chains, name, at):
    """Red with: topics of the second chain as they are; one draw for the next one's iteration."""
    runs = chains(name)
    tree = opened(exported(name, "arviz", at=at))
    phi, steps = tree["posterior/phi"], runs[0].kept()
    assert phi.dims == ("chain", "draw", "topic", "word")
    assert phi.dtype == np.float32
    assert phi["draw"].values.tolist() == steps
    assert phi["word"].values.tolist() == list(runs[0].vocabulary)
    k = runs[0].fitted.layers[at]
    means = [r.fitted.topics_over_words(r.mean, at)[:, :k].T for r in runs]
    for c, results in enumerate(runs):
        like = runs[0].fitted.likeness.similarity(means[0], means[c])
        rows = linear_sum_assignment(-like)[1]
        assert c > 0 or rows.tolist() == list(range(k))
        for s in (0, 17, len(steps) - 1):
            np.testing.assert_array_equal(phi[c, s], results.topics_of_sample(steps[s], at)[rows])


def test_fewer_draws_than_samples_are_told(chains, tmp_path, monkeypatch):
    """Red with: the number of draws alone."""
    first, _ = chains("lda")
    kept = first.kept()
    monkeypatch.setattr(Results, "kept", lambda self: kept[1::2])
    done = export(first, ExportRequest("arviz", tmp_path, "all", 0))
    assert f"{len(kept) // 2} draws (of {len(kept)} samples; set the number" in done.what


def test_chains_are_left_as_they_are_where_that_is_asked(exported, chains):
    first, second = chains("lda")
    tree = opened(exported("lda", "arviz", align=False))
    np.testing.assert_array_equal(
        tree["posterior/phi"][1, 3], second.topics_of_sample(second.kept()[3], 0)
    )
    assert tree["posterior/chain"].values.tolist() == [first.chain, second.chain] == [0, 1]


def test_each_draw_has_the_log_probability_that_diagnose_follows(exported, chains):
    """Red with: the second chain under the keys of the first."""
    runs, statistics = chains("lda"), opened(exported("lda", "arviz"))["sample_stats"]
    traces = diagnose(*(r.path for r in runs), threads=1).traces
    np.testing.assert_array_equal(statistics["log_probability"], traces)
    np.testing.assert_allclose(statistics["perplexity"], np.exp(-traces))


def test_word_counts_are_those_of_training(exported, chains):
    counts = opened(exported("lda", "arviz"))["constant_data/word_counts"]
    assert counts.values.tolist() == chains("lda")[0].word_counts().tolist()


def test_top_keeps_the_words_that_are_first_in_any_topic_of_any_chain(exported, chains):
    """Red with: words of the first chain alone; columns of other words."""
    runs = chains("lda")
    tree = opened(exported("lda", "arviz", top=2))
    wanted = np.unique(np.concatenate([r.top(2) for r in runs]))
    assert tree["posterior/word"].values.tolist() == [runs[0].vocabulary[w] for w in wanted]
    np.testing.assert_array_equal(
        tree["posterior/phi"][0, 5], runs[0].topics_of_sample(runs[0].kept()[5], 0)[:, wanted]
    )
    assert tree["constant_data/word_counts"].values.tolist() == (
        runs[0].word_counts()[wanted].tolist()
    )


def test_a_mixture_has_its_quantities_alone(exported, chains):
    """Red with: components, which differ from draw to draw."""
    results, tree = chains("dpmm")[0], opened(exported("dpmm", "arviz"))
    assert set(tree["posterior"].data_vars) == set(results.fitted.titles)
    sample = results.read_sample(results.kept()[4])
    wanted = results.fitted.quantities(results.fitted.sample_to_draw(sample), results.held_out())
    for name, value in wanted.items():
        assert float(tree["posterior"][name][0, 4]) == pytest.approx(value)
    assert "perplexity" not in tree["sample_stats"]


def test_the_same_run_gives_the_same_bytes(exported):
    folders = [exported("lda", "arviz", out=name) for name in "ab"]
    assert len({(folder / "draws.nc").read_bytes() for folder in folders}) == 1


def test_runs_without_draws_are_refused(exported, chains, monkeypatch):
    with pytest.raises(UsageError, match="ovb has no samples, so no draws can be written"):
        exported("ovb", "arviz")
    monkeypatch.setattr(type(chains("lda")[1]), "kept", lambda self: [6] if self.chain else [7])
    with pytest.raises(MissingInputError, match="the chains have no posterior samples"):
        exported("lda", "arviz")


def test_a_library_that_is_missing_is_named_with_its_extra(exported, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5netcdf", None)
    with pytest.raises(MissingInputError, match=r"needs h5netcdf: pip install h5netcdf"):
        exported("lda", "arviz")


def test_a_run_that_thins_its_samples_meanwhile_is_read_again(chains, tmp_path, monkeypatch):
    """Red with: no second try; the file of the first try in the way."""
    results, kept = chains("dlda")[0], chains("dlda")[0].kept()
    read, asked = type(results).read_sample, ExportRequest("arviz", tmp_path, "all")
    left = [kept]

    def thinned(self, step):
        if step == kept[3] and left[0] is kept:
            left[0] = kept[::2]
            raise MissingInputError("gone")
        return read(self, step)

    monkeypatch.setattr(type(results), "read_sample", thinned)
    monkeypatch.setattr(type(results), "kept", lambda self: left[0])
    export(results, asked)
    assert opened(tmp_path)["posterior/draw"].values.tolist() == kept[::2]


def test_a_full_disk_leaves_no_file(chains, tmp_path):
    """Red with: HDF5's own error."""

    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    command = (sys.executable, "-m", "pysgrld", "export", str(chains("lda")[0].path.parent))
    done = subprocess.run(
        [*command, "--to", "arviz", "-o", str(tmp_path / "out")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=little_room,
    )
    assert done.returncode == 74, done.stderr
    assert "draws.nc: cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list((tmp_path / "out").iterdir())
