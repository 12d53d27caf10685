"""The plan of a search: list of settings, how far the first round goes, and its file."""

from types import SimpleNamespace

import pytest

from pysgrld.errors import CheckpointError, UsageError
from pysgrld.models.choices import Choices
from pysgrld.search.folder import SearchRequest, check
from pysgrld.search.plan import (
    PLAN,
    SearchPlan,
    first_epochs,
    list_settings,
    parse_grid,
    read_plan,
    varied_options,
)


def plan(contenders):
    return SearchPlan(
        ("a.txt",), Choices({"seed": 3, "eta": (0.1,)}), contenders, 2, 8, None, {"words": 5}
    )


def test_every_combination_contends_in_a_folder_with_its_values():
    axes = varied_options((50, 20), [parse_grid("eta=0.01,0.05")], Choices({}))
    found = list_settings(axes)
    assert [c.name for c in found] == [
        "k-20-eta-0.01",
        "k-20-eta-0.05",
        "k-50-eta-0.01",
        "k-50-eta-0.05",
    ]
    assert found[2].options == {"topics": 50, "eta": (0.01,)}
    assert found[2].place == (1, 0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("eta", "is not of the form NAME=VALUE"),
        ("eta=", "is not of the form NAME=VALUE"),
        ("eta=0.1,,0.2", "is not of the form NAME=VALUE"),
        ("etta=0.1", "not an option of training"),
        ("eta=blue", "is not a number"),
        ("eta=0.1,0.10", "the same value twice"),
        ("topics=5", "with -k"),
        ("seed=1,2", "must be the same"),
        ("holdout=10,20", "must be the same"),
        ("min-df=1,2", "must be the same"),
        ("threads=1,2", "must be the same"),
    ],
)
def test_a_grid_that_makes_no_sense_is_refused(text, said):
    with pytest.raises(UsageError, match=said):
        parse_grid(text)


def test_an_option_is_given_or_tried():
    with pytest.raises(UsageError, match="--eta and --grid eta contradict"):
        varied_options((5,), [parse_grid("eta=0.1,0.2")], Choices({"eta": (0.1,)}))
    with pytest.raises(UsageError, match="given twice"):
        varied_options((5,), [parse_grid("eta=0.1,0.2"), parse_grid("eta=0.3")], Choices({}))


@pytest.mark.parametrize(
    ("tokens", "numbers"),
    [(0, (3, 5, 10)), (10_000, (5, 10, 20)), (124_000, (20, 35, 70)), (10**8, (100, 200, 400))],
)
def test_numbers_of_topics_follow_from_the_corpus_unless_they_are_given(tokens, numbers):
    """Red with: 20 to 200 topics for every corpus; numbers that were given left out."""
    ((name, counts),) = varied_options(None, [], Choices({}), tokens)
    assert (name, tuple(k for _, k in counts)) == ("topics", numbers)
    assert varied_options((7,), [], Choices({}), tokens) == (("topics", (("7", 7),)),)


def test_a_family_without_a_number_of_topics_is_searched_over_others():
    axes = varied_options(None, [parse_grid("dp-conc=sticks,ew")], Choices({"model": "dpmm"}))
    assert [name for name, _ in axes] == ["dp-conc"]
    with pytest.raises(UsageError, match="nothing to compare"):
        varied_options(None, [], Choices({"model": "dpmm"}))


def test_too_many_combinations_and_nothing_to_compare_are_refused():
    many = tuple(range(1, 1200))
    with pytest.raises(UsageError, match="the maximum is 1,000"):
        list_settings(varied_options(many, [], Choices({})))
    with pytest.raises(UsageError, match="leaves nothing to compare"):
        check(SearchRequest(["a.txt"], Choices({}), topics=(5,), chains=1))


def test_two_values_that_would_have_one_folder_are_refused():
    """Red with: two settings whose runs go on with each other's."""
    files = [parse_grid("seed-words=of/sea.txt,of_sea.txt")]
    with pytest.raises(UsageError, match=r"two values .* folder k-5-seed-words-of_sea\.txt"):
        list_settings(varied_options((5, 6), files, Choices({})))


@pytest.mark.parametrize(("documents", "epochs"), [(10_000, 4), (1_000, 32), (200, 128)])
def test_the_first_round_gives_every_contender_twenty_samples(documents, epochs):
    """Red with: 4 epochs for all, in which a small corpus is not warm yet."""
    options = SimpleNamespace(minibatch=100, burn_in=100, sample_every=5)
    assert first_epochs([(options, documents)]) == epochs
    late = SimpleNamespace(minibatch=100, burn_in=400, sample_every=5)
    assert (
        first_epochs([(options, documents), (late, documents)]) == {4: 8, 32: 64, 128: 256}[epochs]
    )


@pytest.mark.parametrize(
    ("every", "iterations"), [(1, 20), (2, 40), (5, 100), (8, 100), (10, 100), (11, 110), (40, 400)]
)
def test_rare_samples_do_not_make_the_first_round_long(every, iterations):
    """Red with: twenty samples of a run whose samples are forty iterations apart."""
    for more, epochs in ((0, 8), (1, 16)):
        options = SimpleNamespace(
            minibatch=100, burn_in=800 - iterations + more, sample_every=every
        )
        assert first_epochs([(options, 10_000)]) == epochs


def test_a_plan_comes_back_as_it_was_written(tmp_path):
    made = plan(list_settings(varied_options((2, 4), [parse_grid("eta=0.1,0.2")], Choices({}))))
    made.write(tmp_path)
    assert read_plan(tmp_path) == made


@pytest.mark.parametrize("damage", ["", "{}", "[]", '{"schema": 1, "contenders": [1]}', "\x00"])
def test_a_damaged_plan_is_said_to_be(tmp_path, damage):
    (tmp_path / PLAN).write_text(damage)
    with pytest.raises(CheckpointError, match=r"search\.json: is damaged"):
        read_plan(tmp_path)
