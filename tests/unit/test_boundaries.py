"""Numbers that decide what people get, on both sides of where each decides: defaults and limits.

Changed by a fifth, or with < for <=, each turns a test here red (benchmarks/thresholds.py).
"""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from pysgrld.chain.exact import ExactPlan
from pysgrld.cli import main, slurm
from pysgrld.core import core
from pysgrld.corpus import CorpusOptions
from pysgrld.corpus.formats.counts import wrong_count
from pysgrld.corpus.stopwords import likeliest, named, warned_of_letters, warned_of_script
from pysgrld.corpus.vocabulary import Rules
from pysgrld.effects.design import _column
from pysgrld.errors import CorpusError, NoProgressError, UsageError
from pysgrld.evaluate.convergence import convergence
from pysgrld.models.resolve import resolve
from pysgrld.models.short_chain_number import affordable_starts, default_max_starts
from pysgrld.options.option import Facts
from pysgrld.options.parse import widths
from pysgrld.options.priors import usual_topics
from pysgrld.options.word_files import seed_words
from pysgrld.reading import use
from pysgrld.reading.infer import PART, SHARED_PART
from pysgrld.reading.intervals import bounds
from pysgrld.reading.labels import read_labels
from pysgrld.run import RunDirectory
from pysgrld.run.choose import refuse_endless_starts
from pysgrld.run.machine import Threads, login_node
from pysgrld.run.tensors import describe, encode, view
from pysgrld.samplers import SAMPLERS
from pysgrld.samplers.log_rows import RowsOrLogs
from pysgrld.samplers.scir import ScirSettings
from pysgrld.samplers.seeds import start_at_seeds
from pysgrld.samplers.state import Counts
from pysgrld.search import rounds
from pysgrld.train.plan import _remarks
from pysgrld.types import Block, Key, Seeds

KEY = Key(1, 0, 0)
FACTS = Facts(20_000, 8_000, 2_000_000, 0, lambda size, seed: 4_000)


def defaults(**given):
    return resolve({name.replace("_", "-"): v for name, v in given.items()}, FACTS)[0]


# ---- defaults that the docs state


def test_a_vocabulary_is_pruned_as_documented():
    found = Rules.of(CorpusOptions(), built=True)
    assert (found.stop_words, found.numbers) == ("english", "years")
    assert (found.min_df, found.max_df, found.max_vocab) == (2, 0.5, 100_000)


@pytest.mark.parametrize(
    ("tokens", "topics"), [(1, 5), (5_000, 5), (250_000, 50), (4_000_000, 200), (10**9, 200)]
)
def test_the_number_of_topics_follows_the_tokens_between_5_and_200(tokens, topics):
    assert usual_topics(tokens) == topics


def test_models_have_the_defaults_of_their_pages():
    """docs/deep-lda.md, docs/spherical.md, docs/mixture.md and docs/choosing-a-sampler.md."""
    assert defaults(model="dlda").layers == (100,)
    sam = defaults(model="sam")
    assert (sam.topics, sam.alpha) == (20, 1.0)
    of_words = np.array([sam.kappa, sam.sigma, sam.kappa0]) / FACTS.words
    assert of_words.tolist() == [6.0, 2.0, 2.0]
    assert defaults(model="dpmm").eta == 0.5
    assert defaults(corpus_size=10**6, iterations=5).shuffle_buffer == 10_000


@pytest.mark.parametrize(
    ("words", "tokens", "topics", "number"),
    [
        (10_000, 2_000_000, 100, 16),
        (10_001, 2_000_000, 100, 1),
        (10_000, 2_000_001, 100, 1),
        (3_000, 2_000_000, 256, 16),
        (3_000, 2_000_000, 257, 15),  # of 4,096 topics in all
        (400, 2_000_000, 2048, 2),
        (400, 2_000_000, 2049, 1),
    ],
)
def test_short_chains_come_first_up_to_limits_of_tokens_cells_and_topics_of_all(
    words, tokens, topics, number
):
    """Red with: clusters of 16 K topics, whatever K is."""
    assert default_max_starts(topics, words, tokens) == number


def test_short_chains_take_no_more_than_a_tenth_of_an_expected_run():
    """Red with: as many chains, whatever they cost; one chain, which has no clusters."""
    each = 60 * (100_000 + 0.4 * 500_000)  # of as many token visits
    assert affordable_starts(16, 100_000, 500_000, 50, 100_000) == int(0.1 * 6000 * 100_000 / each)
    assert affordable_starts(16, 100_000, 500_000, 50, 10**7) == 16
    assert affordable_starts(16, 100_000, 500_000, 50, 20_000) == 1
    facts = FACTS._replace(documents=1000, words=2000, tokens=100_000)
    few = resolve({"topics": 100, "sweeps": 200, "minibatch": 1000}, facts)[0].starts
    assert few < resolve({"topics": 20}, facts)[0].starts
    assert resolve({"topics": 100, "starts": 12}, facts)[0].starts == 12


