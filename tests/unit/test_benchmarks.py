"""Scripts that people run by hand, on the little of them that can be wrong without being noticed."""

import ast
import gzip
import importlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from parsed import without_collections

from pysgrld.core import core, padded_width
from pysgrld.evaluate import Completion
from pysgrld.evaluate.held_out import split
from pysgrld.models.lda.reader import lda_readers
from pysgrld.types import Documents, Key

ROOT = Path(__file__).parents[2]
PEERS = ROOT / "benchmarks" / "peers"
SCRIPTS = sorted([*(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "docs").rglob("*.py")])
BIBLE = ROOT / "data" / "docword.bible.txt.gz"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_what_a_script_imports_of_the_package_is_there(path):
    """Also where other tools are not installed. Red with: a module of the package moved away."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "pysgrld":
                    importlib.import_module(alias.name)
        elif isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "pysgrld":
            module = importlib.import_module(node.module)
            for alias in node.names:
                if not hasattr(module, alias.name):
                    importlib.import_module(f"{node.module}.{alias.name}")


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        (
            "defaults.py",
            [BIBLE, "--seconds", "0.5", "--seeds", "1", "-k", "3", "--only", "the defaults"],
        ),
        pytest.param(
            "defaults.py",
            [BIBLE, "--whole", "0.1", "--seeds", "1", "-k", "3", "--", "--iterations", "5"],
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "damage.py", ["inputs", "--number", "21", "--jobs", "1"], marks=pytest.mark.nightly
        ),
        pytest.param("depth.py", [], marks=pytest.mark.nightly),
        ("draws.py", ["means", "--iterations", "3", "--documents", "8"]),
        pytest.param(  # as draws.py
            "lazy_rows.py",
            ["--words", "300", "--documents", "200", "--topics", "3"],
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "reading.py",
            [ROOT / "tests" / "data" / "tiny.txt", "--repeats", "1"],
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "spectral.py",
            [BIBLE, "--seconds", "0.3", "--chains", "2", "-k", "3", "--starts", "random,recovered"],
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "thresholds.py", ["--only", "pysgrld/run", "--list"], marks=pytest.mark.nightly
        ),
        pytest.param(
            "tokeniser.py",
            ["--runs", "1", ROOT / "tests" / "data" / "tiny.txt"],
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_a_script_that_needs_no_other_tool_runs_at_its_smallest(script, arguments):
    """Red with: options written by hand, without one that was added later; a renamed property."""
    needed = {"spectral.py": "scipy", "tokeniser.py": "sklearn", "reading.py": "pyarrow"}
    if script in needed:
        pytest.importorskip(needed[script])
    subprocess.run(
        [sys.executable, ROOT / "benchmarks" / script, *arguments],
        check=True,
        timeout=300,
        capture_output=True,
    )


@pytest.fixture
def module(monkeypatch):
    """A module of benchmarks or benchmarks/peers, found as when that folder is run."""
    monkeypatch.syspath_prepend(str(PEERS.parent))
    monkeypatch.syspath_prepend(str(PEERS))
    return importlib.import_module


def test_finished_rows_of_an_experiment_are_kept_unless_their_settings_change(
    module, monkeypatch, tmp_path
):
    """Red with: files by position, which another choice of rows would move; settings not compared."""
    script, trained = module("reproductions"), []

    def map_in_processes(work, tasks, costs, processes, tell, done):
        for position, task in enumerate(tasks):
            trained.append(task.name)
            done(position, costs[position])

    monkeypatch.setattr(script, "map_in_processes", map_in_processes)
    rows = {
        name: SimpleNamespace(
            name=name, options=SimpleNamespace(seed=0), iterations=9, seconds=None
        )
        for name in ("a", "b", "c")
    }

    def run(*names, cost):
        told = {}
        costs = [cost] * len(names)
        tasks = [rows[name] for name in names]
        results = script.keep_rows(
            tmp_path,
            None,
            tasks,
            costs,
            1,
            None,
            lambda position, result: told.update({position: result}),
        )
        assert told == dict(enumerate(results))
        return results

    assert run("b", "c", cost=1) == [1, 1]
    assert run("a", "b", "c", cost=2) == [2, 1, 1]
    rows["c"].iterations = 10
    assert run("a", "b", "c", cost=3) == [2, 1, 3]
    assert trained == ["b", "c", "a", "c"]


@pytest.mark.parametrize(("how", "least"), [("recovered", 0.85), ("rows", 0.55)])
def test_anchor_words_give_the_topics_of_a_corpus_that_has_them(module, how, least):
    """Red with: no diagonal taken off; the nearest row for the farthest."""
    sparse = pytest.importorskip("scipy.sparse")
    spectral, rng = module("spectral"), np.random.default_rng(1)
    k, words, tokens = 5, 60, 8
    phi = np.hstack([0.1 * np.eye(k), 0.9 * rng.dirichlet(np.full(words - k, 0.3), k)])
    theta = rng.dirichlet(np.full(k, 0.3), 10_000)
    counts = np.array([rng.multinomial(tokens, p) for p in theta @ phi], np.float32)
    law = spectral.anchored(sparse.csr_matrix(counts), k, rng, 50, how)
    assert law.sum() == pytest.approx(1.0, abs=1e-5)
    found = (law / law.sum(axis=0)).T
    shared = np.minimum(phi[:, None], found).sum(axis=2)
    assert sorted(shared.argmax(axis=1)) == list(range(k))
    assert shared.max(axis=1).min() > least


def test_words_are_spelt_in_letters_and_read_back(module):
    peers = module("contestants")
    spelt = [peers.spell(word) for word in (0, 1, 25, 26, 7701, 26**5 - 1)]
    assert [peers.unspell(word) for word in spelt] == [0, 1, 25, 26, 7701, 26**5 - 1]
    assert all(word.isalpha() and len(word) == 5 for word in spelt)


@pytest.mark.parametrize("sweeps", [2, 6, 9, 10, 11, 99, 250, 1000])
def test_snapshots_never_add_sweeps(module, sweeps):
    before, number, apart = module("contestants").snapshots(sweeps)
    assert before >= 1
    assert before + number * apart == sweeps


def test_topics_are_put_in_the_order_of_our_words(module):
    peers = module("contestants")
    found = peers.spread(
        SimpleNamespace(words=4), np.array([[0.7, 0.1, 0.2]]), [peers.spell(w) for w in (3, 0, 1)]
    )
    np.testing.assert_allclose(found, np.array([[0.1, 0.2, 0.1, 0.7]]) / 1.1)


def test_names_of_lines_are_apart_and_near_their_lines(module):
    pytest.importorskip("matplotlib")
    apart = module("plots").apart
    assert apart([0.1, 0.5, 0.9], 0.05) == [0.1, 0.5, 0.9]
    np.testing.assert_allclose(apart([0.0, 0.01, 0.02, 0.9], 0.05), [0.0, 0.05, 0.1, 0.9])
    placed = apart([0.3, 0.3, 0.31, 0.36, 0.8], 0.05)
    assert np.diff(placed).min() > 0.05 - 1e-12
    assert placed[4] == 0.8
    assert np.mean(placed[:4]) == pytest.approx(np.mean([0.3, 0.3, 0.31, 0.36]))


POINTS = [(1.0, 1000.0), (2.0, 900.0), (4.0, 950.0), (8.0, 800.0)]


def test_seconds_until_a_perplexity_are_interpolated_on_log_scales(module):
    """Red with: interpolation of seconds instead of their logarithms; the last crossing."""
    pytest.importorskip("matplotlib")
    until = module("tables").seconds_until
    assert until(POINTS, (1000 * 900) ** 0.5) == pytest.approx(2**0.5)
    assert until(POINTS, 900.0) == pytest.approx(2.0)
    assert until(POINTS, 920.0) < 2  # it had that before it was worse again
    assert 4 < until(POINTS, 850.0) < 8
    assert until(POINTS, 1200.0) == 1.0  # the first point has it: a bound
    assert until(POINTS, 799.0) is None


def test_a_perplexity_at_some_seconds_is_interpolated_on_log_scales(module):
    pytest.importorskip("matplotlib")
    at = module("tables").perplexity_at
    assert at(POINTS, 2**0.5) == pytest.approx((1000 * 900) ** 0.5)
    assert at(POINTS, 8.0) == pytest.approx(800.0)
    assert at(POINTS, 0.9) is None
    assert at(POINTS[:1], 1.0) == 1000.0


def of(peer, figures):
    """A peer of a stored contest, with (seconds, one draw, draws averaged) of each point."""
    points = [
        {"seconds": s, "point": p, "averaged": a, "draws": 0, "tokens": 1} for s, p, a in figures
    ]
    return {"peer": peer, "points": points}


def test_seconds_of_sgmc_are_ratios_to_those_of_tomotopy(module):
    """Red with: sgmc's one draw instead of its averaged ones; a bound that is shown as a figure."""
    pytest.importorskip("matplotlib")
    ours = of("sgmc scir", [(1.0, 990.0, 900.0), (2.0, 990.0, 800.0), (4.0, 990.0, 700.0)])
    theirs = of("tomotopy", [(1.0, 1000.0, None), (2.0, 950.0, 850.0), (4.0, 800.0, 690.0)])
    versus = module("tables").versus_cells
    assert versus({"peers": [ours, theirs]}) == (
        "690 | 4.0 | not within 4 |  | 800 | 4.0 | 2.00 | 2.00 | 1.014"
    )
    early = {**theirs, "points": theirs["points"][:2]}
    assert versus({"peers": [ours, early]}) == (
        "850 | 2.0 | 1.40 | 1.43 | 950 | 2.0 | at most 1.00 | at least 2.0 | 0.824"
    )
    assert versus({"peers": [ours]}) == ""
    assert module("tables").versus([{"peers": [ours]}]) == ""


