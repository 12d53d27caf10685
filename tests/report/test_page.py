"""The report's page in a real browser shows the report's data."""

from __future__ import annotations

import re
import zlib
from urllib.parse import quote

import numpy as np
import pytest
from report.made import SPAN, Made

NIGHT = ("plain", "slim", "directions", "chains")
SMALL = ["plain", "chains", "deep", "mixture", "slim", "directions", "bare", "hostile"]
#: By kind of report: its pages that have nothing which the pages of "hostile" lack.
ALIKE = {
    "deep": ("sure", "pair", "words", "word", "documents", "doc", "groups", "method"),
    "mixture": ("sure", "pair", "words", "word", "groups", "method"),
}


def addresses(made: Made) -> list[str]:
    """Every kind of page that a report has."""
    report = made.report
    some = ["overview", "sure", "topics", "topic/1", "pair/0-1", "method"]
    some += ["map"] * bool(report["map"]) + ["words", "word/" + quote(made.words[0], safe="")]
    some += ["documents", "doc/3"] * bool(report["docs"])
    some += ["layers"] * bool(report["layers"]) + ["components"] * bool(report["components"])
    some += ["chains"] * bool(report["chains"])
    some += ["predictions"] * bool(report["predictions"])
    some += ["effects", "effects/1"] * bool(report.get("effects"))
    some += ["time", "time/2"] * bool(report.get("slices"))
    return some + [f"groups/{i}" for i in range(len(report["columns"]))]


