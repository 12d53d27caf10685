"""`sgmc reproduce`: its output files and its refusals. Never whether a paper was right."""

import csv
import signal
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from trial_counts import counts

from pysgrld.cli import main
from pysgrld.cli.reproduce import QUICK, cell
from pysgrld.experiments import EXPERIMENTS

pytestmark = pytest.mark.cli

PNG = b"\x89PNG\r\n\x1a\n"


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def docword(path, rng, documents, per_document):
    rows = [np.unique(rng.integers(1, 41, per_document)) for _ in range(documents)]
    lines = [f"{d} {w} 1\n" for d, row in enumerate(rows, 1) for w in row]
    path.write_text(f"{documents}\n40\n{len(lines)}\n" + "".join(lines))


@pytest.fixture
def matrix(sgmc):
    """A folder like the authors' 20News, with 120 documents over 40 words."""
    folder, rng = sgmc.folder / "news", np.random.default_rng(0)
    folder.mkdir()
    (folder / "vocab.news.txt").write_text("".join(f"w{i}\n" for i in range(40)))
    for part, documents, per_document in (
        ("train", 120, 12),
        ("test-observed", 30, 10),
        ("test-heldout", 30, 3),
    ):
        docword(folder / f"docword.news.{part}.txt", rng, documents, per_document)
    return folder


@pytest.fixture
def digits(sgmc):
    """A folder like MNIST's, with 120 images of one bright bar each."""
    folder, rng = sgmc.folder / "digits", np.random.default_rng(0)
    folder.mkdir()
    grey = np.zeros((120, 10, 12), np.uint8)
    for image in grey:
        image[:, rng.integers(12)] = rng.integers(50, 256, 10)
    header = bytes((0, 0, 8, 3)) + np.array(grey.shape, ">u4").tobytes()
    (folder / "train-images-idx3-ubyte").write_bytes(header + grey.tobytes())
    return folder


def test_without_a_name_there_is_a_line_for_each(sgmc):
    done = sgmc("reproduce")
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(EXPERIMENTS)
    assert done.stderr == ""


def test_table1_writes_its_table_its_curves_and_a_picture(sgmc, matrix):
    done = sgmc(
        "reproduce",
        "dlda-table1",
        "--corpus",
        "news",
        "--quick",
        "--threads",
        "2",
        "--rows",
        "tlasgr-128,ours-128",
    )
    folder = sgmc.folder / "sgmc-reproduce" / "dlda-table1"
    assert sorted(p.name for p in folder.glob("[!.]*")) == [
        "curves.csv",
        "curves.png",
        "table1.csv",
    ]
    assert (folder / "curves.png").read_bytes()[:8] == PNG
    published, ours = rows_of(folder / "table1.csv")
    assert (published["row"], published["paper"], published["samples"]) == (
        "tlasgr-128",
        "770",
        "20",
    )
    assert (ours["row"], ours["paper"]) == ("ours-128", "")
    for row in (published, ours):
        assert 5 < float(row["rate-weighted"]) < 200
        assert 5 < float(row["perplexity"]) < 200
    points = rows_of(folder / "curves.csv")
    assert [p["iteration"] for p in points if p["row"] == "tlasgr-128"] == ["10", "20", "30", "40"]
    assert points[0]["perplexity"] == ""  # no sample yet
    lines = done.stdout.splitlines()
    assert lines[0].endswith("Table 1 and Figure 1 (a)")
    assert any(line.startswith("tlasgr-128 ") and "770" in line for line in lines)
    assert any(line.startswith("the paper: Gibbs") for line in lines)
    assert "found: the experiment works; for a comparison with the paper" in done.stdout
    assert "sgmc-reproduce/dlda-table1/curves.png" in lines[-1]


@pytest.mark.nightly  # by day the table of 20News
def test_wikipedia_is_split_here_and_has_figures_of_its_own(sgmc, parts):
    """Red with: the paper's 20News beside it."""
    done = sgmc(
        *("reproduce", "dlda-wikipedia", "--corpus", parts, "--quick", "--threads", "2"),
        *("--rows", "tlasgr-128,gibbs-128-64", "-o", "out"),
    )
    folder = sgmc.folder / "out"
    assert sorted(p.name for p in folder.glob("[!.]*")) == [
        "curves.csv",
        "curves.png",
        "table1.csv",
    ]
    published, gibbs = rows_of(folder / "table1.csv")
    assert (published["paper"], published["samples"]) == ("802", "20")
    assert (gibbs["paper"], gibbs["samples"]) == (
        "",
        "20",
    )  # which the paper could not train to its end
    assert "Table 1 and Figure 1 (c)" in done.stdout


