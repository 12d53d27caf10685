"""Chains that are read as one: what each topic's chains say of it together."""

import json
import re
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from pysgrld.chain.exact import split_by_chain
from pysgrld.cli import main
from pysgrld.corpus import store
from pysgrld.evaluate.convergence import convergence
from pysgrld.evaluate.matching import Matched
from pysgrld.reading.find_runs import open_run
from pysgrld.reading.infer import infer, interval_steps
from pysgrld.reading.intervals import bounds
from pysgrld.reading.pooled import PooledResults
from pysgrld.reading.topics import topics_of

K = 4
#: Chains that have each topic in most tests here, and the rows that it has there.
HAS = np.array([[1, 1, 1, 1], [1, 0, 1, 0], [1, 0, 0, 1]], bool)
ROWS = np.array([[0, 1, 2, 3], [2, 3, 0, 1], [1, 0, 3, 2]])
TRAIN = (
    "--chains",
    "3",
    "-k",
    "4",
    "--iterations",
    "12",
    "--exact-sweeps",
    "200",
    "--holdout",
    "6",
)


def run(*args):
    said = CliRunner().invoke(main, [str(a) for a in args])
    assert said.exit_code == 0, said.output
    return said


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three chains that were trained for a moment, on documents of four themes."""
    place, rng = tmp_path_factory.mktemp("chains"), np.random.default_rng(3)
    lines = [
        {"id": f"d{n}", "text": " ".join(f"w{w}" for w in rng.integers(0, 8, 15) + 6 * (n % 4))}
        for n in range(60)
    ]
    (place / "corpus.jsonl").write_text("\n".join(map(json.dumps, lines)))
    run("train", place / "corpus.jsonl", *TRAIN, "--out", place / "run", "-q")
    return place / "run"


@pytest.fixture
def pooled(folder):
    """These chains, matched as `HAS` and `ROWS` say."""
    found = open_run(folder, 1)
    assert isinstance(found, PooledResults)
    found._matched[0] = Matched(ROWS, np.ones((3, 3, K)), HAS)
    return found


def documents_of(pooled):
    corpus = pooled.training_corpus()
    return corpus.take(np.arange(30)), np.arange(30)


def test_the_corpus_shares_the_words_of_its_run(pooled):
    """Red with: a second tuple of the same words, which takes 200 MB for three million."""
    store._last_words.clear()
    chain = pooled.chains[0]
    words = chain.run.vocabulary
    assert chain.training_corpus().vocabulary is words
    store._last_words.clear()
    store.remember_words("1", (*words, words[0]))
    store.remember_words("2", (*words, ""))
    assert not store._last_words


def test_topics_are_means_of_the_chains_that_have_them(pooled):
    """Red with: means over all chains; rows of the first chain."""
    phis = [chain.phi()[:, :K] for chain in pooled.chains]
    for k in range(K):
        own = [phi[:, ROWS[c, k]] for c, phi in enumerate(phis) if HAS[c, k]]
        np.testing.assert_allclose(pooled.phi()[:, k], np.mean(own, axis=0), rtol=1e-6)
    shares = [chain.weights() for chain in pooled.chains]
    means = np.array(
        [np.mean([shares[c][ROWS[c, k]] for c in np.flatnonzero(HAS[:, k])]) for k in range(K)]
    )
    np.testing.assert_allclose(pooled.weights(), means / means.sum())
    assert pooled.found_by().tolist() == [3, 1, 2, 2]


def test_words_have_bounds_of_the_draws_of_these_chains(pooled):
    """Red with: draws of the first chain alone; bounds that forget how few chains there are."""
    words = pooled.top(5)
    found = pooled.word_intervals(words)
    for k in range(K):
        chains = [
            np.stack(
                [chain.topics_of_sample(step, 0)[ROWS[c, k], words[k]] for step in chain.kept()]
            )
            for c, chain in enumerate(pooled.chains)
            if HAS[c, k]
        ]
        least = min(map(len, chains)) // 4
        apart = np.concatenate([split_by_chain(each)[:, :least] for each in chains])
        low, high = bounds(np.concatenate(chains), convergence(apart).bulk)
        np.testing.assert_allclose(found.low[k], low, rtol=1e-6)
        np.testing.assert_allclose(found.high[k], high, rtol=1e-6)
    alone = pooled.chains[0].word_intervals(words)
    np.testing.assert_array_equal(found.low[1], alone.low[1])


def test_documents_are_drawn_by_the_chains_in_turn(pooled):
    """Red with: a topic drawn by a chain that has it not; draws that do not sum to 1."""
    documents, ids = documents_of(pooled)
    steps = pooled.draw_steps(24)
    drawn = pooled.document_draws(documents, ids, steps)
    np.testing.assert_allclose(drawn.theta.sum(axis=2), 1.0, atol=1e-5)
    np.testing.assert_allclose(
        drawn.tokens.sum(axis=2), np.tile(documents.lengths, (len(steps), 1)), rtol=1e-5
    )
    # topic 1 is the first chain's alone: what it has beside topic 0 in a draw of that chain
    number = len(steps)
    own = [chain.draw_steps(number) for chain in pooled.chains]
    whole = pooled.chains[0].document_draws(documents, ids, own[0])
    turn = [[0, 1, 2][(s + s // 3) % 3] for s in range(number)]
    second = [[0, 2][(s + s // 2) % 2] for s in range(number)]
    third = [[0, 1][(s + s // 2) % 2] for s in range(number)]
    s = next(s for s in range(number) if turn[s] == 0 and second[s] == 0 and third[s] == 0)
    np.testing.assert_allclose(drawn.theta[s], whole.theta[s], rtol=1e-5)
    assert {tuple(t) for t in zip(turn, third, second, strict=True)} > {(0, 0, 0)}


def test_topics_are_drawn_by_the_chains_in_turn(pooled):
    """Red with: rows of the first chain."""
    steps = pooled.draw_steps(20)
    own = [chain.draw_steps(20) for chain in pooled.chains]
    for s, phi in enumerate(pooled.topic_draws(steps)):
        for k in range(K):
            has = np.flatnonzero(HAS[:, k])
            c = has[(s + s // len(has)) % len(has)]
            expected = pooled.chains[c].topics_of_sample(own[c][s], 0)[ROWS[c, k]]
            np.testing.assert_array_equal(phi[k], expected)


def test_one_chain_that_has_all_is_as_if_alone(folder):
    """Chains after it that have nothing change nothing."""
    found = open_run(folder, 1)
    has = np.zeros((3, K), bool)
    has[0] = True
    found._matched[0] = Matched(ROWS, np.ones((3, 3, K)), has)
    documents, ids = documents_of(found)
    steps, first = found.draw_steps(20), found.chains[0]
    one, all_ = (r.document_draws(documents, ids, steps) for r in (first, found))
    np.testing.assert_allclose(all_.theta, one.theta, rtol=1e-5)
    np.testing.assert_allclose(
        found.proportions(documents, ids), first.proportions(documents, ids), rtol=1e-12
    )
    np.testing.assert_allclose(found.share_sizes(), first.share_sizes())


def test_new_documents_are_means_over_the_chains(pooled):
    """Red with: the first chain's; rows that do not sum to 1."""
    documents, ids = documents_of(pooled)
    each = [chain.proportions(documents, ids) for chain in pooled.chains]
    mean = np.stack(
        [
            np.mean([each[c][:, ROWS[c, k]] for c in np.flatnonzero(HAS[:, k])], axis=0)
            for k in range(K)
        ],
        axis=1,
    )
    (block,) = infer(pooled, [documents])
    np.testing.assert_allclose(block.theta, mean / mean.sum(axis=1, keepdims=True))
    (block,) = infer(pooled, [documents], steps=interval_steps(pooled, 40))
    assert ((block.low <= block.theta) & (block.theta <= block.high)).mean() > 0.9