def test_a_contest_takes_the_place_of_an_older_one_of_its_name(module, tmp_path):
    """Red with: contests that are only added; those of the plan not in its order."""
    pytest.importorskip("matplotlib")
    command = load("peers_command", PEERS / "__main__.py")
    stored = tmp_path / "peers.json"
    names = ["mine-5", "wikipedia-100", "20news-100", "wikipedia-100"]
    for i, name in enumerate(names):
        command.store(stored, {"name": name, "at": i})
    found = json.loads(stored.read_text())["contests"]
    assert [(contest["name"], contest["at"]) for contest in found] == [
        ("20news-100", 2),
        ("wikipedia-100", 3),
        ("mine-5", 0),
    ]


def test_names_of_the_plan_are_unique_and_its_files_named(module):
    plan, peers = module("plan"), module("contestants").PEERS
    names = [contest.name for contest in plan.CONTESTS]
    assert len(set(names)) == len(names)
    assert {"20news-100", "wikipedia-100", "wikipedia-1000-2t", "20news-100-own"} <= set(names)
    assert {contest.corpus for contest in plan.CONTESTS} == set(plan.CORPORA)
    for source in plan.CORPORA.values():
        assert 1 <= len(source.files) <= 3
        assert all(f.endswith(".txt.gz") and not Path(f).is_absolute() for f in source.files)
    for contest in plan.CONTESTS:
        asked = {"own": contest.own, "threads": contest.threads, "chains": contest.chains}
        assert not any(peers[name].cannot(**asked) for name in contest.peers), contest.name


