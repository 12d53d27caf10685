"""Replication of topics: new runs on halves of the documents."""

import csv
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from pysgrld.cli import main, topics
from pysgrld.errors import CorpusError, MissingInputError, UsageError, WriteError
from pysgrld.models.protocol import CorpusFacts
from pysgrld.models.resolve import resolve
from pysgrld.options.option import Facts
from pysgrld.reading.find_runs import open_run
from pysgrld.reading.replicated import Replicated, can_replicate, read_replicated, write_replicated
from pysgrld.report import report
from pysgrld.report.sections.agreement import trust_by_replicates
from pysgrld.train.begin import begin_refinement
from pysgrld.train.halves import open_training_corpus, options_for_halves, train_halves
from pysgrld.train.replication import Replication, draw_half, replicate_topics, train_replicate

TRAIN = ["--min-df", "1", "--max-df", "1.0", "--stop-words", "none", "--exact-sweeps", "0"]
TRAIN += ["--holdout", "20", "--iterations", "150", "--set", "starts=1", "--threads", "1", "-q"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Texts of three subjects, whose words no other subject has."""
    rng, folder = np.random.default_rng(1), tmp_path_factory.mktemp("replication")
    lines = []
    for document in range(480):  # half of them must show three subjects
        words = rng.integers(0, 15, 25)
        lines.append(
            " ".join(f"{'abc'[document % 3]}word{'xyz'[w % 3] * (1 + w // 3)}" for w in words)
        )
    (folder / "corpus.txt").write_text("\n".join(lines) + "\n")
    return folder / "corpus.txt"


def trained(corpus, name, *options):
    out = corpus.with_name(name)
    done = CliRunner().invoke(main, ["train", str(corpus), "--out", str(out), *TRAIN, *options])
    assert done.exit_code == 0, done.output
    return out


def test_subjects_are_found_again_and_one_subject_split_in_two_is_not_always(corpus):
    """Red if topics are compared with themselves, or all runs have the same documents."""
    run = trained(corpus, "three", "-k", "3")
    replication = replicate_topics(open_run(run, 1), 3)
    assert replication.times_found.tolist() == [3, 3, 3]
    assert replication.correlation.min() > 0.9
    assert len(np.unique(replication.correlation[:, 0])) == 3  # of three samples of documents
    assert replication.overlap.min() > 0.5
    split = replicate_topics(open_run(trained(corpus, "six", "-k", "6"), 1), 3)
    assert split.correlation.mean() < replication.correlation.mean()


def test_chunks_of_a_document_are_in_the_same_half():
    """Red with: chunks drawn one by one, so that each replicate has a part of all long documents."""
    ids, wholes = np.arange(100, 160), np.arange(60) // 6
    times = np.bincount(draw_half(ids, wholes, [3], 0), minlength=160)[100:].reshape(10, 6)
    assert (times == times[:, :1]).all()
    assert times[:, 0].sum() == 5


def test_two_halves_have_all_documents_and_the_next_two_are_others():
    """Red with: documents drawn with replacement, or one permutation for all replicates."""
    ids = np.arange(100, 161)
    halves = [draw_half(ids, None, [3], number) for number in range(4)]
    for one, two in (halves[:2], halves[2:]):
        assert np.sort(np.concatenate([one, two])).tolist() == ids.tolist()
        assert abs(len(one) - len(two)) == 1
    assert halves[0].tolist() != halves[2].tolist()
    assert draw_half(ids[:1], None, [3], 1).tolist() == [100]


def test_halves_have_whole_documents(tmp_path):
    """Red with: chunks of each long document in both halves."""
    books, quick = tmp_path / "books", ["--algo", "ovb", "-k", "2", "--iterations", "3"]
    books.mkdir()
    rng = np.random.default_rng(5)
    for name in "abcdef":
        text = " ".join(f"word{i}." for i in rng.integers(0, 30, 600).tolist())
        (books / f"{name}.txt").write_text(text + "\n")
    quick += ["--max-df", "1.0", "--stop-words", "none", "--chunk", "100"]
    run = tmp_path / "run"
    done = CliRunner().invoke(main, ["train", str(books), "--out", str(run), "-q", *quick])
    assert done.exit_code == 0, done.output
    results = open_run(run, 1)
    corpus = open_training_corpus(results)
    folder = tmp_path / "halves"
    folder.mkdir()
    runs = train_halves(corpus, options_for_halves(results), folder, 1, 1)
    files = []
    for half in runs:
        about = open_run(half, 1).training_corpus().about
        files.append({origin.file for origin in about.origins(np.arange(about.documents))})
    assert len(files[0]) == len(files[1]) == 3
    assert not files[0] & files[1]


def test_a_topic_counts_as_found_from_the_least_correlation_on():
    """Red with another comparison than "at least"."""
    found = Replication(np.array([[0.7, 0.69], [0.9, 0.7]]), np.zeros((2, 2)))
    assert found.times_found.tolist() == [2, 1]
    assert found.runs == 2


def test_replicates_depend_on_the_run_and_their_number_alone(corpus):
    run = open_run(trained(corpus, "again", "-k", "3"), 1)
    two = replicate_topics(run, 2)
    assert (replicate_topics(run, 1).correlation == two.correlation[:1]).all()


def test_the_command_shows_every_topic(corpus):
    run = trained(corpus, "shown", "-k", "3")
    done = CliRunner().invoke(main, ["diagnose", str(run), "--replicate", "2", "--json", "-q"])
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    assert sorted(topic["id"] for topic in record["topics"]) == [0, 1, 2]
    assert [topic["found"] for topic in record["topics"]] == [2, 2, 2]
    shown = CliRunner().invoke(main, ["diagnose", str(run), "--replicate", "2"])
    assert shown.stdout.count("2 of 2") == 3
    assert "A run on as many new texts finds a topic about as often" in " ".join(
        shown.stdout.split()
    )
    wrong = CliRunner().invoke(main, ["diagnose", str(run), "--replicate", "2", "--burn-in", "9"])
    assert wrong.exit_code == 2
    assert "--replicate needs a single run" in wrong.stderr


def test_counts_of_replicates_are_stored_and_shown_with_the_topics(corpus, monkeypatch):
    """Topics, exports and the page show them, until the run is trained further.

    Red with: counts of another state of the run; counts that no command reads; a damaged file that is
    read, or that ends in a traceback; results that are lost if the counts cannot be stored.
    """
    run, file = (
        trained(corpus, "stored", "-k", "3"),
        corpus.with_name("stored") / "replication.json",
    )
    again = "sgmc diagnose stored --replicate 6"
    assert again in json.dumps(report(run).facts)
    with monkeypatch.context() as patch:
        patch.setattr(topics, "screen_rows", lambda: 40)
        assert topics.HINT in CliRunner().invoke(main, ["topics", str(run)]).stdout
    few = CliRunner().invoke(main, ["diagnose", str(run), "--replicate", "1"])
    assert "counts of fewer than 4 new runs are not stored" in few.stderr
    assert not file.exists()
    done = CliRunner().invoke(main, ["diagnose", str(run), "--replicate", "4"])
    assert f"counts are stored in {file}" in done.stderr
    assert json.loads(file.read_text())["found"] == [4, 4, 4]
    assert read_replicated(open_run(run, 1)) == Replicated(4, (4, 4, 4))
    assert read_replicated(open_run(run, 1), 1) is None
    write_replicated(open_run(run, 1), [6, 2, 1], 6)
    table = CliRunner().invoke(main, ["topics", str(run), "--json"])
    record = json.loads(table.stdout)
    assert record["replicates"] == 6
    assert {topic["id"]: topic["replicated"] for topic in record["topics"]} == {0: 6, 1: 2, 2: 1}
    shown = CliRunner().invoke(main, ["topics", str(run)])
    assert "new texts" in shown.stdout
    with monkeypatch.context() as patch:
        patch.setattr(topics, "screen_rows", lambda: 40)
        assert topics.HINT not in CliRunner().invoke(main, ["topics", str(run)]).stdout
    assert [f"{n} of 6" in shown.stdout for n in (6, 2, 1)] == [True] * 3
    assert "of 6 new runs, each on a random half of the documents" in " ".join(shown.stdout.split())
    facts = report(run).facts
    assert facts["replicates"] == 6
    assert [topic["found"] for topic in facts["topics"]] == [[6, 6], [2, 6], [1, 6]]
    states = [topic["trust"]["state"] for topic in facts["topics"]]
    assert states == ["again", "partly", "alone"]
    assert "1 of 3 topics found by nearly all of 6 new runs" in json.dumps(facts)
    assert again not in json.dumps(facts)
    out = corpus.with_name("tables")
    exported = CliRunner().invoke(main, ["export", str(run), "--to", "csv", "--out", str(out)])
    assert exported.exit_code == 0, exported.output
    with (out / "topics.csv").open() as lines:
        rows = [(row["replicated"], row["replicates"]) for row in csv.DictReader(lines)]
    assert rows == [("6", "6"), ("2", "6"), ("1", "6")]
    trained(corpus, "stored", "-k", "3", "--iterations", "170")
    assert read_replicated(open_run(run, 1)) is None
    assert "replicates" not in json.loads(
        CliRunner().invoke(main, ["topics", str(run), "--json"]).stdout
    )
    huge = f'{{"found": [1], "replicates": {"9" * 400}, "step": 1}}'
    for text in ("[]", "{}", '{"found": [1], "replicates": 0, "step": 1}', huge, "nonsense"):
        file.write_text(text)
        with pytest.raises(CorpusError, match="is not a record of replicates; move it"):
            read_replicated(open_run(run, 1))
    done = CliRunner().invoke(main, ["diagnose", str(run), "--replicate", "1", "--json"])
    assert done.exit_code == 65  # before the replicates are trained
    assert file.read_text() == "nonsense"
    file.unlink()

    def refuse(path):
        raise WriteError(f"{path}: no space left")

    monkeypatch.setattr("pysgrld.reading.replicated.open_output", refuse)
    done = CliRunner().invoke(main, ["diagnose", str(run), "--replicate", "4", "--json"])
    assert json.loads(done.stdout)["replicates"] == 4
    assert "topics, report and export will not show these counts" in done.stderr


def test_a_replicate_ends_with_gibbs_sweeps_if_the_run_may_have_them(corpus, monkeypatch):
    """Red with: replicates without a refinement, which find fewer topics than new texts do."""
    results = open_run(trained(corpus, "swept", "-k", "3"), 1)
    documents = results.training_corpus()
    ids = results.training_documents(documents)[:]
    facts = CorpusFacts(documents.words, documents.tokens)

    def mean(exact_sweeps, sweeps):
        options = replace(results.options, exact_sweeps=exact_sweeps)
        generator = np.random.default_rng(1)
        return train_replicate(documents, ids, options, generator, facts, 1, 60, sweeps=sweeps)

    plain = mean(0, 30)["phi"]
    assert (plain == mean("auto", 0)["phi"]).all()
    assert not np.allclose(plain, mean("auto", 30)["phi"], atol=1e-4)
    begun = []

    def begin(*arguments, sweeps):
        begun.append(sweeps)
        return begin_refinement(*arguments, sweeps=sweeps)

    monkeypatch.setattr("pysgrld.train.replication.begin_refinement", begin)
    refined = trained(corpus, "refined", "-k", "3", "--exact-sweeps", "20")
    replicate_topics(open_run(refined, 1), 2)
    assert begun == [20, 20]


@pytest.mark.parametrize(
    ("times", "state"), [(6, "again"), (5, "partly"), (2, "partly"), (1, "alone"), (0, "alone")]
)
def test_a_topic_is_judged_by_the_share_of_replicates(times, state):
    """Red with: 5 of 6 as all; 2 of 6 as none."""
    assert trust_by_replicates(times, 6).state == state


def test_counts_of_several_chains_are_not_stored(corpus):
    """Red with: counts for means over chains in the folder of one chain."""
    chains = trained(corpus, "chains", "-k", "3", "--chains", "2")
    done = CliRunner().invoke(main, ["diagnose", str(chains), "--replicate", "4"])
    assert "counts are not stored, because the run has several chains" in done.stderr
    assert not [*chains.rglob("replication.json")]
    write_replicated(open_run(chains / "chain-1", 1), [4, 4, 4], 4)
    assert read_replicated(open_run(chains / "chain-1", 1)) == Replicated(4, (4, 4, 4))
    assert read_replicated(open_run(chains, 1)) is None


def test_replicates_of_a_variational_approximation_end(corpus):
    """Red with: training until there is a sample, which never comes."""
    run = trained(corpus, "variational", "-k", "3", "--algo", "ovb")
    assert replicate_topics(open_run(run, 1), 1).correlation.max() > 0.7


@pytest.mark.parametrize(
    ("given", "can"),
    [
        ({"topics": 5}, True),
        ({"topics": 5, "algo": "hsvg"}, True),
        ({"layers": (5, 3)}, False),
        ({"model": "sam", "topics": 5}, False),
        ({"model": "dpmm"}, False),
    ],
)
def test_only_lda_can_be_replicated(given, can):
    """Red with: the page's advice for models that the command refuses."""
    options, _ = resolve(given, Facts(50, 100, 1000, 0, lambda *_: 100))
    assert can_replicate(options) == can


def test_what_replicates_need_is_named(corpus):
    mixture = SimpleNamespace(options=SimpleNamespace(model="dpmm", starts=None), path="mixture")
    with pytest.raises(UsageError, match="--replicate does not apply to --model dpmm"):
        replicate_topics(mixture, 1)
    run = trained(corpus, "gone", "-k", "3")
    for path in sorted((run / "corpus").iterdir()):
        path.unlink()
    (run / "corpus").rmdir()
    with pytest.raises(MissingInputError, match="--replicate cannot train on its documents"):
        replicate_topics(open_run(run, 1), 1)
