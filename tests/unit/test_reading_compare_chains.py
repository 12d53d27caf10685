"""Chains that were planted: what `diagnose` must find in them."""

import numpy as np
import pytest

import pysgrld
from pysgrld.core import core, padded_width
from pysgrld.core.draws import WEIGHTS
from pysgrld.errors import CheckpointError, MismatchError, MissingInputError, UsageError
from pysgrld.evaluate import HeldOut
from pysgrld.models.resolve import resolve
from pysgrld.models.samples import top_word_sample
from pysgrld.models.table import find_model
from pysgrld.options.option import Facts
from pysgrld.reading.compare_chains import diagnose
from pysgrld.reading.diagnosis import (
    Diagnosis,
    MatchedTopic,
    Measure,
    Prediction,
    TopWord,
    is_mixed,
)
from pysgrld.reading.verdict import FEW, verdict
from pysgrld.run import RunDirectory
from pysgrld.types import Documents, Key

K, V, DRAWS = 6, 40, 80


def base(k=K, seed=0):
    return np.random.default_rng(seed).dirichlet(np.full(V, 0.1), k)


def draws(topics, seed, n=DRAWS, concentration=2000.0):
    """Independent draws around some topics, (n, K, V)."""
    rng = np.random.default_rng(seed)
    return np.array(
        [[rng.dirichlet(concentration * row + 0.01) for row in topics] for _ in range(n)]
    )


def plant(path, phi, chain, steps=None, chosen=None, **given):
    """A run whose kept samples are these, with some options as sgmc might have chosen them."""
    options, defaults = resolve(
        {"topics": phi.shape[1], "chain-id": chain, **given}, Facts(100, V, 5000, 0, lambda *_: V)
    )
    config = {
        "schema": 1,
        "options": options.plain() | (chosen or {}),
        "defaults": defaults,
        "corpus": {
            "name": "toy",
            "fingerprint": "abc",
            **dict.fromkeys(("documents", "training_documents"), 100),
            **dict.fromkeys(("tokens", "training_tokens"), 5000),
            **dict.fromkeys(("held_out", "held_out_dropped"), 0),
            "words": V,
        },
    }
    run = RunDirectory.create(path, config, [f"w{i}" for i in range(V)])
    with run.lock():
        for i, sample in enumerate(phi):
            run.samples.write(5 * (i + 1) if steps is None else steps[i], {"phi": sample})
    return path


@pytest.fixture
def places(tmp_path):
    return [tmp_path / "all" / f"chain-{i}" for i in (1, 2, 3)]


def test_planted_permutations_are_found_and_the_chains_have_mixed(places):
    """Red with: counterparts taken for rows of the first chain; chains not reordered."""
    topics, rng = base(), np.random.default_rng(9)
    orders = [np.arange(K), rng.permutation(K), rng.permutation(K)]
    for i, (place, order) in enumerate(zip(places, orders, strict=True)):
        plant(place, draws(topics, i)[:, order], i + 1)
    told = []
    found = diagnose(places[0].parent, tell=lambda *a: told.append(a))
    assert [t.counterparts for t in found.topics] == [
        tuple(int(np.flatnonzero(order == k)[0]) for order in orders) for k in range(K)
    ]
    assert found.iterations == tuple(range(5, 5 * DRAWS + 1, 5))
    assert told == [(n, 6 * DRAWS) for n in range(1, 6 * DRAWS + 1)]
    assert found.moved == (0, 0, 0)
    for topic in found.topics:
        assert topic.overlap > 0.95
        assert topic.rhat < 1.1
        for word in topic.words:
            expected = topics[topic.id, int(word.word[1:])]
            assert word.probability == pytest.approx((expected,) * 3, abs=0.01)
    said = verdict(found)
    assert said[0].startswith(f"All {K} topics are the same in all 3 chains")
    assert "All shared topics have mixed" in said[1]
    assert any("No problem found" in line for line in said)