@pytest.mark.parametrize(
    # wide pages by day: test_no_view_is_wide_or_endless
    "width",
    [pytest.param(1440, marks=pytest.mark.nightly), 400],
)
@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=pytest.mark.nightly) if k in NIGHT else k for k in SMALL]
)
def test_every_page_opens_from_a_file_in_silence(opened, kind, width):
    """No line on the console, no request, no dialog, no sideways scrolling; no name without data.

    "hostile" has all that "plain", "directions" and "chains" have, and "bare" less than "slim".
    """
    it = opened(kind, width)
    names = it.page.locator("nav.pages a").evaluate_all(
        "(links) => links.map((a) => a.dataset.page)"
    )
    some = {"map", "layers", "components", "effects", "time"}
    asked = some & {a.split("/")[0] for a in addresses(it.made)}
    assert asked == set(names) & some
    for address in addresses(it.made):
        if address.split("/")[0] in ALIKE.get(kind, ()):
            continue
        it.go(address)
        it.page.evaluate(
            "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )
        over = it.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert over <= 0, (address, width)
        assert len(it.text()) > 60, address
    assert it.said == []


def relevance(made: Made, topic: int, weight: float) -> list[str]:
    """Sievert and Shirley 2014, from the codes of the page: ten lines that know nothing of it."""
    total = made.report["words_tokens"]
    valued = []
    for place, code in made.terms[topic]:
        ln = -code * SPAN / 65535
        lift = ln - np.log(max(1, made.counts[place]) / total)
        valued.append((-(weight * ln + (1 - weight) * lift), place))
    return [made.words[place] for _, place in sorted(valued)]


def test_words_begin_with_those_that_the_topic_is_shown_by(opened):
    """Red with: a table in an order of its own before the slider is moved."""
    it = opened("plain", address="topic/2")
    topic = next(t for t in it.made.report["topics"] if t["id"] == 2)
    words = it.page.locator("table.words tbody th").all_inner_texts()
    assert words[: len(topic["top"])] == topic["top"]


def test_the_slider_orders_as_the_oracle(opened):
    it = opened("plain", address="topic/2")
    for weight in (0, 1, 0.3):
        it.page.locator("input[type=range]").fill(str(weight))
        words = it.page.locator("table.words tbody th").all_inner_texts()
        assert words == relevance(it.made, 2, weight)[:20]


def test_figures_are_the_report_s(opened):
    """Share, interval and a word of a topic as the report has them; who surely has it."""
    it = opened("plain")
    topic = it.made.report["topics"][3]
    it.go("topic/3")
    mean, low, high = (round(100 * x, 1) for x in topic["weight"])
    figures = it.page.locator("dl.figures").inner_text().replace("\u00a0", " ")
    assert f"{mean:.1f} % {low:.1f} – {high:.1f} %" in figures
    place, code = it.made.terms[3][0]
    row = it.page.locator("table.words tbody tr", has_text=it.made.words[place]).first.inner_text()
    assert f"{100 * np.exp(-code * SPAN / 65535):.2f}\u00a0%" in row
    first = it.page.locator(".excerpt a").first
    assert first.inner_text() == it.made.report["docs"]["title"][topic["rep"][0]]
    assert it.page.locator(".excerpt mark").count() > 5


@pytest.mark.parametrize("kind", [pytest.param("plain", marks=pytest.mark.nightly), "hundred"])
def test_names_on_the_map_cover_no_circle(opened, kind):
    it = opened(kind, address="map")
    drawing = it.page.locator("svg[aria-label^='map of topics']")
    names = drawing.locator("text").evaluate_all(
        """(all) => all.map((n) => n.getBBox())
            .map((b) => [b.x, b.y, b.x + b.width, b.y + b.height])"""
    )
    circles = drawing.locator("circle").evaluate_all(
        "(all) => all.map((c) => ['cx', 'cy', 'r'].map((a) => Number(c.getAttribute(a))))"
    )
    assert len(circles) == len(it.made.report["topics"]) >= len(names) > 10
    for left, top, right, bottom in names:
        for x, y, r in circles:
            inside = min(max(y, top + 3), bottom - 3)  # of the letters, not of their line
            assert np.hypot(x - min(max(x, left), right), y - inside) > r - 0.5


def test_a_single_measurement_is_a_point_of_the_curve(opened):
    """A run that was measured once has nothing to draw a line between: two rings, within the axes."""
    it = opened("slim", address="sure")
    curve = it.page.locator("svg[aria-label^='Perplexity against']")
    rings = curve.locator("circle.series")
    assert rings.evaluate_all("(all) => all.map((c) => c.getBBox().width)") == [6, 6]
    assert rings.evaluate_all("(all) => all.map((c) => getComputedStyle(c).fill)") == ["none"] * 2
    assert curve.locator("path.series:not(.level)").count() == 0


def test_topics_that_are_hardly_used_are_one_line_until_they_are_asked_for(opened):
    """Red with: rows of them among the others; a line that no click opens."""
    it = opened("slim", width=400, address="sure")
    names = it.page.locator("table.topics a.cover")
    shown = {t["label"] for t in it.made.report["topics"] if not t["hardly"]}
    assert set(names.all_inner_texts()) == shown
    assert "2 topics of 8 are inactive: -k 6" in it.text()
    it.page.get_by_role("button", name="show them").click()
    assert names.count() == 8
    assert "inactive" not in it.text()
    words = it.page.locator("table.topics .top-words")
    cut = words.evaluate_all("(all) => all.filter((p) => p.scrollWidth > p.clientWidth).length")
    assert cut == 0


def test_a_topic_says_whether_to_trust_it(opened):
    """Found again and at rest, as the report has it; what drifting means is a click away."""
    it = opened("chains")
    topics = it.made.report["topics"]
    drifting = next(t for t in topics if t["trust"]["drift"])
    of_each = {topic["trust"]["state"]: topic for topic in topics}
    for topic in (drifting, *of_each.values()):
        it.go(f"topic/{topic['id']}")
        told = it.page.locator(".trust").inner_text()
        trust = topic["trust"]
        assert trust["head"] in told
        assert trust["text"] in told
        assert ("may still change" in told) == bool(trust["drift"])
        assert (it.page.locator(".trust .sign.good").count() == 1) == (trust["good"] is True)
    it.go(f"topic/{drifting['id']}")
    it.page.click(".trust a")
    it.page.wait_for_selector(".sought")
    assert it.page.locator(".sought").inner_text() == "R-hat, effective draws"


def test_directions_divide_no_uses(opened):
    """A word's page lists the topics that point along it, by their entries; no share is told."""
    it = opened("directions")
    topic = it.made.report["topics"][2]
    it.go(f"topic/{topic['id']}")
    assert "uses" not in it.page.locator("table.words").first.inner_text()
    word = it.page.locator("table.words tbody th").first.inner_text()
    entry = it.page.locator("table.words tbody td.figure").first.inner_text()
    it.go("words")
    assert "divided" not in it.text()
    it.go("word/" + quote(word, safe=""))
    row = it.page.locator("table.its-topics tr", has_text=topic["label"]).first.inner_text()
    assert entry in row
    assert "%" not in row


def test_effects_are_in_order_of_how_sure_and_how_great_they_are(opened):
    """Red with: a topic's row under another's name; an interval where none is known; signs turned;
    a share of 0 next to a difference of more than the other share.
    """
    it = opened("slim")
    found = it.made.report["effects"]
    label = {t["id"]: t["label"] for t in it.made.report["topics"]}
    it.go("effects/0")
    of = sorted(found["compared"][0]["topics"], key=lambda r: -(bool(r[8]) + abs(r[5])))
    rows = it.page.locator("table.effects tbody tr")
    for row, (k, a, b, _, _, mean, low, high, surely) in zip(rows.all(), of, strict=True):
        cells = [text.replace("−", "-").strip() for text in row.locator("th, td").all_inner_texts()]
        assert cells[0] == label[k]
        assert cells[1:3] == [f"{100 * a:.1f}\u00a0%", f"{100 * b:.1f}\u00a0%" if b else "below 0"]
        assert float(cells[4]) == pytest.approx(100 * mean, abs=0.051)
        assert cells[5] == ("" if low is None else f"{100 * low:+.1f} to {100 * high:+.1f}")
        assert cells[6] == {1: "surely more", 0: "", -1: "surely less"}[surely]
    assert "left <b>" in it.text()
    it.page.get_by_role("combobox", name="comparison").select_option("1")
    it.page.wait_for_selector("body[data-ready='#effects/1']")
    assert "year: 2001.5 compared with 1990" in it.text()
    it.page.get_by_role("combobox", name="topic", exact=True).select_option(label[4])
    it.page.wait_for_selector(f"svg[aria-label='{label[4]} along year']")


def test_words_rise_and_fall_as_the_report_has_it(opened):
    """Red with: a word's change under another's name; rows of one topic's block for another's."""
    it = opened("slim")
    topics = it.made.report["topics"]
    it.go("time")
    rows = it.page.locator("table.over-time tbody tr").all()
    assert len(rows) == len(topics)
    for row, topic in zip(rows, topics, strict=True):
        name, _, rising, falling = row.locator("td").all()
        assert topic["label"] in name.inner_text()
        known = topic is not topics[-1]
        first, *_, third, fourth = topic["over_time"]["words"]
        assert rising.inner_text().split() == ([fourth, third] if known else [])
        assert falling.inner_text().split() == ([first] if known else [])
        assert ("begins in 1991" in name.inner_text()) == (topic is topics[2])
    it.go(f"time/{topics[1]['id']}")
    rows = it.page.locator("table.effects tbody tr").all()
    order = topics[1]["over_time"]["words"][::-1]
    for row, word, i in zip(rows, order, (3, 2, 1, 0), strict=True):
        cells = row.locator("th, td").all_inner_texts()
        assert cells[0] == word
        assert cells[2].replace("\u00a0", " ") == "2.0 %"
        assert cells[3].replace("\u00a0", " ") == f"{2 * (i + 0.4):.1f} %"
        assert cells[4] == f"{i + 0.4:.1f}×"
        assert cells[6] == {0: "falls", 1: ""}.get(i, "rises")
    it.page.get_by_role("combobox", name="topic", exact=True).select_option(topics[4]["label"])
    it.page.wait_for_selector(f"svg[aria-label='Words of {topics[4]['label']} over time']")
    assert "<b>" in it.page.locator("svg text", has_text="1990").first.text_content()


def test_predictions_are_the_report_s_and_a_loss_is_hollow(opened):
    """Red with: a bar to the right for what is worse than word frequencies."""
    it = opened("plain", address="predictions")
    rows = it.page.locator("table.shared tbody tr")
    for row, group in zip(rows.all(), it.made.report["predictions"]["groups"], strict=True):
        text = row.inner_text().replace("\u00a0", " ")
        assert f"{group['from']} – {group['to']}" in text
        assert group["score"] in text
        assert f"{100 * group['mean']:.0f} % (".replace("-", "−") in text
        assert row.locator(".hollow").count() == (group["mean"] < 0)


def test_what_has_no_intervals_is_not_called_sure(opened):
    it = opened("slim", address="topic/1")
    assert "no intervals" in it.text() or "means only" in it.text().lower()
    it.go("groups/0")
    legend = it.page.locator(".groups .legend").inner_text()
    assert "surely more" not in legend
    assert "not known" in legend
    it.page.focus(".field")
    it.page.keyboard.press("ArrowDown")
    it.page.keyboard.press("ArrowRight")
    assert "(" not in it.page.locator(".groups .readout").inner_text()


def test_names_are_whole_and_signs_are_told(opened):
    """Names of topics beside words are not cut; italics of held-out documents are explained."""
    it = opened("plain", address="words")
    cut = it.page.locator(".lead-topic .cut").evaluate_all(
        "(all) => all.filter((n) => n.scrollWidth > n.clientWidth).map((n) => n.textContent)"
    )
    assert it.page.locator(".lead-topic .cut").count() > 20
    assert cut == []
    it.go("documents")
    assert any(it.made.report["docs"]["held"])
    assert "In italics: held out, not trained on." in it.page.locator(".side").inner_text()


def part(made: Made, block: str, name: str) -> np.ndarray:
    """Numbers of a part, as the main JSON says where they are."""
    raw, at = zlib.decompress(made.blocks[block]), 0
    for one, kind, length in made.report["blocks"][block]:
        numbers = np.dtype({"u8": "<u1", "i8": "<i1", "u16": "<u2", "u32": "<u4"}[kind])
        if one == name:
            return np.frombuffer(raw, numbers, length, at)
        at += -(-numbers.itemsize * length // 4) * 4
    raise KeyError(name)


def test_groups_say_what_is_sure(opened):
    """A cell in colour, in words: the topic is surely more there than elsewhere."""
    it = opened("plain", address="groups/0")
    it.page.focus(".field")
    it.page.keyboard.press("ArrowDown")
    it.page.keyboard.press("ArrowRight")
    said = it.page.locator(".groups .readout").inner_text()
    assert re.search(
        r"in letters: [\d.]+\s% \([\d.]+ – [\d.]+\s%\), in the corpus [\d.]+\s%; \d+ letters", said
    ), said
    drawn = it.page.locator(".field path").evaluate_all(
        "(all) => all.map((p) => [p.getAttribute('fill'), p.getAttribute('d').split('M').length - 1])"
    )
    grey = dict(drawn)
    coloured = sum(n for fill, n in drawn if fill not in ("#d5d7d8", "#f4f4f2"))
    sign = part(it.made, "group-0", "sign")
    assert coloured == (sign == 1).sum() > 10
    assert grey["#f4f4f2"] == (sign == -1).sum() > 10
    it.page.click("button.level:has-text('poems')")
    it.page.wait_for_selector("button.level[aria-pressed=true]")
    shares = [
        float(x.split("\u00a0")[0].lstrip("< "))
        for x in it.page.locator(".field text").all_text_contents()[2::5]
    ]
    assert shares == sorted(shares, reverse=True)


def test_turned_names_stay_in_their_card(opened):
    """Red with: a long name of the first column, which reaches over the edge of the card."""
    it = opened("plain", address="topic/0")
    it.page.get_by_role("combobox", name="where").select_option(label="by place")
    names = it.page.locator("figure svg g[transform*=rotate] text")
    names.first.wait_for()
    card = it.page.locator("section:has(h2:text('Where it is'))").bounding_box()
    for name in names.all():
        assert name.bounding_box()["x"] >= card["x"] + 16  # the padding of the card is 22