@counts(1, 2)
def test_steps_of_each_layer_are_recorded_for_either_corpus(n, sgmc, matrix, parts):
    for corpus in (matrix, parts)[:n]:
        sgmc("reproduce", "dlda-rates", "--corpus", corpus, "--quick", "-o", corpus.name + "-rates")
        folder = sgmc.folder / (corpus.name + "-rates")
        assert sorted(p.name for p in folder.glob("[!.]*")) == ["rates.csv", "rates.png"]
        assert (folder / "rates.png").read_bytes()[:8] == PNG
        rows = rows_of(folder / "rates.csv")
        assert [int(row["iteration"]) for row in rows] == list(range(1, 31))
        for row in rows:  # the mean of reciprocals is above the reciprocal of the mean
            for layer in (1, 2, 3):
                assert float(row[f"layer-{layer}"]) > float(row[f"average-topic-{layer}"]) > 0


@pytest.mark.nightly  # by day mld-noise and sam-order in two processes
def test_figures_do_not_depend_on_how_many_rows_run_at_once(sgmc, matrix):
    figures = []
    for number in (1, 2):
        sgmc(
            "reproduce",
            "dlda-table1",
            "--corpus",
            "news",
            "--quick",
            "--rows",
            "tlfsgr-128*",
            "-o",
            number,
            "--threads",
            number,
            "--no-pictures",
            "--seed",
            "3",
        )
        assert not list((sgmc.folder / str(number)).glob("*.png"))
        points = rows_of(sgmc.folder / str(number) / "curves.csv")
        figures.append([row | {"seconds": ""} for row in points])
    key = lambda row: (row["row"], int(row["iteration"]))  # noqa: E731
    assert sorted(figures[0], key=key) == sorted(figures[1], key=key)
    assert {row["seed"] for row in figures[0]} == {"3"}


def test_seeds_are_repetitions(sgmc, matrix):
    done = sgmc(
        "reproduce",
        "dlda-table1",
        "--corpus",
        "news",
        "--quick",
        "--rows",
        "gibbs-128",
        "--seeds",
        "2",
        "--no-pictures",
    )
    folder = sgmc.folder / "sgmc-reproduce" / "dlda-table1"
    (row,) = rows_of(folder / "table1.csv")
    ends = [float(p["further"]) for p in rows_of(folder / "curves.csv") if p["samples"] == "20"]
    assert len(set(ends)) == 2
    assert float(row["rate-weighted"]) == pytest.approx(sum(ends) / 2, rel=1e-6)
    assert float(row["sd"]) == pytest.approx(abs(ends[0] - ends[1]) / 2**0.5, rel=1e-3)
    assert " sd" in done.stdout


@counts(1, 2)
def test_mnist_writes_the_atoms_of_every_layer(n, sgmc, digits):
    """And by night the same ones in two processes."""
    atoms = []
    for number in range(1, n + 1):
        done = sgmc(
            "reproduce",
            "dlda-mnist",
            "--corpus",
            "digits",
            "--quick",
            "-o",
            number,
            "--threads",
            number,
        )
        folder = sgmc.folder / str(number)
        atoms.append([(folder / f"atoms-{layer}.csv").read_bytes() for layer in (1, 2, 3)])
    assert atoms[0] == atoms[-1]
    for layer, topics in ((1, 128), (2, 64), (3, 32)):
        assert (folder / f"atoms-{layer}.png").read_bytes()[:8] == PNG
        rows = rows_of(folder / f"atoms-{layer}.csv")
        assert [r["sampler"] for r in rows] == ["tlfsgr"] * topics + ["tlasgr"] * topics
        for row in rows[::17]:
            pixels = [float(row[str(pixel)]) for pixel in range(120)]
            assert sum(pixels) == pytest.approx(1, abs=1e-3)
    layers = rows_of(folder / "layers.csv")
    assert [(r["layer"], r["sampler"]) for r in layers[:3]] == [
        ("1", "at first"),
        ("1", "tlfsgr"),
        ("1", "tlasgr"),
    ]
    assert all(0 < float(r["spread"]) <= 1 and 0 < float(r["cosine"]) <= 1 for r in layers)
    assert "3 minibatches" in done.stderr
    assert done.stdout.count("found: ") == 1  # a small cut gives no verdicts