def test_a_diagnosis_shows_itself_in_lines(places):
    """A line for each topic, the steadiest first. Red with: the repr of a tuple, 20,000 signs long."""
    for i, place in enumerate(places):
        plant(place, draws(base(), i, 20), i + 1)
    found = diagnose(*places)
    first, head, *rows = repr(found).splitlines()
    assert first.startswith(f"Diagnosis of 3 chains ({places[0]}, ")
    assert "20 samples each; for an explanation, call verdict(...)" in first
    assert head.split() == ["topic", "overlap", "R-hat", "ESS", "top", "words"]
    steadiest = max(found.topics, key=lambda topic: topic.overlap)
    assert rows[0].split()[:2] == [str(steadiest.id), f"{steadiest.overlap:.2f}"]
    assert [len(row.split()) for row in rows] == [14] * K
    many = found._replace(topics=found.topics * 20)
    assert repr(many).splitlines()[-1].strip() == f"...  and {20 * K - 10} more in .topics"


def test_a_topic_of_one_chain_only_is_told(places):
    topics = base()
    strange = topics.copy()
    strange[2] = np.random.default_rng(77).dirichlet(np.full(V, 0.1))
    for i, (place, own) in enumerate(zip(places, (topics, topics, strange), strict=True)):
        plant(place, draws(own, i), i + 1)
    found = diagnose(*places)
    assert [t.id for t in found.topics if t.overlap < 0.7] == [2]
    assert found.topics[2].found == 2  # the chain that it begins with, and one other
    assert found.topics[2].overlaps[0] == 1.0
    assert found.topics[2].overlaps[1] > 0.9 > 0.7 > found.topics[2].overlaps[2]
    assert found.topics[2].overlap == pytest.approx(min(found.topics[2].overlaps), abs=0.05)
    assert found.topics[2].rhat > 1.6  # ranks: one of three chains quite apart has 1.7
    said = verdict(found)
    assert said[0].startswith("5 of 6 topics are the same in all 3 chains")
    assert said[0].endswith("1 is different: 2.")
    assert any("found different solutions" in line for line in said)


def test_a_pair_that_agrees_on_topics_and_not_on_numbers_has_not_mixed(places):
    """Shifted by many times what each chain varies, and yet the same subject."""
    topics = base()
    shifted = 0.9 * topics + 0.1 / V
    plant(places[0], draws(topics, 0, concentration=1e5), 1)
    plant(places[1], draws(shifted, 1, concentration=1e5), 2)
    found = diagnose(*places[:2])
    for topic in found.topics:
        assert topic.overlap > 0.85
        assert topic.rhat > 1.6
        assert topic.ess < 10
    assert "No shared topic has mixed" in verdict(found)[1]


def test_one_chain_is_compared_with_itself(places):
    plant(places[0], draws(base(), 0), 1)
    found = diagnose(places[0])
    assert found.chains == 1
    assert {t.counterparts for t in found.topics} == {(k,) for k in range(K)}
    assert min(t.overlap for t in found.topics) > 0.95
    said = verdict(found)
    assert said[0] == (
        "All 6 topics are the same in both halves of the chain, with at least 70 % of their "
        "probability in common."
    )
    assert any("another chain may find other" in line for line in said)


