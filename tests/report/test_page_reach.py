"""Accessibility of the report's page: by keyboard, by search, read aloud, and on paper."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest


def test_search_and_steps_by_keys_alone(opened):
    it = opened("plain")
    keys = it.page.keyboard
    keys.press("/")
    keys.type("ship")
    it.page.wait_for_selector("#hits [role=option]")
    kinds = it.page.locator("#hits small").all_inner_texts()
    keys.press("ArrowDown")
    keys.press("ArrowUp")
    for _ in range(next(i for i, kind in enumerate(kinds) if "use" in kind)):
        keys.press("ArrowDown")
    keys.press("Enter")
    it.page.wait_for_selector('body[data-ready="#word/ship"]')
    it.go("topic/0")
    keys.press("j")
    it.page.wait_for_selector('body[data-ready="#topic/1"]')
    keys.press("k")
    it.page.wait_for_selector('body[data-ready="#topic/0"]')
    it.page.go_back()
    it.page.wait_for_selector('body[data-ready="#topic/1"]')
    it.go("map")
    it.page.focus(".matrix .field")
    keys.press("ArrowDown")
    keys.press("ArrowRight")
    assert "distance" in it.page.locator(".readout").last.inner_text()


def test_the_map_is_walked_by_keys_and_read_aloud(opened):
    """One stop of the Tab key; arrows go to a circle that lies in their direction; Enter opens it."""
    it = opened("plain", address="map")
    links = it.page.locator("svg[aria-label^='map of topics'] a")
    assert [links.nth(i).get_attribute("tabindex") for i in range(20)].count("0") == 1
    told = it.page.locator("main").aria_snapshot()
    for topic in it.made.report["topics"]:
        share = f"{topic['label']} (topic {topic['id']}, "
        assert f'link "{share}' in told
    it.page.locator("svg[aria-label^='map of topics'] a[tabindex='0']").focus()
    here = it.page.evaluate("Number(document.activeElement.dataset.topic)")
    place = {t["id"]: t["xy"] for t in it.made.report["topics"]}
    for key, axis, sign in (("ArrowRight", 0, 1), ("ArrowLeft", 0, -1), ("ArrowUp", 1, -1)):
        it.page.keyboard.press(key)
        there = it.page.evaluate("Number(document.activeElement.dataset.topic)")
        further = [k for k in place if sign * (place[k][axis] - place[here][axis]) > 0]
        assert there in further or (there == here and not further), key
        here = there
    it.page.keyboard.press("Enter")
    it.page.wait_for_selector(f'body[data-ready="#topic/{here}"]')
    it.go("map")
    leaves = it.page.locator("svg[aria-label^='tree of topics'] a")
    order = it.made.report["order"]
    leaves.nth(3).focus()
    it.page.keyboard.press("ArrowDown")
    assert it.page.evaluate("Number(document.activeElement.dataset.topic)") == order[4]


#: Pages of every kind of content, and further ones, whose content is made of the same parts.
PAGES = ("overview", "topic/4", "doc/3", "groups/1")
FURTHER = ("map", "pair/1-2", "sure", "word/ship", "words", "chains", "predictions", "method")


@pytest.mark.parametrize(
    ("theme", "pages"),
    [
        ("light", PAGES),
        ("dark", PAGES[1:4:2]),
        pytest.param("light", FURTHER, marks=pytest.mark.nightly),
        pytest.param("dark", (*PAGES, *FURTHER), marks=pytest.mark.nightly),
    ],
    ids=["light", "dark", "light-further", "dark-all"],
)
def test_accessible_by_the_rules_of_axe(opened, theme, pages):
    from axe_playwright_python.sync_playwright import Axe

    it = opened("few", theme=theme)
    wcag = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
    rules = {
        "resultTypes": ["violations"],
        "runOnly": wcag if theme == "light" else ["color-contrast"],
    }  # all else is the same
    for address in pages:
        it.go(address)
        it.page.wait_for_timeout(60)
        found = Axe().run(it.page, options=rules).response["violations"]
        assert [(v["id"], v["nodes"][0]["html"]) for v in found] == [], address


@pytest.mark.parametrize(
    "places",
    [
        {"doc/3": 1440, "groups/1": 760, "doc/0": 320},
        pytest.param({"map": 760}, marks=pytest.mark.nightly),
    ],
    ids=["day", "map"],
)
def test_long_lists_and_narrow_columns_are_accessible_too(opened, places):
    """Lists of which a window is shown, groups with less room than a finger needs, long texts.

    Red with: words of a document that scroll on a phone, and that no key reaches.
    """
    from axe_playwright_python.sync_playwright import Axe

    it = opened("listed")
    for address, width in places.items():
        it.page.set_viewport_size({"width": width, "height": 900})
        it.go(address)
        it.page.wait_for_timeout(60)
        rules = {
            "resultTypes": ["violations"],
            "runOnly": ["aria-required-children", "target-size", "scrollable-region-focusable"],
        }
        found = Axe().run(it.page, options=rules).response["violations"]
        assert [(v["id"], v["nodes"][0]["html"]) for v in found] == [], address
    it.go("groups/1")
    assert it.page.locator("button.level").count() == 0
    it.page.locator(".groups select").select_option(label="rows by 1860")
    it.page.wait_for_selector(".level.on[title^='1860']")


def test_long_lists_show_a_window(opened):
    it = opened("hundred", address="doc/390")
    assert it.page.locator(".side-row[aria-current]").get_attribute("data-key") == "390"
    assert it.page.locator(".side-row").count() <= 300
    it.page.fill(".side-head input", "Letter 12,")
    assert it.page.locator(".side-row").count() == 1


def test_names_stay_and_can_be_taken_away(opened):
    it = opened("plain", address="topic/4")
    it.page.click("text=rename")
    it.page.fill("input.rename", "=law </script>")
    it.page.keyboard.press("Enter")
    it.page.wait_for_selector("h1:has-text('=law </script>')")
    it.page.reload()
    it.page.wait_for_selector("h1:has-text('=law </script>')")
    assert it.page.locator(".side-row[aria-current]").inner_text() == "=law </script>"
    it.go("method")
    for button, check in (
        ("labels.json", lambda text: json.loads(text) == {"4": "=law </script>"}),
        ("topics.csv", lambda text: "'=law </script>" in text and text.count("\r\n") == 21),
    ):
        with it.page.expect_download() as waiting:
            it.page.click(f"button:text-is('{button}')")
        assert check(Path(waiting.value.path()).read_bytes().decode()), button
    it.go("topic/4")
    it.page.click("text=rename")
    it.page.fill("input.rename", "")
    it.page.keyboard.press("Enter")
    it.page.wait_for_selector(f"h1:has-text('{it.made.report['topics'][4]['auto']}')")
    assert it.said == []


def test_a_chart_is_saved_by_itself(opened):
    it = opened("plain", theme="dark")
    for address in ("sure", "groups/0", "map"):
        it.go(address)
        with it.page.expect_download() as waiting:
            it.page.locator("button:text-is('SVG')").first.click()
        text = Path(waiting.value.path()).read_text(encoding="utf-8")
        assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
        assert not re.search("oklch|var\\(|class=", text)


def test_the_first_screen_is_printed_on_three_pages(opened, tmp_path):
    """With 20 topics and their documents. Red with: a list that is moved to the page of the map, and
    leaves the first page empty.
    """
    it = opened("plain")
    it.page.wait_for_selector(".dot-stage[data-dots]")
    it.page.pdf(path=tmp_path / "page.pdf", format="A4")
    assert (tmp_path / "page.pdf").read_bytes().count(b"/Type /Page\n") == 3


def test_paper_has_every_topic_in_light_and_in_vectors(opened, tmp_path):
    it = opened("hundred", theme="dark", address="map")
    it.page.wait_for_selector(".matrix canvas")
    it.page.evaluate("""() => addEventListener("beforeprint", () => {
        const dark = getComputedStyle(document.body).backgroundColor;
        const many = (what) => document.querySelectorAll(what).length;
        const heads = [...document.querySelectorAll(".paper thead th")].map((th) => th.textContent);
        window.printed = [many(".paper tbody tr"), many("main canvas"), dark, heads];
    })""")
    it.page.pdf(path=tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().count(b"/Type /Page\n") >= 4
    topics, pictures, paper, heads = it.page.evaluate("window.printed")
    assert heads == ["no.", "topic", "share of words", "words", "letters"]
    assert (topics, pictures) == (100, 0)
    assert min(map(float, re.findall(r"[\d.]+", paper)[:3])) > 240
    it.page.wait_for_selector(".matrix canvas")