@pytest.fixture
def parts(sgmc):
    """A folder with 120 training and 30 test documents over 40 words."""
    folder, rng = sgmc.folder / "wiki", np.random.default_rng(0)
    folder.mkdir()
    (folder / "vocab.wiki.txt").write_text("".join(f"w{i}\n" for i in range(40)))
    docword(folder / "docword.wiki.train.txt", rng, 120, 12)
    docword(folder / "docword.wiki.test.txt", rng, 30, 10)
    return folder


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("sgrld-wikipedia", "ovb-2010,sgrld-2013,scir"),
        # by day tests/unit/test_experiments_lda.py runs the rows of the others
        *(
            pytest.param(*case, marks=pytest.mark.nightly)
            for case in (
                *(("sgrld-nips", "cgs,hsvg-5"), ("scir-lda", "scir*")),
                ("smld-lda", "sgrld,sgrhmc,smld"),
            )
        ),
    ],
)
def test_runs_of_lda_write_a_table_curves_and_a_picture(sgmc, parts, name, rows):
    corpus = parts / "docword.wiki.train.txt" if name == "sgrld-nips" else parts
    done = sgmc(
        "reproduce",
        name,
        "--corpus",
        corpus,
        "--quick",
        "--seconds",
        "0.2s",
        "--threads",
        "2",
        "--rows",
        rows,
    )
    folder = sgmc.folder / "sgmc-reproduce" / name
    assert sorted(p.name for p in folder.glob("[!.]*")) == ["curves.csv", "curves.png", "rows.csv"]
    assert (folder / "curves.png").read_bytes()[:8] == PNG
    table = rows_of(folder / "rows.csv")
    assert len(table) == {"scir*": 2}.get(rows, rows.count(",") + 1)
    for row in table:
        assert 5 < float(row["perplexity"]) < 200
        assert float(row["iterations"]) >= 1
    assert {p["row"] for p in rows_of(folder / "curves.csv")} == {row["row"] for row in table}
    assert "the paper: " in done.stdout
    assert "found: the experiment works; for a comparison with the paper" in done.stdout


@pytest.mark.nightly  # by day tests/unit/test_experiments_sam.py
def test_methods_for_directions_write_both_scores_and_a_picture(sgmc, parts):
    """Red with: a table of perplexities."""
    done = sgmc(
        "reproduce",
        "sam-20news",
        "--corpus",
        parts,
        "--quick",
        "--seconds",
        "0.3s",
        "--rows",
        # its first iteration is a sample, so that no machine is too slow for it
        "vi,sggmc-full-2016",
    )
    folder = sgmc.folder / "sgmc-reproduce" / "sam-20news"
    assert sorted(p.name for p in folder.glob("[!.]*")) == ["curves.csv", "curves.png", "rows.csv"]
    assert (folder / "curves.png").read_bytes()[:8] == PNG
    table = rows_of(folder / "rows.csv")
    assert [row["row"] for row in table] == ["sggmc-full-2016", "vi"]
    assert all(float(row["log-perplexity"]) != float(row["by-importance"]) for row in table)
    assert "the paper: From best to worst: gSGNHT" in done.stdout


@pytest.mark.nightly  # as the matrix above
def test_mixtures_of_users_do_not_depend_on_how_many_rows_run_at_once(sgmc, parts):
    """Red with: a seed of the row's position."""
    figures = []
    for number in (1, 2):
        sgmc(
            "reproduce",
            "scir-dpmm",
            "--corpus",
            "wiki",
            "--quick",
            "--seeds",
            "2",
            "-o",
            number,
            "--threads",
            number,
            "--rows",
            "gibbs,scir,sgrld-as-released",
        )
        folder = sgmc.folder / str(number)
        assert (folder / "curves.png").read_bytes()[:8] == PNG
        figures.append([row | {"seconds": ""} for row in rows_of(folder / "curves.csv")])
    assert figures[0] == figures[1]
    table = rows_of(folder / "rows.csv")
    assert len(table) == 3
    assert {row["seeds"] for row in table} == {"2"}
    assert all(10 < float(row["score"]) < 100 for row in table)