def test_the_results_that_are_stored_are_contests_of_the_plan(module):
    """Red with: a row of the plan that was renamed, so that its old figures stay for ever."""
    names = [contest.name for contest in module("plan").CONTESTS]
    stored = json.loads((ROOT / "benchmarks" / "results" / "peers.json").read_text())["contests"]
    found = [contest["name"] for contest in stored]
    assert found == sorted(found, key=names.index)
    for contest in stored:
        assert f"peers-{contest['name']}.png" in (ROOT / "docs/internals/benchmarks.md").read_text()
        assert (ROOT / "docs" / "img" / f"peers-{contest['name']}.png").exists()


def test_the_page_is_what_is_made_of_the_results(module, monkeypatch, tmp_path):
    """Red with: a figure or a word that was changed by hand; a contest whose section is left out."""
    pytest.importorskip("matplotlib")
    pages, results = module("pages"), ROOT / "benchmarks" / "results"
    contests, kernels = (
        json.loads((results / name).read_text()) for name in ("peers.json", "kernels.json")
    )
    monkeypatch.setattr(pages, "plot", lambda found, path: None)
    (tmp_path / "internals").mkdir()
    pages.write_docs(contests["contests"], kernels, tmp_path)
    page = (tmp_path / "internals" / "benchmarks.md").read_text()
    assert page == (ROOT / "docs/internals/benchmarks.md").read_text()


