"""Replication of topics: new runs on halves of the documents."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from pysgrld.cli import main
from pysgrld.errors import MissingInputError, UsageError
from pysgrld.reading.find_runs import open_run
from pysgrld.train.halves import open_training_corpus, options_for_halves, train_halves
from pysgrld.train.replication import Replication, draw_half, replicate_topics

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
    assert "In tests, training on new texts found topics at least as often" in " ".join(
        shown.stdout.split()
    )
    wrong = CliRunner().invoke(main, ["diagnose", str(run), "--replicate", "2", "--burn-in", "9"])
    assert wrong.exit_code == 2
    assert "--replicate needs a single run" in wrong.stderr


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