# ---- limits of what is typed


def test_a_model_has_at_most_eight_layers():
    assert widths("9,8,7,6,5,4,3,2") == (9, 8, 7, 6, 5, 4, 3, 2)
    with pytest.raises(UsageError, match="9 layers; the maximum is 8"):
        widths("9,8,7,6,5,4,3,2,1")


def test_a_name_has_at_most_200_letters(tmp_path):
    path = tmp_path / "labels.json"
    path.write_text(json.dumps({"0": "x" * 200}))
    assert read_labels(path, 1)[0].name == "x" * 200
    path.write_text(json.dumps({"0": "x" * 201}))
    with pytest.raises(CorpusError, match="201 characters; the maximum is 200"):
        read_labels(path, 1)
    assert seed_words({"x" * 200: ["word"]})
    with pytest.raises(UsageError, match="200"):
        seed_words({"x" * 201: ["word"]})


@pytest.mark.parametrize(("seconds", "fits"), [("10m", True), ("599s", False)])
def test_a_job_lasts_ten_minutes_at_least_and_is_warned_three_before_its_end(
    tmp_path, seconds, fits
):
    script = tmp_path / "job.sh"
    typed = ["slurm", "--time", seconds, "-o", str(script), "--", "train", "x", "--out", "y"]
    done = CliRunner().invoke(main, typed)
    assert (done.exit_code == 0) == fits, done.output
    assert not fits or "--signal=USR1@180 " in script.read_text()


def test_an_array_that_is_stored_has_at_most_eight_axes(tmp_path):
    arrays = {"a": np.zeros((1,) * 8)}
    assert describe(arrays)["a"]["shape"] == [1] * 8
    (tmp_path / "a.safetensors").write_bytes(b"".join(encode(arrays)))
    assert view(tmp_path / "a.safetensors")["a"].ndim == 8
    with pytest.raises(ValueError, match="of 9 axes cannot be stored"):
        describe({"a": np.zeros((1,) * 9)})


@pytest.mark.parametrize(
    ("jobs", "fits", "told"),
    [pytest.param(1000, 1, 0, marks=pytest.mark.nightly), (1001, 1, 1), (100_001, 0, 0)],
)
def test_an_array_has_at_most_100000_jobs_and_is_remarked_on_above_1000(
    jobs, fits, told, tmp_path, monkeypatch
):
    # tests/cli/test_slurm.py has commands that are checked, which takes a hundredth of a second each
    monkeypatch.setattr(slurm, "_check", lambda *_, **__: [])
    script = str(tmp_path / "job.sh")
    typed = ["slurm", "--time", "1h", "--array", str(jobs), "-o", script, "--", "train", "x"]
    done = CliRunner().invoke(main, [*typed, "--seed", "{i}", "--out", "y{i}"])
    assert (done.exit_code == 0) == fits, done.output
    assert ("MaxArraySize" in done.output) == told
    assert fits or "from 1 to 100000" in done.output


@pytest.mark.parametrize("strict", [True, False])
def test_a_count_is_at_most_2147483647(strict):
    assert wrong_count(b"2147483647", strict) == ""
    assert "is above 2147483647" in wrong_count(b"2147483648", strict)
    assert wrong_count(b"2147483647.0", False) == ""
    assert "is above 2147483647" in wrong_count(b"2147483648.0", False)


def test_a_document_has_at_most_2147483647_tokens(tmp_path):
    (tmp_path / "vocab.x.txt").write_text("a\nb\n")
    path = tmp_path / "docword.x.txt"
    head = "2\n2\n3\n1 1 2147483647\n2 1 2147483646\n"
    for last, fits in ((1, True), (2, False)):
        path.write_text(f"{head}2 2 {last}\n")
        typed = ["corpus", "build", str(path), "--min-df", "1", "--max-df", "1.0"]
        done = CliRunner().invoke(main, [*typed, "-o", str(tmp_path / f"c{last}")])
        assert (done.exit_code == 0) == fits, done.output
        assert fits or "document 2 has 2147483648 tokens" in done.output


# ---- what a sampler does


