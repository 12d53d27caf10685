"""The result of a search in words, as a picture and as a page, of figures that are made up."""

import json
import math
from pathlib import Path

import pytest

from pysgrld.models.choices import Choices
from pysgrld.models.table import find_score
from pysgrld.search.outcome import SearchResult, SettingResult
from pysgrld.search.plan import SearchPlan, list_settings, parse_grid, varied_options
from pysgrld.search.result_files import charts, draw, html
from pysgrld.search.show import sentences, table


def row(k, score, above=0.0, *, dropped=None, found=0.7, apart=0.001, **options):
    return SettingResult(
        name=f"k-{k}",
        topics=k,
        options={"topics": k, **options},
        dropped=dropped,
        chains=1 if dropped else 2,
        iterations=300,
        score=score,
        low=0.97 * score,
        high=1.03 * score,
        above=(above, above - 0.002, above + 0.002),
        apart=None if dropped else apart,
        gain=None,
        coherence=(0.1, 0.05, 0.15),
        found=None if dropped else found,
        steady=8.2,
        seconds=75.0,
        memory=100 << 20,
    )


def result(*rows, best, smallest, corpus="news"):
    facts = {"name": corpus, "training_documents": 900, "training_tokens": 50_000, "words": 800}
    ks = sorted({r.topics for r in rows})
    plan = SearchPlan(
        ("a b.txt",),
        Choices({}),
        list_settings(varied_options(ks, [], Choices({}))),
        2,
        8,
        None,
        facts,
    )
    kind = find_score("perplexity")
    return SearchResult(
        Path("runs/news-search"), plan, kind, 100, rows, f"k-{best}", f"k-{smallest}"
    )


@pytest.fixture
def middle():
    return result(
        row(20, 800.0, 0.05, dropped=8),
        row(50, 764.0, 0.004, found=0.71),
        row(100, 761.0, found=0.48),
        row(200, 770.0, 0.012),
        best=100,
        smallest=50,
    )


def test_two_answers_are_given_each_with_its_figures(middle):
    first, second, *rest = sentences(middle)
    assert first == "For predicting: K = 100, the best perplexity: 761.0 (738.2 to 783.8)."
    assert second == (
        "For reading: K = 50, the smallest setting within 0.5 % of the best (764.0). 71 % of the "
        "words are in topics that both chains found; with K = 100, 48 %."
    )
    assert len(rest) == 1
    assert "this score is too good" in rest[0]


def test_a_number_that_chains_do_not_share_is_not_for_reading():
    """Red with: the smallest near the best, of whose words other chains find 37 %."""
    found = result(
        row(8, 790.0, 0.04, found=0.79), row(16, 761.0, found=0.37), best=16, smallest=16
    )
    assert (found.interpretable_setting, found.record()["reading"]) == ("k-8", "k-8")
    said = next(line for line in sentences(found) if "For reading" in line)
    assert said.startswith("For reading: K = 8 (790.0), with 79 % of the words")
    assert "in K = 16, the smallest setting within 0.5 % of the best (761.0), only 37 %" in said
    assert (
        result(row(8, 790.0), row(16, 761.0), best=16, smallest=16).interpretable_setting == "k-16"
    )


def test_at_the_edge_of_the_list_more_is_to_be_tried():
    """With all that was given. Red with: a command of the corpus and -k alone."""
    found = result(row(50, 790.0, 0.02), row(100, 760.0), best=100, smallest=100)
    said = " ".join(sentences(found))
    assert "repeat the command of this search with -k 50,100,200." in said
    found = result(row(50, 760.0), row(100, 761.0, 0.001), best=50, smallest=50)
    assert "repeat the command of this search with -k 25,50,100." in " ".join(sentences(found))


def test_a_family_that_finds_its_own_number_has_one_answer():
    """Red with: the smallest told of settings that have no size."""
    rows = [r._replace(topics=0, options={"dp-conc": r.name}) for r in (row(5, 70.0), row(6, 71.0))]
    said = sentences(result(*rows, best=5, smallest=5))
    assert said[0].startswith("For predicting: dp-conc = k-5")
    assert not [line for line in said if "For reading" in line or "try" in line]


def test_chains_that_differ_by_more_than_settings_are_told_of():
    found = result(row(50, 790.0, apart=0.03), row(100, 760.0), best=100, smallest=100)
    assert "Ignore differences of less than 3.0 % between settings" in " ".join(sentences(found))


def test_the_table_says_who_was_dropped_and_by_how_much_who_is_worse(middle):
    heads, first, _, third, _ = table(middle)
    assert heads[:4] == ("tried", "perplexity", "95 % interval", "above the best")
    assert first[0] == "K = 20"
    assert first[3] == "5.0 % (4.8 to 5.2)"
    assert (heads[-1], first[-1]) == ("dropped after", "8 epochs")
    assert third[3] == "the best"
    assert "gain" not in heads  # nobody has one here


def test_there_are_four_charts_and_a_line_for_each_setting_of_the_other_options(middle):
    assert [len(chart.lines) for chart in charts(middle)] == [1, 1, 1, 1]
    rows = [row(k, 700.0 + k, eta=eta) for eta in (0.01, 0.05) for k in (10, 20)]
    rows = [r._replace(name=f"{r.name}-{i}") for i, r in enumerate(rows)]
    two = result(*rows, best="10-0", smallest="10-0")._replace(
        plan=SearchPlan(
            (),
            Choices({}),
            list_settings(varied_options([10, 20], [parse_grid("eta=0.01,0.05")], Choices({}))),
            2,
            8,
            None,
            {},
        )
    )
    assert [line.name for line in charts(two)[0].lines] == ["eta = 0.01", "eta = 0.05"]


def test_bars_of_the_first_chart_are_those_of_pairs(middle):
    """Red with: the intervals of the scores themselves, which hide every difference."""
    points = charts(middle)[0].lines[0].points
    assert points[1].high - points[1].low < 0.005 * points[1].value
    assert points[2].low < points[2].value < points[2].high


def test_the_picture_is_a_png(middle, tmp_path):
    assert draw(middle, tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_holds_hostile_names_as_text_under_its_policy(middle):
    plan = middle.plan._replace(corpus=middle.plan.corpus | {"name": "</script><b>\u2028 & x"})
    text = html(middle._replace(plan=plan)).decode()
    assert text.count("</script>") == 2
    assert "default-src 'none'" in text
    inside = text.split('id="report">')[1].split("</script>")[0]
    data = json.loads(inside)
    assert data["corpus"] == "</script><b>\u2028 & x"
    assert data["ticks"] == [20, 50, 100, 200]
    assert "a b.txt" not in text
    assert html(middle) == html(middle)


def test_figures_that_are_none_leave_no_trace_on_the_page(middle):
    rows = tuple(r._replace(above=(math.nan,) * 3, coherence=None) for r in middle.rows)
    assert "NaN" not in html(middle._replace(rows=rows)).decode().split('id="report">')[1][:20_000]