#: Experiments on known posteriors: their files, and lines of the first table.
TOYS = {
    "sgrld-fig1": (["ess.csv", "figure1.png", "traces.csv"], 1 + 4 * 11),
    "scir-synthetic": (
        ["best.csv", "component5.csv", "scores.csv", "synthetic.png"],
        2 * (3 * 2 + 1),
    ),
    "scir-bias": (["bias.csv", "bias.png"], 5 * 2),
    "mld-tv": (["steps.csv", "tv.csv", "tv.png"], 1 + 8),
    "mld-noise": (["noise.csv", "noise.png"], 5),
    "sam-order": (["order.csv", "order.png"], 2 * 2),
    "sam-circle": (["angles.csv", "circle.png", "rows.csv"], 7),
    "sam-vmf-posterior": (["densities.csv", "posterior.png", "rows.csv"], 1 + 6),
}


#: Of which one process and two are compared by night alone: they take seconds, and are made alike.
SLOW = ("sgrld-fig1", "scir-synthetic", "scir-bias", "mld-tv", "sam-circle", "sam-vmf-posterior")
#: By night alone: one of each paper is run by day, mld-tv by the test of its seeds.
NIGHT = ("sgrld-fig1", "scir-bias", "mld-tv", "sam-circle")


@pytest.mark.parametrize(
    ("name", "numbers"),
    [(name, (1,) if name in SLOW else (1, 2)) for name in TOYS if name not in NIGHT]
    + [pytest.param(name, (1, 2), marks=pytest.mark.nightly) for name in SLOW],
    ids=lambda value: value if isinstance(value, str) else len(value),
)
def test_a_known_posterior_needs_no_corpus_and_gives_tables_and_a_picture(sgmc, name, numbers):
    """The same bytes for one process and for two. Red with: a seed of each process."""
    files, lines = TOYS[name]
    found = []
    for number in numbers:
        pictures = ["--no-pictures"] * (number == 2)
        done = sgmc(
            "reproduce",
            name,
            "--quick",
            "-o",
            number,
            "--threads",
            number,
            "--seed",
            "3",
            *pictures,
        )
        folder = sgmc.folder / str(number)
        found.append({p.name: p.read_bytes() for p in folder.iterdir() if p.suffix == ".csv"})
        wanted = [file for file in files if number == 1 or not file.endswith("png")]
        assert sorted(p.name for p in folder.glob("[!.]*")) == wanted
    assert found[0] == found[-1]
    (picture,) = (sgmc.folder / "1").glob("*.png")
    assert picture.read_bytes()[:8] == PNG
    tables = {
        "sgrld-fig1": "ess",
        "scir-synthetic": "best",
        "scir-bias": "bias",
        "mld-tv": "steps",
        "mld-noise": "noise",
        "sam-order": "order",
    }
    table = tables.get(name, "rows")
    assert len(rows_of(sgmc.folder / "1" / f"{table}.csv")) == lines
    shown = done.stdout.splitlines()
    assert shown[0] == EXPERIMENTS[name].source
    assert any(line.startswith("the paper: ") for line in shown)
    assert [line for line in shown if line.startswith("found: ")] == [f"found: {QUICK}"]


def test_seeds_of_a_known_posterior_are_averaged_or_pooled(sgmc):
    """Red with: the first seed's alone."""
    both = []
    for seeds in (1, 2):
        sgmc("reproduce", "mld-tv", "--quick", "--seeds", seeds, "-o", seeds, "--no-pictures")
        both.append(
            [float(r["tv-category-1"]) for r in rows_of(sgmc.folder / str(seeds) / "steps.csv")]
        )
    assert both[1][0] == pytest.approx(both[0][0] / 2**0.5, rel=1e-5)  # twice the number of trials
    assert both[1][1] != both[0][1]


def test_results_that_are_there_are_not_replaced_unless_forced(sgmc, digits):
    common = (
        "reproduce",
        "dlda-mnist",
        "--corpus",
        "digits",
        "--quick",
        "-o",
        "out",
        "--no-pictures",
    )
    (sgmc.folder / "out").mkdir()
    (sgmc.folder / "out" / "mine").write_text("kept")
    for force in ([], ["--force"]):
        done = sgmc(*common, *force, code=73)
        assert done.stderr.count("\n") == 1
    assert [path.name for path in (sgmc.folder / "out").iterdir()] == ["mine"]
    (sgmc.folder / "out" / "mine").unlink()
    sgmc(*common, "-q")
    sgmc(*common, code=73)
    sgmc(*common, "--force", "-q")
    assert (sgmc.folder / "out" / "layers.csv").exists()