@pytest.mark.parametrize(("topics", "sweeps"), [(128, 10), (129, 20)])
def test_documents_are_swept_twice_as_often_above_128_topics(topics, sweeps):
    assert defaults(topics=topics).sweeps == sweeps


@pytest.mark.parametrize(("draws", "known"), [(4, True), (3, False)])
def test_chains_are_compared_from_four_draws_on(draws, known):
    found = convergence(np.random.default_rng(0).normal(size=(2, draws, 1)))
    assert np.isfinite(found.rhat).all() == known


@pytest.mark.parametrize(("sweep", "rest"), [(400, True), (399, False)])
def test_exact_chains_are_at_rest_after_400_sweeps(sweep, rest):
    assert ExactPlan(begun=10, sweep=sweep, sweeps=1000, burn_in=100, every=10).converged == rest


@pytest.mark.parametrize(("eta", "logs"), [(0.01, False), (0.0099, True)])
def test_topics_are_kept_in_logarithms_below_an_eta_of_a_hundredth(eta, logs):
    form = SimpleNamespace(logs="logarithms")
    chosen = RowsOrLogs.form.__func__(form, SimpleNamespace(prior=eta))
    assert (chosen == "logarithms") == logs


def test_few_effective_draws_are_never_taken_for_fewer_than_two_and_a_half():
    """With fewer an interval would be as wide as nothing that is known justifies."""
    values = np.random.default_rng(0).normal(10.0, 1.0, (40, 1))
    ends = [bounds(values, np.array([n])) for n in (0.1, 2.5, 2.6)]
    assert ends[0] == ends[1]
    assert ends[1][0] < ends[2][0] < ends[2][1] < ends[1][1]
    factor = np.sqrt((1 + 1 / 2.5) / (1 - 1 / 2.5))
    low, high = bounds(values)
    np.testing.assert_allclose(ends[1][1] - ends[1][0], factor * (high - low))


@pytest.mark.parametrize(("levels", "fits"), [(100, True), (101, False)])
def test_a_category_of_an_effect_has_at_most_100_values(levels, fits):
    values = np.array([f"v{i}" for i in range(levels)], object)
    if fits:
        assert len(_column("party", values).cat.categories) == levels
    else:
        with pytest.raises(
            UsageError, match="101 different texts, but a category may have at most 100"
        ):
            _column("party", values)


def test_a_round_of_a_search_is_sure_by_95_per_cent():
    found = rounds.bounds(0.5, np.linspace(0.0, 1.0, 1001))
    np.testing.assert_allclose((found.low, found.high), (0.025, 0.975))


def test_a_part_has_a_million_documents_and_fifty_thousand_where_parts_are_shared():
    """As `sgmc infer --help` and docs/documents.md say."""
    help = CliRunner().invoke(main, ["infer", "--help"]).output
    assert "[1000000; with --part" in " ".join(help.split())
    assert (PART, SHARED_PART) == (10**6, 50_000)


def block(words, topics=3, **given):
    return Block("phi", "simplex", (words, topics), 0.05, 0, 500.0, **given)


@pytest.mark.parametrize(("least", "all_rows"), [(999.0, True), (1000.0, False)])
def test_lazy_rows_are_all_stepped_while_a_topic_is_below_a_thousand(least, all_rows):
    """Below it their sums are known to three per cent only."""
    settings = ScirSettings(lazy="on")
    state = SAMPLERS["scir"].start(KEY, block(50, sparse=True, settings=settings), 1)
    state = state.end_warm_up()
    state.sums[:3] = (least, 5000.0, 5000.0)
    state.now += 1.0
    state.catch_up(Key(1, 0, 1), np.array([4], np.int32))
    assert (state.missed_step_sizes() == 0).sum() == (50 if all_rows else 1)


def test_a_chain_begins_with_a_hundredth_of_a_seeded_word_in_other_topics():
    g = np.ones((4, 16), np.float32)
    seeds = Seeds(np.array([2], np.int32), np.array([[5.0, 0.0, 0.0]]))
    start_at_seeds(seeds, g, None)
    np.testing.assert_allclose(g[2, :3], [6.0, 0.01, 0.01])
    state = SAMPLERS["scir"].start(KEY, block(4)._replace(seeds=seeds), 1)
    np.testing.assert_allclose(state.sums[:3], state.g[:, :3].sum(axis=0), rtol=1e-6)