def test_topics_that_change_places_within_a_chain_are_told(places):
    """Red with: the halves of a chain not looked at."""
    phi = draws(base(), 0)
    phi[DRAWS // 2 :, [1, 4]] = phi[DRAWS // 2 :, [4, 1]]
    plant(places[0], phi, 1)
    plant(places[1], draws(base(), 1), 2)
    found = diagnose(*places[:2])
    assert found.moved == (2, 0)
    assert any(
        "2 topics turned into another topic within a chain" in line for line in verdict(found)
    )


def test_samples_are_those_that_all_chains_have_kept(places):
    """A longer chain has thinned its samples: the others' are compared at the same iterations."""
    topics = base()
    plant(places[0], draws(topics, 0), 1)
    plant(places[1], draws(topics, 1), 2, steps=range(10, 10 * DRAWS + 1, 10))
    found = diagnose(*places[:2])
    assert found.iterations == tuple(range(10, 5 * DRAWS + 1, 10))
    assert found.kept == (DRAWS, DRAWS)
    late = diagnose(*places[:2], burn_in=200)
    assert late.iterations == tuple(range(210, 5 * DRAWS + 1, 10))
    assert found.last == (5 * DRAWS, 10 * DRAWS)


@pytest.mark.parametrize(("kept", "short"), [(27, True), (29, False)])
def test_a_chain_is_short_below_seven_tenths_of_the_longest(places, kept, short):
    plant(places[0], draws(base(), 0, n=40), 1)
    plant(places[1], draws(base(), 1, n=kept), 2)
    found = verdict(diagnose(*places[:2]))
    assert any("shortest chain" in line for line in found) == short


def test_a_short_chain_is_told(places):
    topics = base()
    plant(places[0], draws(topics, 0), 1)
    plant(places[1], draws(topics, 1, n=10), 2)
    said = verdict(diagnose(*places[:2]))
    assert any(
        "shortest chain ends at iteration 50, and the longest at 400:" in line for line in said
    )


@pytest.mark.parametrize("n", [0, 3])
def test_too_few_samples_are_refused(places, n):
    plant(places[0], draws(base(), 0, n=DRAWS), 1)
    plant(places[1], draws(base(), 1, n=n).reshape(n, K, V), 2)
    with pytest.raises(MissingInputError, match=f"in common {n} posterior samples.*chain-2 {n}"):
        diagnose(*places[:2])


@pytest.mark.parametrize("full", [3, 9])
def test_chains_are_followed_by_slim_samples_where_there_are_more_of_them(
    full, places, monkeypatch
):
    """Red with: rows of the first chain looked up in the others; means that do not sum to 1."""
    monkeypatch.setattr("pysgrld.models.samples.WORDS", 6)
    topics, rng = base(), np.random.default_rng(9)
    orders, places = [np.arange(K), rng.permutation(K)], places[:2]
    for i, (place, order) in enumerate(zip(places, orders, strict=True)):
        plant(place, draws(topics, i, 20)[:, order], i + 1)
    whole, told = diagnose(*places), []
    for place in places:
        run = RunDirectory.open(place)
        with run.lock():
            for step in run.samples.steps():
                run.samples.write(
                    step, top_word_sample(run.samples.read(step)["phi"]), top_words=True
                )
            for step in run.samples.steps()[full:]:
                run.samples.drop(step)
    found = diagnose(*places, tell=lambda *a: told.append(a))
    assert (whole.slim, found.slim) == (False, True)
    assert found.iterations == whole.iterations
    assert found.kept == (20, 20)
    assert found.traced == (found.iterations[:full] if full >= 4 else ())
    assert any("complete samples of the same" in note for note in found.notes) == (full < 4)
    for mine, theirs in zip(found.topics, whole.topics, strict=True):
        assert mine.counterparts == theirs.counterparts
        assert mine.overlap == pytest.approx(theirs.overlap, abs=0.02)
        for a, b in zip(mine.words[:3], theirs.words[:3], strict=True):
            assert a.word == b.word
            assert a.measure.rhat == pytest.approx(b.measure.rhat, abs=1e-6)
    assert told[-1][0] == told[-1][1]
    assert len(told) == told[-1][1]
    assert verdict(found)


def test_few_samples_tell_no_more_than_they_can(places):
    for i in (0, 1):
        plant(places[i], draws(base(seed=i), i, n=8), i + 1)
    said = verdict(diagnose(*places[:2]))
    assert any("Only 8 samples per chain are available" in line for line in said)
    assert not any("converged" in line for line in said)
    assert FEW > 8


def test_samples_that_a_training_run_drops_meanwhile_are_done_without(places):
    """Red with: the error passed on."""
    for i in (0, 1):
        plant(places[i], draws(base(), i), i + 1)
    run = RunDirectory.open(places[1])

    def drop(done, total):
        if done == total // 2 + 10:
            with run.lock():
                for step in range(5, 5 * DRAWS, 10):
                    run.samples.drop(step)

    found = diagnose(*places[:2], tell=drop)
    assert found.iterations == tuple(range(10, 5 * DRAWS + 1, 10))


def test_a_sample_that_is_damaged_is_no_reason_to_try_for_ever(places):
    plant(places[0], draws(base(), 0), 1)
    file = places[0] / "samples" / "step-00000200.safetensors"
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(CheckpointError, match="step-00000200"):
        diagnose(places[0])


def test_one_topic_is_no_special_case(places):
    for i in (0, 1):
        plant(places[i], draws(base(1), i), i + 1)
    found = diagnose(*places[:2])
    assert verdict(found)[0].startswith("The one topic is the same in both chains")
    assert found.topics[0].rhat < 1.1


def test_samples_that_never_change_have_no_rhat(places):
    phi = np.repeat(base()[None], 20, axis=0)
    for i in (0, 1):
        plant(places[i], phi, i + 1)
    found = diagnose(*places[:2])
    assert all(np.isnan(t.rhat) for t in found.topics)
    assert min(t.overlap for t in found.topics) == pytest.approx(1, abs=1e-6)
    assert "same in both chains" in verdict(found)[0]


def test_more_top_words_than_there_are_words_are_all(places):
    plant(places[0], draws(base(), 0), 1)
    assert len(diagnose(places[0], top=1000).topics[0].words) == V
    assert len(diagnose(places[0], top=3).topics[0].words) == 3


def test_runs_of_another_configuration_are_refused(places):
    plant(places[0], draws(base(), 0), 1)
    plant(places[1], draws(base(), 1), 2, alpha=0.7)
    with pytest.raises(
        MismatchError, match=r"(?s)differ in configuration or corpus.*alpha: .* -> 0.7"
    ):
        diagnose(*places[:2])


def test_what_sgmc_chose_for_another_seed_is_no_other_configuration(places):
    """Red with: chosen spacings of samples compared; those that a person chose not compared."""
    plant(places[0], draws(base(), 0), 1)
    plant(places[1], draws(base(), 1), 2, chosen={"sample-every": 7, "lazy": "on"})
    plant(places[2], draws(base(), 1), 3, **{"sample-every": 7})
    assert diagnose(*places[:2]).chains == 2
    with pytest.raises(MismatchError, match="sample-every: "):
        diagnose(places[0], places[2])


def test_the_same_chain_twice_is_refused(places):
    plant(places[0], draws(base(), 0), 1)
    plant(places[1], draws(base(), 0), 1)
    for pair in ((places[0], places[0]), places[:2]):
        with pytest.raises(UsageError, match=r"are the same chain \(seed 0, chain 1\)"):
            diagnose(*pair)


def test_seeds_may_differ_as_chains_may(places):
    plant(places[0], draws(base(), 0), 1)
    plant(places[1], draws(base(), 1), 1, seed=7)
    assert diagnose(*places[:2]).chains == 2


def test_a_layer_that_is_not_there_is_refused(places):
    plant(places[0], draws(base(), 0), 1)
    with pytest.raises(UsageError, match="--layer 2"):
        diagnose(places[0], layer=2)


def test_without_held_out_documents_it_says_what_is_missing(places):
    plant(places[0], draws(base(), 0), 1)
    found = diagnose(places[0])
    assert found.prediction is None
    assert found.topics[0].weight == ()
    assert any("have no held-out documents" in line for line in verdict(found))


@pytest.mark.parametrize(("noise", "told"), [(1.45, False), (1.55, True)])
def test_noise_is_told_from_half_as_much_variance_again(places, noise, told):
    step = 2 * np.arctanh((noise - 1) / 50)
    plant(places[0], draws(base(), 0, n=10), 1, minibatch=2, **{"step-size": (step, 1.0, 0.0)})
    found = verdict(diagnose(places[0]))
    assert any("Minibatch noise" in line for line in found) == told


def test_noise_of_scir_is_told_where_it_is_large(places):
    """1 + tanh(h/2) D/B, by hand. Red with: h for h/2."""
    plant(places[0], draws(base(), 0), 1, minibatch=2, **{"step-size": (0.4, 1.0, 0.0)})
    found = diagnose(places[0])
    assert found.noise == pytest.approx(1 + np.tanh(0.2) * 50)
    assert any("10.9 times as large as without minibatches" in line for line in verdict(found))
    plant(places[1], draws(base(), 0), 1, minibatch=50, **{"step-size": (0.01, 1.0, 0.0)})
    assert not any("Minibatch noise" in line for line in verdict(diagnose(places[1])))


def test_slow_tails_of_mirrored_langevin_are_told(places):
    plant(places[0], draws(base(), 0), 1, algo="smld")
    assert any("Mirrored Langevin hardly moves" in line for line in verdict(diagnose(places[0])))


def test_an_approximation_has_nothing_to_compare(places):
    plant(places[0], draws(base(), 0), 1, algo="ovb")
    with pytest.raises(UsageError, match=r"ovb approximates the posterior.*--algo that samples"):
        diagnose(places[0])


@pytest.mark.parametrize("given", [{"algo": "gibbs"}, {"algo": "ovb"}, {"layers": (K,)}])
def test_shares_are_those_of_the_documents_tokens(given):
    """Documents of one topic each: as many tokens as they have, and no document twice the weight.

    Red with: documents counted for their tokens.
    """
    topics = np.kron(np.eye(2), np.full(20, 0.05)).astype(np.float32)
    given = given | {"layers": (2,)} if "layers" in given else given | {"topics": 2}
    options, _ = resolve(given, Facts(100, V, 5000, 0, lambda *_: V))
    indptr = np.array([0, 20, 40])
    documents = Documents(indptr, np.arange(40, dtype=np.int32), np.repeat([1, 9], 20).astype("i4"))
    held_out = HeldOut(documents, documents, np.arange(2), 0)
    completion = find_model(options.model).scorer(options, held_out, V, 1)
    parts = {"phi": core.zeros(V, padded_width(2), "float32")}
    parts["phi"][:, :2] = np.maximum(topics.T, 1e-9)
    if "layers" in given:
        parts["r"] = np.zeros(padded_width(2), np.float32)
        parts["r"][:2] = 0.5
    elif given["algo"] == "ovb":
        parts[WEIGHTS] = parts["phi"].copy()
    completion.log_probability(Key(0, 0, 1), parts)
    assert completion.shares(0) == pytest.approx([0.1, 0.9], abs=0.01)


def test_python_has_it_by_name(places):
    plant(places[0], draws(base(), 0), 1)
    found = pysgrld.diagnose(str(places[0]))
    assert isinstance(found, Diagnosis)
    assert pysgrld.verdict(found) == verdict(found)


# ---- sentences, from figures


def made(rhats, prediction=None, chains=2, contraction=(), n=100, ess=400.0):
    measure = Measure(1.0, 500.0, ess)
    topics = tuple(
        MatchedTopic(
            k,
            (k,) * chains,
            overlap,
            (0.1,) * chains,
            Measure(rhat, 500.0, 450.0),
            (TopWord("word", (0.1,) * chains, measure),),
        )
        for k, (overlap, rhat) in enumerate(rhats)
    )
    return Diagnosis(
        runs=(None,) * chains,
        algo="gibbs",
        model="lda",
        layer=1,
        iterations=tuple(range(n)),
        kept=(n,) * chains,
        last=(n - 1,) * chains,
        topics=topics,
        prediction=prediction,
        moved=(0,) * chains,
        noise=None,
        contraction=contraction,
        slow_tails=False,
        traces=None,
        notes=(),
    )


def test_a_verdict_counts_topics_that_have_mixed():
    said = verdict(made([(0.9, 1.02), (0.8, 1.5), (0.3, 3.0), (0.7, 1.05)]))
    assert said[0].startswith("3 of 4 topics are the same in both chains")
    assert said[0].endswith("; 1 is different: 2.")
    assert said[1].startswith("2 of the shared topics have mixed")
    assert "effective sample size (ESS) is at least 400)" in said[1]
    assert "probabilities of the other 1 differ more between chains" in said[1]


@pytest.mark.parametrize(
    ("rhat", "mixed"), [(1.05, True), (1.09, True), (1.11, False), (1.15, False)]
)
def test_topics_have_mixed_below_an_rhat_of_1_1(rhat, mixed):
    """Red with: 1.2 for 1.1."""
    found = made([(0.9, rhat)])
    assert ("All shared topics have mixed" in verdict(found)[1]) == mixed
    assert is_mixed(found.topics[0]) == mixed


@pytest.mark.parametrize(("ess", "rough"), [(250.0, True), (399.0, True), (400.0, False)])
def test_fewer_than_400_effective_draws_are_said_to_be_few(ess, rough):
    """Vehtari et al. 2021, section 4.1. Red with: 200 for 400."""
    said = verdict(made([(0.9, 1.0)], ess=ess))[1]
    assert ("400 needed for reliable intervals" in said) == rough


def test_a_long_list_of_topics_is_cut():
    said = verdict(made([(0.1, 3.0)] * 30 + [(0.9, 1.0)]))[0]
    assert said.endswith("18, 19 and 10 more.")


@pytest.mark.parametrize(
    ("alone", "said"),
    [
        ((1.5, 1.0), "Chain 1 still drifts"),
        ((1.5, 1.3), "Every chain still drifts"),
        ((1.0, 1.0), "found different solutions"),
        ((float("nan"), 1.0), "found different solutions"),
    ],
)
def test_advice_depends_on_whether_chains_drift(alone, said):
    prediction = Prediction((-6.0, -6.1), Measure(1.8, 5.0, 9.0), alone)
    found = verdict(made([(0.9, 1.0), (0.2, 3.0)], prediction))
    assert any(said in line for line in found)
    assert any(
        "403.4 in the best chain and 445.9 in the worst, a difference of 10.5 %" in line
        for line in found
    )


def test_chains_that_predict_alike_and_share_all_are_good():
    prediction = Prediction((-6.0, -6.0), Measure(1.01, 500.0, 400.0), (1.0, 1.0))
    found = verdict(made([(0.9, 1.0)], prediction))
    assert any("the chains predict equally well" in line for line in found)
    assert any("No problem found" in line for line in found)


def test_steps_that_are_too_large_are_told():
    found = verdict(made([(0.9, 1.0)], contraction=(0.1, 2.05, 3.0)))
    assert any(
        "too large for 2 topics" in line and "up to 3 times the topic's distance" in line
        for line in found
    )
    assert not any("too large" in line for line in verdict(made([(0.9, 1.0)], contraction=(1.95,))))


@pytest.mark.parametrize(("n", "few"), [(49, True), (50, False)])
def test_fewer_than_50_samples_are_too_few_to_tell_more(n, few):
    found = verdict(made([(0.2, 3.0)], n=n))
    assert any(f"Only {n} samples per chain are available" in line for line in found) == few


@pytest.mark.parametrize(("apart", "moved"), [(0.045, 0), (0.055, 2)])
def test_a_topic_has_moved_that_is_nearer_to_anothers_by_a_tenth(places, apart, moved):
    """Two topics over two words have 2 x apart less in common with each other than with themselves."""
    topics = np.zeros((2, V))
    topics[:, :2] = [[0.5 + apart, 0.5 - apart], [0.5 - apart, 0.5 + apart]]
    phi = np.repeat(topics[None], DRAWS, axis=0)
    phi[DRAWS // 2 :] = topics[::-1]
    for chain, place in enumerate(places[:2], 1):
        plant(place, phi, chain)
    assert diagnose(*places[:2]).moved == (moved, moved)


def test_ten_words_of_a_topic_are_followed(places):
    for chain, place in enumerate(places[:2], 1):
        plant(place, draws(base(), chain), chain)
    assert {len(topic.words) for topic in diagnose(*places[:2]).topics} == {10}