def test_the_table_of_performance_has_the_last_figures_of_every_contest(module):
    """Red with: a figure that was changed by hand; a contest that was left out."""
    series, tables = module("series"), module("tables")
    stored = json.loads((ROOT / "benchmarks" / "results" / "peers.json").read_text())["contests"]
    rows = []
    for found in stored:
        lines = {(s.peer["peer"], s.figure): s.points for s in series.all_series(found)}
        if (series.THEIRS, "averaged") not in lines:
            continue
        ours, theirs = lines[series.OURS, "averaged"], lines[series.THEIRS, "averaged"]
        (end, ours_last), (seconds, theirs_last) = ours[-1], theirs[-1]
        until = tables.seconds_until(ours, theirs_last)
        if until is None:
            times = f"not within {end:.0f}"
        else:
            times = (
                f"{seconds / until:.1f}"
                if until > ours[0][0]
                else f"at least {seconds / until:.0f}"
            )
        cells = [series.title(found), found["machine"]["isa"].upper(), f"{seconds:.0f}"]
        cells += [f"{ours_last:.0f}", f"{theirs_last:.0f}", f"{ours_last / theirs_last:.3f}", times]
        rows.append(f"| {' | '.join(cells)} |")
    page = (ROOT / "docs" / "performance.md").read_text()
    assert len(rows) > 15
    assert [line for line in page.splitlines() if re.match(r"\| \w+, K = .* \| AVX", line)] == rows


def test_the_small_corpus_is_short_documents_of_tokens_that_are_there(module):
    """Red with: documents of fewer than 80 tokens; counts drawn with replacement."""
    plan = module("plan")
    rng = np.random.default_rng(0)
    dense = rng.poisson(rng.uniform(0.5, 8, (3000, 1)), (3000, 50)).astype(np.int32)
    dense[:, 0] += 1
    documents = of_dense(dense)
    cut = plan.small(documents, 1)
    assert len(cut) == plan.FEW
    assert 80 <= cut.lengths.min() < 100
    assert cut.lengths.max() == 200
    assert cut.counts.min() >= 1
    order = np.random.default_rng(1).permutation(np.flatnonzero(dense.sum(axis=1) >= 80))
    left = np.zeros((len(cut), 50), np.int32)
    left[np.repeat(np.arange(len(cut)), np.diff(cut.indptr)), cut.indices] = cut.counts
    assert (left <= dense[order[: plan.FEW]]).all()
    again = plan.small(documents, 1)
    assert np.array_equal(again.counts, cut.counts)


def of_dense(dense):
    rows, words = np.nonzero(dense)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(dense)))))
    return Documents(indptr.astype(np.int64), words.astype(np.int32), dense[rows, words])


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_theta_has_the_prior_that_a_peer_has_learned(module):
    """Red with: our alpha for everybody, and with one that is padded by what is not zero."""
    scoring = module("scoring")
    held_out = split(of_dense(np.full((20, 6), 3, np.int32)), np.arange(20), 0.5, 1)
    topics = np.array([[0.9, 0.02, 0.02, 0.02, 0.02, 0.02], [0.1, 0.18, 0.18, 0.18, 0.18, 0.18]])
    judge = scoring.Judge(held_out, 2, 0.1)
    ours = judge.point(scoring.Found(topics))
    assert judge.point(scoring.Found(topics, 0.1)) == ours
    assert judge.point(scoring.Found(topics, np.array([0.1, 0.1]))) == ours
    expected = Completion(held_out, lda_readers(2, 0.1), 1)
    phi = core.zeros(6, padded_width(2), "float32")
    phi[:, :2] = topics.T
    assert ours == pytest.approx(float(expected.point(Key(0, 0, 0), {"phi": phi})), rel=1e-6)
    # word 0 is a sixth of the tokens: the first topic alone is a bad model
    assert judge.point(scoring.Found(topics, np.array([100.0, 0.001]))) > 1.2 * ours


@pytest.mark.parametrize(("own", "alpha"), [(False, 0.3), (True, "learn")])
def test_threads_and_own_priors_reach_sgmc(own, alpha, module, monkeypatch):
    scoring, seen = module("scoring"), []

    def begin(options, stream, facts, run_on):
        seen.append((options.algo, options.alpha, options.eta, run_on.threads))
        raise scoring.Done

    monkeypatch.setattr(importlib.import_module("pysgrld.train.begin"), "begin", begin)
    task = scoring.Task(of_dense(np.full((20, 6), 3, np.int32)), 6, 2, 0.3, 0.07, 1, 2, 50)
    with pytest.raises(scoring.Done):
        module("contestants").sgmc("cgs")(task, scoring.Watch(None, 1.0, 2, print), own)
    assert seen == [("cgs", alpha, 0.07, 2)]