def test_topics_of_the_natural_rate_begin_at_their_scale():
    """V eta. Red with: sums of before."""
    settings = ScirSettings("natural")
    state = SAMPLERS["scir"].start(KEY, block(400)._replace(settings=settings), 1)
    state = state.end_warm_up()
    np.testing.assert_allclose(state.sums[:3], state.g[:, :3].sum(axis=0), rtol=1e-6)
    np.testing.assert_allclose(state.sums[:3], 400 * 0.05, rtol=1e-6)


def test_variational_topics_begin_near_one_with_a_deviation_of_a_tenth():
    """Gamma(100) / 100, as Hoffman's own code."""
    state = SAMPLERS["ovb"].start(KEY, block(20_000), 1)
    np.testing.assert_allclose(state.g[:, :3].mean(), 1.0, atol=0.002)
    np.testing.assert_allclose(state.g[:, :3].std(), 0.1, rtol=0.02)


@pytest.mark.parametrize(("h", "goes"), [(1e9, 1.9), (1e-3, 1e-3 * 2)])
def test_a_step_of_tlasgr_goes_at_most_1_9_of_the_way(h, goes, monkeypatch):
    """Beyond 2 it would diverge. Of a topic whose counts are all its scale, h is what it goes of it."""
    asked = {}
    monkeypatch.setattr(core, "simplex_tlasgr", lambda **given: asked.update(given))
    state = SAMPLERS["tlasgr"].start(KEY, block(40, 1), 1).end_warm_up()
    counts = np.zeros((1, 16), np.int64)
    counts[0, 0] = 2
    state.step(Key(1, 0, 5), Counts(np.zeros(1, np.int32), counts, 1.0, 2.0), h)
    assert asked["steps"][0] * (2.0 + 40 * 0.05) == pytest.approx(goes)


def walks(slices, words=6):
    shape = (words * slices, 2)
    return Block("phi", "walk", shape, 0.0, 0, 500.0, hyper=(0.3, 1.0), sparse=True, copies=slices)


@pytest.mark.parametrize(("slices", "length"), [(1, 0.5), (27, 0.85 / 3)])
def test_accepted_steps_of_words_that_walk_are_shorter_for_more_slices(slices, length, monkeypatch):
    asked = {}

    def accept(**given):
        asked.update(given)
        return np.zeros(16, np.int64)

    monkeypatch.setattr(core, "walk_accept", accept)
    state = SAMPLERS["mala"].start(KEY, walks(slices), 1)
    rows = np.zeros(1, np.int32)
    state.step(Key(1, 0, 1), Counts(rows, np.zeros((1, 16), np.int64), 1.0), 1.0)
    assert asked["h"] == pytest.approx(length)


def test_words_that_another_chain_did_not_have_begin_with_half_a_count():
    state = SAMPLERS["mala"].start(KEY, walks(1), 1)
    state.start_from_counts(KEY, np.array([[7.5, 1.0], [0.5, 1.0]]))
    phi = state.rows()[:, :2]
    np.testing.assert_allclose(phi[:, 0] / phi[-1, 0], [16.0, 2.0, 1, 1, 1, 1], rtol=1e-5)


# ---- when a person is told


@pytest.mark.parametrize(("threads", "told"), [(8, False), (9, True)])
def test_more_than_eight_threads_are_remarked_on_on_a_login_node(threads, told, tmp_path):
    (tmp_path / "sbatch").touch(mode=0o755)
    line = login_node(Threads(threads, "CPU affinity"), {"PATH": str(tmp_path)})
    assert (line is not None) == told


@pytest.mark.parametrize(("starts", "refused"), [(1, False), (2, True)])
def test_the_third_start_without_progress_is_refused(starts, refused, tmp_path):
    run = RunDirectory.create(tmp_path / "run", {"options": {}}, ["a"])
    with run.lock():
        for _ in range(starts):
            run.log_event("started", step=0)
    if refused:
        with pytest.raises(NoProgressError, match="the last 2 starts"):
            refuse_endless_starts(run, 0)
    else:
        refuse_endless_starts(run, 0)


def told(documents, tokens, topics, held=(20, 500)):
    number, of = held
    options = SimpleNamespace(
        model="lda",
        settings=SimpleNamespace(plain=dict),
        widths=[topics],
        depth=1,
        starts=1,
        seed_words=None,
    )

    class Part(SimpleNamespace):
        def __len__(self):
            return number

    facts = FACTS._replace(documents=documents, tokens=tokens)
    held_out = SimpleNamespace(held_out=Part(tokens=of))
    said = " ".join(m.text for m in _remarks(options, {}, facts, documents, held_out))
    return "to find reliable topics" in said, "too few to compare models" in said


