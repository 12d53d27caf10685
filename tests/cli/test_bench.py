"""`sgmc bench`: structure of its results, and its refusals. Never how fast anything is."""

import json
import sys
from pathlib import Path

import pytest
from faults.ranks import MPIEXEC

from pysgrld.experiments.bench.end_to_end import timings

pytestmark = pytest.mark.cli

GROUPS = ["documents", "rows", "directions", "draws", "reading", "training"]


@pytest.fixture
def measured(benched):
    command, done = benched
    return command, json.loads(done.stdout)


def test_every_group_has_figures_and_the_machine_is_named(measured):
    _, found = measured
    assert list(dict.fromkeys(row["group"] for row in found["rows"])) == GROUPS
    for row in found["rows"]:
        assert 0 < row["low"] <= row["value"] <= row["high"], row
    names = [(row["group"], row["name"]) for row in found["rows"]]
    assert len(set(names)) == len(names)
    assert found["quick"] is True
    assert "family unknown" not in found["machine"]["cpu"]
    for name in ("date", "cpu", "isa", "threads", "compiler", "pysgrld", "python", "numpy"):
        assert found["machine"][name]


def test_the_file_holds_what_is_printed(measured):
    command, found = measured
    assert json.loads((command.folder / "first.json").read_text()) == found


def test_a_file_that_is_there_is_not_replaced(measured):
    command, _ = measured
    done = command("bench", "--quick", "-o", "first.json", code=73)
    assert done.stderr.count("\n") == 1


def test_compare_gives_a_ratio_for_every_row_that_both_have(measured, quarter):
    command, found = measured
    old = json.loads(json.dumps(found))
    for row in old["rows"]:
        row["value"] *= 2.0
    gone = old["rows"].pop()
    (command.folder / "old.json").write_text(json.dumps(old))
    done = command("bench", "--quick", "--corpus", quarter, "--compare", "old.json")
    lines = [line for line in done.stdout.splitlines() if line.startswith("  ")]
    assert len(lines) == len(found["rows"])
    assert all(" x " in line for line in lines[:-1])
    assert lines[-1].endswith("(new)")
    assert gone["name"] in lines[-1]


def test_speedups_know_that_less_time_and_more_tokens_are_faster():
    """Red with: a list of the units of time, which lacks one."""
    from pysgrld.experiments.bench.results import speedups

    def results(time, rate):
        return {
            "rows": [
                {"group": "a", "name": "time", "unit": "ns/draw", "value": time},
                {"group": "a", "name": "rate", "unit": "tokens/s", "value": rate},
                {"group": "b", "name": "time", "unit": "us/document", "value": time},
            ]
        }

    ratios = speedups(results(5.0, 30.0), results(10.0, 10.0))
    assert ratios == {("a", "time"): 2.0, ("a", "rate"): 3.0, ("b", "time"): 2.0}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        "{}",
        '{"schema": 1}',
        '{"schema": 1, "rows": [{}]}',
        '{"schema": 99, "rows": []}',
        '{"schema": 1, "rows": 3}',
        "\0\xff",
        '{"schema": 1, "rows": [{"group": "a", "name": "b", "unit": "c", "value": 0.0}]}',
    ],
)
def test_a_file_that_is_no_bench_is_refused_before_anything_is_timed(sgmc, text):
    (sgmc.folder / "old.json").write_text(text)
    done = sgmc("bench", "--compare", "old.json", code=65)
    assert done.stderr.startswith("sgmc: error: old.json: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("option", ["--compare", "--corpus"])
def test_a_missing_file_is_said(sgmc, option):
    done = sgmc("bench", "--quick", option, "not-there", code=66)
    assert done.stderr.startswith("sgmc: error: not-there: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    # one that is here, and one that may not be
    "isa",
    ["baseline", pytest.param("avx2", marks=pytest.mark.nightly), "avx512"],
)
def test_an_instruction_set_is_used_or_refused(sgmc, isa):
    from pysgrld.core import core

    if isa in core.available_isas():
        done = sgmc("bench", "--quick", "--isa", isa, "--json")
        assert json.loads(done.stdout)["machine"]["isa"] == isa
    else:
        assert sgmc("bench", "--isa", isa, code=2).stderr.count("\n") == 1


def test_an_unknown_instruction_set_is_wrong_usage():
    from pysgrld.errors import UsageError
    from pysgrld.experiments.bench.timing import use_isa

    with pytest.raises(UsageError, match=r"there are: .*baseline"):
        use_isa("mmx")


def test_the_bible_is_found_beside_the_package_or_in_the_folder_at_hand(monkeypatch, tmp_path):
    """Without it training is left out. Red with: the parent of the module's own folder."""
    from pysgrld.experiments.bench import end_to_end

    bibles = [tmp_path / root / "data" / "docword.bible.txt.gz" for root in ("site", "here")]
    for bible in bibles:
        bible.parent.mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    module = (tmp_path / "site").joinpath(*end_to_end.__name__.split(".")).with_suffix(".py")
    monkeypatch.setattr(end_to_end, "__file__", str(module))
    assert end_to_end.bundled_corpus() is None
    for bible in reversed(bibles):
        bible.touch()
        assert end_to_end.bundled_corpus() == bible


@pytest.mark.skipif(not MPIEXEC.exists(), reason="no mpiexec of the mpich wheel here")
def test_ranks_measure_together_and_model_other_numbers(sgmc):
    """Red with: a rank that measures more minibatches than another; what every rank prints."""
    bench = "bench", "--mpi", "--quick", "--json", "-k", "4", "--minibatch", "10"
    sgmc.command = MPIEXEC, "-n", "2", sys.executable, "-m", "pysgrld"
    (sgmc.folder / "corpus.txt").write_text("red blue green\nblue white black\n" * 30)
    found = json.loads(sgmc(*bench, "--corpus", "corpus.txt").stdout)
    assert (found["ranks"], found["nodes"], found["corpus"]["topics"]) == (2, 1, 4)
    assert [line["minibatch"] for line in found["model"]] == [10, 20]
    assert len(found["rows"]) == 1 + 2 + 2 * 5
    (sgmc.folder / "there.json").touch()
    refused = sgmc(*bench, "-o", "there.json", code=73).stderr
    assert refused.count("sgmc: error") == 1
    sgmc.command = sys.executable, "-m", "pysgrld"
    assert "mpiexec -n 2 sgmc bench --mpi" in sgmc(*bench, code=64).stderr


@pytest.mark.parametrize(("most", "wanted"), [(1, ["1"]), (3, ["1", "2", "3"])])
def test_training_is_timed_by_as_many_threads_as_are_asked_for(most, wanted, tmp_path):
    """Red with: all of a machine that others use, too."""
    source = Path(__file__).parents[1] / "data" / "docword.tiny.txt"
    names = [timing.name for timing in timings(True, source, tmp_path, most)]
    assert [name.split()[-2] for name in names if name.startswith("scir")] == wanted


def test_threads_are_no_ranks(sgmc):
    assert (
        "--threads cannot be combined with --mpi"
        in sgmc("bench", "--mpi", "--threads", "2", code=2).stderr
    )
