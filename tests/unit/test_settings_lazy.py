"""Whether rows are lazy: a rule on counts of words, resolved once."""

import pytest

from pysgrld.errors import UsageError
from pysgrld.models.choices import Choices
from pysgrld.models.options import PRESETS
from pysgrld.models.resolve import resolve
from pysgrld.options.option import Facts
from pysgrld.train.request import Request


def lazy(given=None, *, words=10_000, seen=1000, tokens=500_000):
    facts = Facts(5000, words, tokens, 0, lambda size, seed: seen)
    return (
        "on"
        if resolve({"topics": 100} | (given or {}), facts).options.settings.has_lazy_rows
        else "off"
    )


def test_auto_is_on_from_twice_the_words_of_a_minibatch():
    assert lazy(seen=5000) == "on"
    assert lazy(seen=5001) == "off"


def test_auto_is_off_where_topics_are_small_since_all_rows_are_stepped_then():
    """V eta + tokens / K is 5,000 at 450,000 tokens: 500 + 4,500."""
    assert lazy(tokens=450_000) == "on"
    assert lazy(tokens=449_000) == "off"


def test_the_first_minibatch_is_counted_as_it_will_be():
    asked = []

    def count(size, seed):
        asked.append((size, seed))
        return 1

    resolve({"minibatch": 77, "seed": 5}, Facts(5000, 100, 500_000, 0, count))
    assert asked == [(77, 5)]


def test_what_is_asked_for_is_done_without_counting():
    assert lazy({"lazy": "on"}, seen=None) == "on"
    assert lazy({"lazy": "off"}, seen=None) == "off"


@pytest.mark.parametrize(
    "given",
    [
        {"algo": "sgrld"},
        {"algo": "gibbs"},
        {"eta": 0.009},
        {"preset": "scir-2018"},
        {"preset": "sgrld-2013"},
        {"cir-rate": "natural"},
    ],
)
def test_auto_is_off_where_rows_cannot_be_lazy_and_in_reproductions(given):
    assert lazy(given, seen=1) == "off"


@pytest.mark.parametrize(
    "given", [{"algo": "sgrld"}, {"algo": "gibbs"}, {"eta": 0.009}, {"cir-rate": "natural"}]
)
def test_on_is_refused_where_rows_cannot_be_lazy(given):
    request = Request(["-"], Choices(given | {"lazy": "on"}))
    with pytest.raises(UsageError, match="--set lazy"):
        request.choices.check()


def test_on_wins_over_a_preset():
    assert lazy({"preset": "scir-2018", "lazy": "on"}) == "on"
    assert PRESETS["scir-2018"]["lazy"] == "off"


def test_the_natural_rate_steps_as_far_in_phi_as_the_papers():
    """Kappa is 1 + 500,000 / (100 * 10,000 * .05) = 11. Red with: the paper's step."""
    facts = Facts(5000, 10_000, 500_000, 0, lambda size, seed: 1)
    paper, natural = (
        resolve({"topics": 100, "cir-rate": rate}, facts).options for rate in ("paper", "natural")
    )
    assert natural.step_size[0] == pytest.approx(paper.step_size[0] / 11)
    assert paper == resolve({"topics": 100}, facts).options