def test_the_command_tells_both_statements(folder, tmp_path):
    """Red with: the folder taken for its first chain."""
    said = run("topics", folder)
    assert "of each of 3 chains" in said.output
    assert " of 3" in said.output.split("NPMI")[1]
    shown = json.loads(run("topics", folder, "--json").stdout)
    assert shown["chains"] == 3
    assert all(1 <= topic["found"] <= 3 for topic in shown["topics"])
    alone = json.loads(run("topics", folder / "chain-2", "--json").stdout)
    assert "chains" not in alone
    assert all("found" not in topic for topic in alone["topics"])
    said = run("infer", folder, folder.parent / "corpus.jsonl", "-o", tmp_path / "i.csv")
    assert "3 chains: each topic is the mean of the chains that have it" in said.stderr
    rows = np.loadtxt(tmp_path / "i.csv", delimiter=",", skiprows=1, usecols=range(1, K + 1))
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-5)


def test_a_chain_without_a_checkpoint_is_left_out(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "chain-3" / "checkpoints")
    said = run("topics", tmp_path / "run", "--json")
    assert "chain-3: has no readable checkpoint and is ignored" in said.stderr
    assert json.loads(said.stdout)["chains"] == 2


def test_words_whose_draws_are_worth_little_are_marked(folder):
    """Red with: no mark; a mark of words whose draws are worth enough."""
    alone = open_run(folder / "chain-1", 1)
    words = [word for topic in topics_of(alone, 10, intervals=True) for word in topic.words]
    exact = alone.word_intervals(alone.top(10))
    assert np.isfinite(exact.ess).all()
    assert {word.ess for word in words} == set(exact.ess.ravel().tolist())
    rough = [word for word in words if word.rough]
    assert 0 < len(rough) < len(words)
    assert max(word.ess for word in rough) < 100 <= max(word.ess for word in words)
    said = run("topics", folder / "chain-1", "--intervals").output
    assert len(re.findall(r"\(\d+\)$", said, re.MULTILINE)) == len(rough)
    assert "In brackets: effective sample size of a word" in said
    shown = json.loads(run("topics", folder / "chain-1", "--json").stdout)
    assert shown["topics"][0]["words"][0]["ess"] > 2