def test_the_clock_is_the_processors_for_one_thread_and_the_walls_for_more(module):
    scoring = module("scoring")
    clocks = {n: scoring.Watch(None, 1.0, n, print).clock for n in (1, 2)}
    assert clocks == {1: time.process_time, 2: time.perf_counter}


def test_points_are_two_an_octave_and_one_where_a_fit_is_done_anew(module):
    looks = module("scoring").looks
    np.testing.assert_allclose(looks(3, 1), [0.25, 0.5, 1, 2, 3])
    np.testing.assert_allclose(looks(1, 2), [0.25, 0.125**0.5, 0.5, 0.5**0.5, 1])


def test_chains_share_the_seconds_and_their_draws_are_averaged(module):
    """Red with: a mean of perplexities, seconds of one chain, looks of one chain beside another's."""
    scoring = module("scoring")
    held_out = split(of_dense(np.full((20, 3), 4, np.int32)), np.arange(20), 0.5, 1)
    watches = []
    for one, looked in (([0.8, 0.1, 0.1], [0.5, 1.0]), ([0.2, 0.4, 0.4], [0.25, 1.0])):
        watch = scoring.Watch(scoring.Judge(held_out, 1, 0.1), 1.0, 1, lambda line: None)
        for look in looked:
            watch.looked.append(look)
            watch.seconds, watch.tokens = 1.5 * look, 10
            watch.judge.add_draw(scoring.Found(np.array([one])))
            watch._look(scoring.Found(np.array([one])))
        watches.append(watch)
    (point,) = scoring.together(watches)
    counts = np.bincount(held_out.held_out.indices, held_out.held_out.counts, 3)
    logs = np.log([[0.8, 0.1, 0.1], [0.2, 0.4, 0.4], [0.5, 0.25, 0.25]])
    first, second, both = np.exp(-(logs @ counts) / counts.sum())
    assert point["averaged"] == pytest.approx(both, abs=0.01)
    assert point["point"] == pytest.approx(np.sqrt(first * second), abs=0.01)
    assert (point["seconds"], point["tokens"], point["draws"]) == (3.0, 20, 4)


