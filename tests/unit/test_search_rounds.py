"""Where a search stands, as a function of its plan and its decisions alone."""

import pytest
from unit.test_search_rounds_judged import standing

from pysgrld.errors import CheckpointError
from pysgrld.models.choices import Choices
from pysgrld.run import jsonio
from pysgrld.search.plan import SearchPlan, list_settings, varied_options
from pysgrld.search.rounds import ROUNDS, decision, judge, next_round, read_rounds


def plan(topics=(10, 20, 40, 80), epochs=None, first=4):
    return SearchPlan(
        (),
        Choices({}),
        list_settings(varied_options(topics, [], Choices({}))),
        2,
        first,
        epochs,
        {},
    )


def names(current_round):
    return [(cell.contender.name, cell.chain) for cell in current_round.cells]


def test_the_first_round_trains_a_chain_of_all():
    current_round = next_round(plan(), [])
    assert (current_round.number, current_round.epochs, current_round.last) == (1, 4, False)
    assert names(current_round) == [("k-10", 1), ("k-20", 1), ("k-40", 1), ("k-80", 1)]


def line(alive, following, *, last=False):
    return {"goes_on": alive, "next": following, "last": last}


def test_a_round_trains_those_who_go_on_twice_as_far():
    current_round = next_round(plan(), [line(["k-20", "k-80"], 8)])
    assert (current_round.number, current_round.epochs, current_round.last) == (2, 8, False)
    assert names(current_round) == [("k-20", 1), ("k-80", 1)]


def test_the_last_round_trains_all_chains_until_they_have_converged():
    decided = [line(["k-20", "k-40", "k-80"], 8), line(["k-20", "k-40"], None)]
    current_round = next_round(plan(), decided)
    assert (current_round.number, current_round.epochs, current_round.last) == (3, None, True)
    assert names(current_round) == [("k-20", 1), ("k-40", 1), ("k-20", 2), ("k-40", 2)]
    assert next_round(plan(), [*decided, line(["k-20", "k-40"], None, last=True)]) is None


def test_a_budget_ends_the_last_round_and_none_before_goes_as_far():
    """Red with: rounds that do not look at the budget."""
    assert next_round(plan(epochs=3.0), []).last
    current_round = next_round(plan(epochs=6.0), [])
    assert (current_round.epochs, current_round.last) == (4, False)
    record = decision(plan(epochs=6.0), current_round, judged(700, 701, 702, 703), {})
    assert record["next"] is None
    current_round = next_round(plan(epochs=6.0), [record])
    assert (current_round.epochs, current_round.last) == (6.0, True)


def judged(*scores):
    return [
        j._replace(standing=j.standing._replace(name=f"k-{10 * 2**i}"))
        for i, j in enumerate(judge([standing(i, score) for i, score in enumerate(scores)]))
    ]


def test_a_decision_says_who_goes_on_and_how_far():
    record = decision(plan(), next_round(plan(), []), judged(800, 702, 700, 701), {})
    assert record["leader"] == "k-40"
    assert record["goes_on"] == ["k-20", "k-40", "k-80"]
    assert record["next"] is None  # all beside the leader
    record = decision(plan(), next_round(plan(), []), judged(700, 702, 701, 800), {})
    assert (record["goes_on"], record["next"]) == (["k-10", "k-20", "k-40"], 8)


def test_the_end_says_who_predicts_best_and_who_is_smallest():
    found = judged(710, 702, 700)
    sizes = {"k-10": 10, "k-20": 20, "k-40": 40}
    current_round = next_round(plan(), [line(["k-10", "k-20", "k-40"], None)])
    record = decision(plan(), current_round, found, sizes)
    assert record["next"] is None
    assert (record["leader"], record["smallest"], record["last"]) == ("k-40", "k-20", True)


def test_nobody_is_dropped_in_the_last_round():
    """Who is surely worse there was trained in all chains. Red with: verdicts taken for decisions."""
    short = plan(topics=(10, 20, 40), epochs=4.0)
    current_round = next_round(short, [])
    record = decision(
        short, current_round, judged(700, 710, 900), {"k-10": 10, "k-20": 20, "k-40": 40}
    )
    assert record["goes_on"] == ["k-10", "k-20", "k-40"]
    assert current_round.last
    assert [one["goes_on"] for one in record["contenders"]] == [True, True, True]
    assert record["contenders"][2]["why"].startswith("certainly worse")


def test_decisions_come_back_as_they_were_written(tmp_path):
    assert read_rounds(tmp_path) == []
    records = [decision(plan(), next_round(plan(), []), judged(700, 702, 701, 800), {})]
    (tmp_path / ROUNDS).write_bytes(b"".join(map(jsonio.line, records)))
    assert read_rounds(tmp_path) == records


@pytest.mark.parametrize("damage", ["{", "[]\n", '{"round": 1}\n', "\x00\n"])
def test_damaged_decisions_are_said_to_be(tmp_path, damage):
    (tmp_path / ROUNDS).write_text(damage)
    with pytest.raises(CheckpointError, match=r"rounds\.jsonl: is damaged"):
        read_rounds(tmp_path)