@pytest.mark.parametrize("name", [n for n, e in EXPERIMENTS.items() if e.corpus])
@pytest.mark.parametrize("corpus", [(), ("--corpus", "not-there"), ("--corpus", ".")])
def test_a_missing_corpus_is_said_with_what_is_wanted(monkeypatch, tmp_path, name, corpus):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["reproduce", name, *corpus])
    assert done.exit_code == 66
    assert done.stderr.count("\n") == 1
    wanted = {"dlda-mnist": "train-images-idx3-ubyte"}.get(name, "docword.NAME.")
    assert wanted in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("dlda-table",), "did you mean 'dlda-table1'?"),
        (("fig1",), "there are dlda-table1, dlda-wikipedia"),
        (("--quick",), "give an experiment"),
        (("dlda-mnist", "--corpus", ".", "--seeds", "2"), "--seeds does not apply to dlda-mnist"),
        (("dlda-mnist", "--corpus", ".", "--rows", "a"), "--rows does not apply to dlda-mnist"),
        (("dlda-table1", "--corpus", ".", "--rows", "a,"), "has an empty name; write names"),
        (("mld-tv", "--corpus", "."), "mld-tv, which makes its own data"),
        (("scir-synthetic", "--seeds", "2"), "--seeds does not apply to scir-synthetic"),
        (("dlda-table1", "--corpus", ".", "--rows", "lda"), "--rows lda: no such row"),
    ],
)
def test_wrong_usage_is_said_in_a_line_and_leaves_nothing(sgmc, arguments, said):
    done = sgmc("reproduce", *arguments, code=2)
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not any(path.is_file() for path in sgmc.folder.rglob("*"))


def test_without_matplotlib_the_extra_is_named_before_anything_is_computed(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    arguments = ["reproduce", "mld-noise", "--quick", "-o", "out"]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2
    assert "pip install matplotlib" in done.stderr
    assert "--no-pictures" in done.stderr
    assert not (tmp_path / "out").exists()
    assert CliRunner().invoke(main, [*arguments, "--no-pictures"]).exit_code == 0
    assert (tmp_path / "out" / "noise.csv").exists()


@pytest.mark.parametrize("name", ["scir-synthetic", "mld-tv"])
def test_without_scipy_the_extra_is_named_before_anything_is_computed(monkeypatch, tmp_path, name):
    """Red with: no require_scipy, where a process ends in a traceback."""
    monkeypatch.setitem(sys.modules, "scipy", None)
    arguments = ["reproduce", name, "--quick", "-o", str(tmp_path / "out"), "--no-pictures"]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2
    assert f"{name} needs scipy: pip install scipy" in done.stderr


def test_one_interrupt_ends_all_rows_and_keeps_those_that_are_done(sgmc, matrix):
    """Red with: no stop for the other processes, which would train for minutes."""
    arguments = ("reproduce", "dlda-table1", "--corpus", "news", "--rows", "tl*", "--no-pictures")
    with sgmc.start(*arguments, "--threads", "2") as process:
        for line in process.stderr:
            if line.startswith("percent: "):
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
        assert process.wait(timeout=60) == 130
    assert "Traceback" not in rest


def test_rows_end_with_the_process_that_began_them(sgmc, matrix):
    """Red with: no _end_with_parent, where they would wait for ever: standard error stays open."""
    arguments = ("reproduce", "dlda-table1", "--corpus", "news", "--rows", "tl*", "--no-pictures")
    with sgmc.start(*arguments, "--threads", "2") as process:
        for line in process.stderr:
            if line.startswith("percent: "):
                break
        process.kill()
        process.stderr.read()  # read until the last process that has the pipe ends
        assert process.wait(timeout=60) == -signal.SIGKILL


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1e-5, "1e-05"), (3.2e-4, "0.00032"), (0.01, "0.010"), (-0.002, "-0.002"), (0.0, "0.000")],
)
def test_small_numbers_keep_two_digits(value, shown):
    """Step sizes, for one. Red with: three decimals."""
    assert cell(value) == shown