def compete(folder, *arguments, corpus=BIBLE):
    """Run one contest on the bundled corpus, or another; gives what was stored and printed."""
    common = ["--budget", "1", "-k", "5", "--peers", "sgmc scir", "-o", folder]
    done = subprocess.run(
        [sys.executable, PEERS, "--corpus", "bible", corpus, *common, *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        timeout=300,
    )
    return json.loads((folder / "peers.json").read_text())["contests"], done.stdout


def first_documents(number, path):
    """Write the first documents of the bundled corpus; gives the path."""
    with gzip.open(BIBLE, "rt") as file:
        _, words, _, *counts = file.read().splitlines()
    kept = [line for line in counts if int(line.split()[0]) <= number]
    path.write_text("\n".join([str(number), words, str(len(kept)), *kept, ""]))
    return path


@pytest.fixture(scope="module")
def competed(tmp_path_factory):
    """A folder with one contest, what was stored there and what was printed. Not to be changed."""
    pytest.importorskip("matplotlib")
    folder = tmp_path_factory.mktemp("contest")
    return folder, *compete(folder)


def test_one_command_gives_points_table_and_plot(competed):
    folder, (contest,), printed = competed
    assert "| **sgmc scir" in printed
    assert contest["name"] == "bible-5"
    corpus = contest["corpus"]
    assert (corpus["documents"], corpus["held_out_documents"]) == (1071, 118)
    (peer,) = contest["peers"]
    seconds = [point["seconds"] for point in peer["points"]]
    assert seconds == sorted(seconds)
    assert peer["points"][-1]["point"] < corpus["unigram"]
    assert str(ROOT) not in json.dumps(contest)
    assert (folder / "peers-bible-5.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.nightly  # as the contest of one chain, by one command
def test_a_contest_of_two_threads_with_own_priors_stands_beside_another(competed, tmp_path):
    """Red with: threads or priors that are no part of a contest's name."""
    folder = shutil.copytree(competed[0], tmp_path / "copy")
    contests, printed = compete(folder, "--threads", "2", "--own")
    assert [contest["name"] for contest in contests] == ["bible-5", "bible-5-2t-own"]
    settings, (peer,) = contests[1]["settings"], contests[1]["peers"]
    assert (settings["threads"], settings["own"]) == (2, True)
    assert peer["settings"] == "--alpha learn"
    assert peer["points"][-1]["seconds"] >= 0.3
    assert "bible-5-2t-own" in printed
    assert (folder / "peers-bible-5-2t-own.png").exists()


@pytest.mark.nightly  # as the contest of one chain, by one command
def test_a_contest_of_several_chains_has_a_line_of_them_all(tmp_path):
    pytest.importorskip("matplotlib")
    # of a hundred documents the first sample is due after a thirtieth of a chain's second
    corpus = first_documents(100, tmp_path / "docword.txt")
    (contest,), printed = compete(tmp_path, "--chains", "2", "--budget", "2", corpus=corpus)
    assert contest["name"] == "bible-5-2c"
    assert contest["settings"]["chains"] == 2
    (peer,) = contest["peers"]
    last = peer["points"][-1]
    assert last["seconds"] >= 2
    assert last["averaged"] < last["point"]
    assert "sgmc scir, draws averaged" in printed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--contest", "wikipedia-7", "--data", "."], "no contest of the plan has such a name"),
        (["--contest", "wikipedia-100"], "--contest needs --data"),
        (["--data", ".", "-k", "7"], "--topics is for --corpus"),
        (["--corpus", "a", "b", "--data", "."], "leave --data and --contest out"),
        (["--corpus", "a", "b"], "--corpus needs -o"),
        (["--corpus", "a", "-o", "."], "give one to three files"),
        (["--cores", "4095"], "this process may use"),
    ],
)
def test_a_contest_that_cannot_be_is_refused(
    arguments, said, module, tmp_path, monkeypatch, capsys
):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    command = load("peers_command", PEERS / "__main__.py")
    monkeypatch.setattr(sys, "argv", ["peers", *arguments])
    with pytest.raises(SystemExit) as ended:
        command.parse()
    assert ended.value.code == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_thresholds_are_changed_where_they_stand_and_comparisons_turned(tmp_path):
    """Red with: bytes taken for characters, so that what stands after an é is changed elsewhere."""
    path = ROOT / "benchmarks" / "thresholds.py"
    spec = importlib.util.spec_from_file_location("thresholds", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    good = "#: é\nLONG, FEW = 2**4, 1\nNAME = 'x'\n\n\ndef f(é):\n    return é < LONG\n"
    (tmp_path / "m.py").write_text(good)
    made = []
    for mutant in script.mutants(tmp_path / "m.py", tmp_path):
        data = good.encode()
        made.append((data[: mutant.start] + mutant.text.encode() + data[mutant.end :]).decode())
    one = good.replace
    wanted = [
        one("2**4", "19"),
        one("2**4", "13"),
        one(", 1", ", 2"),
        one(", 1", ", 0"),
        one("<", "<="),
    ]
    assert made == wanted


def test_every_threshold_is_listed_and_has_a_comment():
    """If you change one, run python benchmarks/thresholds.py --page and give the reason in CHANGELOG.md.

    Red with: a number changed in the code alone; a constant without a comment (#:) above it.
    """
    path = ROOT / "benchmarks" / "thresholds.py"
    spec = importlib.util.spec_from_file_location("thresholds", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    with without_collections():
        page = script.page()
    assert page == (ROOT / "benchmarks" / "results" / "thresholds.txt").read_text()
    source = ["#: Seconds.", "LONG, FEW = (", "    1,", ")", "BARE = 2"]
    assert [script.has_comment(source, line) for line in (1, 2, 4)] == [True, True, False]


def test_the_page_of_words_has_the_stored_fits(tmp_path):
    """Red with: a page that lacks some K; seconds of a fit counted once for each of its rows."""
    stored = ROOT / "docs" / "internals" / "topic-words.md"
    page = Path(shutil.copy(stored, tmp_path))
    script = ROOT / "benchmarks" / "coherence.py"
    subprocess.run([sys.executable, script, "--page", page], check=True)
    assert page.read_text() == stored.read_text()
    lines = (ROOT / "benchmarks" / "results" / "coherence.jsonl").read_text().splitlines()
    rows = [row for row in map(json.loads, lines) if row["method"] != "sgmc, probable words"]
    seconds = sum(row["seconds"] for row in rows)
    assert f"{len(rows)} fits took {seconds:,.0f} processor seconds." in page.read_text()
    assert seconds < 3600
    assert {row["topics"] for row in rows} == {10, 22, 30, 50}