def test_a_corpus_is_too_small_below_300_tokens_a_topic_or_a_document_each():
    assert told(1_000, 3_000, 10) == (False, False)
    assert told(1_000, 2_999, 10) == (True, False)
    assert told(9, 30_000, 10) == (True, False)
    assert told(10, 30_000, 10) == (False, False)


def test_few_held_out_documents_are_told_of_below_20_and_500_tokens():
    assert told(1_000, 3_000, 10, (20, 500)) == (False, False)
    assert told(1_000, 3_000, 10, (19, 500)) == (False, True)
    assert told(1_000, 3_000, 10, (20, 499)) == (False, True)


def test_a_language_needs_four_words_of_its_list_to_be_named():
    some = sorted(named("german"))[:4]
    assert likeliest(some, np.full(4, 10))[0] == "german"
    assert likeliest([*some[:3], "haus"], np.full(4, 10)) is None


@pytest.mark.parametrize(("count", "warned"), [(30, True), (29, False)])
def test_a_script_is_told_of_from_three_tenths_of_the_tokens(count, warned):
    tokens = np.array([count, 100 - count])
    assert (warned_of_script(["하늘이", "sky"], tokens) is not None) == warned


@pytest.mark.parametrize(
    ("word", "said"),
    [
        (
            "النظام",
            "in Arabic letters, .*give --stop-words arabic .pip install stopwordsiso., or a file",
        ),
        ("система", "in Cyrillic letters, .*give --stop-words FILE, with one word per line"),
        ("σύστημα", "in Greek letters, .*give --stop-words FILE"),
        ("हिन्दी", "in Devanagari letters"),
        ("système", None),
    ],
)
def test_letters_other_than_latin_are_told_of_from_three_tenths_of_the_tokens(word, said):
    """Red with: a text in Arabic whose topics are its particles, without a word."""
    told = warned_of_letters([word, "system"], np.array([30, 70]))
    assert told is None if said is None else re.search(said, told)
    assert warned_of_letters([word, "system"], np.array([29, 71])) is None


def results_of(phi, **options):
    """Return a run of topics (V, K), of which K was chosen."""
    fitted = SimpleNamespace(
        layers=(phi.shape[1],), noun="topic", signed=False, shown=lambda at: np.arange(phi.shape[1])
    )
    options = SimpleNamespace(**{"topics": phi.shape[1]} | options)
    return SimpleNamespace(options=options, fitted=fitted, phi=lambda at: phi)


@pytest.mark.parametrize(("weight", "inactive"), [(0.0149, {0}), (0.015, set()), (None, set())])
def test_a_topic_is_inactive_below_fifteen_hundredths_of_the_average(weight, inactive):
    used = use.use_of_topics(results_of(np.eye(10)), [weight, *[0.1] * 9])
    assert used.inactive == inactive
    assert used.remark == (
        "1 topic of 10 is inactive; try -k 9, or 'sgmc search'" if inactive else None
    )
    assert not use.use_of_topics(results_of(np.eye(10), topics=None), [0.01] * 10).inactive


def test_light_copies_of_topics_are_inactive_but_for_one():
    """As many flat topics as a corpus was made by, and twice as many. Red with: the weight alone."""
    phi = np.eye(6)
    phi[3:, 3:] = 1 / 3
    weights = [0.28, 0.27, 0.25, 0.08, 0.065, 0.055]
    assert use.use_of_topics(results_of(phi), weights).inactive == {4, 5}
    assert not use.use_of_topics(results_of(phi), [1 / 6] * 6).inactive  # none is light
    assert not use.use_of_topics(results_of(np.eye(6)), weights).inactive  # light, and no copies


@pytest.mark.parametrize(("topics", "read"), [(20, True), (19, False)])
def test_a_run_of_twenty_topics_is_read_for_a_remark_at_its_end(topics, read):
    asked = []
    results = SimpleNamespace(
        fitted=SimpleNamespace(layers=(topics,)),
        vocabulary=["w"] * 10,
        weights=lambda: asked.append(1),
    )
    assert use.remark_at_the_end(results) is None
    assert bool(asked) == read


def test_a_run_of_too_many_cells_is_not_read_for_a_remark():
    asked = []
    words = range(use.MOST_CELLS // 64)
    results = SimpleNamespace(
        fitted=SimpleNamespace(layers=(64,)), vocabulary=words, weights=lambda: asked.append(1)
    )
    use.remark_at_the_end(results)
    assert asked == [1]
    results.vocabulary = range(len(words) + 1)
    use.remark_at_the_end(results)
    assert asked == [1]
