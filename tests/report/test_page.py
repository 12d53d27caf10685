"""The page of a report in a real browser: made-up reports, opened from files, without a network.

Skipped where Chromium or Playwright is missing; where CHROMIUM names one (.ci/run), it must be there.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner
from report.made import HOSTILE, KINDS, SPAN, Made

from pysgrld.cli import main
from pysgrld.report.making import page_of

CHROMIUM = (
    os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
)
MISSING = [
    *([] if CHROMIUM else ["Chromium"]),
    *(
        name
        for name in ("playwright", "axe_playwright_python")
        if not importlib.util.find_spec(name)
    ),
]
pytestmark = pytest.mark.skipif(
    bool(MISSING) and "CHROMIUM" not in os.environ, reason=f"not installed: {', '.join(MISSING)}"
)
SMALL = ["plain", "chains", "deep", "mixture", "directions", "bare", "hostile"]
#: Figures are drawn a frame after their page stands: every place that has a width has its drawing.
DRAWN = """() => [...document.querySelectorAll("main .drawn")].every(
    (place) => place.childElementCount || !place.clientWidth)"""
BROKEN = [
    "topic/99999",
    "topic/x",
    "word/%E0%A4",
    "doc/-1",
    "doc/1e9",
    "pair/1",
    "pair/-",
    "groups/77",
    "__proto__",
    "constructor/x",
    "%",
]


class Opened:
    """A page, and all that it said or asked for."""

    def __init__(self, page: Any, path: Path, made: Made) -> None:
        self.page, self.path, self.made = page, path, made
        self.said: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: (self.said.append("a dialog"), dialog.dismiss()))
        page.on("request", lambda request: self.asked(request.url))
        self.go("overview", load=True)

    def asked(self, url: str) -> None:
        if url.split("#")[0] != self.path.as_uri() and not url.startswith("blob:"):
            self.said.append(f"asked for {url}")

    def go(self, address: str, load: bool = False) -> None:
        """Open an address, and wait until its page stands and its figures are drawn."""
        if load:
            self.page.goto(f"{self.path.as_uri()}#{address}")
        else:
            self.page.evaluate("(to) => { location.hash = to; }", address)
        self.page.wait_for_selector(f"body[data-ready={json.dumps('#' + address)}]")
        self.page.wait_for_function(DRAWN)

    def text(self) -> str:
        return self.page.inner_text("main")


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    """Reports as files, each made once."""
    folder, done = tmp_path_factory.mktemp("pages"), {}

    def of(kind: str) -> tuple[Path, Made]:
        if kind not in done:
            made, path = KINDS[kind](), folder / f"{kind}.html"
            path.write_bytes(page_of(made.report, made.blocks))
            done[kind] = path, made
        return done[kind]

    return of


@pytest.fixture
def opened(browser, made_up):
    contexts = []

    def at(kind: str, width: int = 1440, theme: str = "light") -> Opened:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, offline=True
        )
        contexts.append(context)
        return Opened(context.new_page(), *made_up(kind))

    yield at
    for context in contexts:
        context.close()


def addresses(made: Made) -> list[str]:
    """Every kind of page that a report has."""
    report = made.report
    some = ["overview", "topics", "topic/1", "pair/0-1", "method"]
    some += ["map"] * bool(report["map"]) + ["words", "word/" + quote(made.words[0], safe="")]
    some += ["documents", "doc/3"] * bool(report["docs"])
    some += ["layers"] * bool(report["layers"]) + ["components"] * bool(report["components"])
    some += ["chains"] * bool(report["chains"])
    some += ["predictions"] * bool(report["predictions"])
    return some + [f"groups/{i}" for i in range(len(report["columns"]))]


@pytest.mark.parametrize("kind", SMALL)
def test_every_page_opens_from_a_file_in_silence(opened, kind):
    """No line on the console, no request, no dialog, no sideways scrolling; no name without data."""
    it = opened(kind)
    names = it.page.locator("nav.pages a").evaluate_all(
        "(links) => links.map((a) => a.dataset.page)"
    )
    some = {"map", "layers", "components", "chains", "predictions"}
    asked = some & {a.split("/")[0] for a in addresses(it.made)}
    assert asked == set(names) & some
    for width in (1440, 400):
        it.page.set_viewport_size({"width": width, "height": 900})
        for address in addresses(it.made):
            it.go(address)
            it.page.evaluate(
                "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
            )
            over = it.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert over <= 0, (address, width)
            assert len(it.text()) > 60, address
    assert it.said == []


def test_broken_addresses_say_so(opened):
    it = opened("hostile")
    for address in BROKEN:
        it.go(address)
        assert re.search("not here|not among the words", it.text(), re.IGNORECASE), address
    it.go("overview")
    assert it.page.locator("table.topics tbody tr").count() == 20
    assert it.said == []


def test_missing_parts_are_named(opened):
    it = opened("bare")
    for address in ("overview", "method"):
        it.go(address)
        assert all(line in it.text() for line in it.made.report["missing"])


def test_inner_html_is_refused(opened):
    it = opened("plain")
    tried = it.page.evaluate(
        "() => { try { document.body.innerHTML = '<b>x</b>'; } catch (e) { return e.name; } }"
    )
    assert tried == "TypeError"
    ran = it.page.evaluate(
        """() => {
            const node = document.createElement("b");
            try { node.setAttribute("onclick", "x = 1"); node.click(); } catch (e) {}
            return window.x;
        }"""
    )
    assert ran is None


def seen(word: str) -> str:
    """How a hostile word must be shown: signs that nobody sees by their numbers, cut at 80."""
    text = re.sub(
        "[\x00-\x1f\u200b-\u200f\u2028-\u202e\ufeff]", lambda m: f"\\u{ord(m[0]):04x}", word
    )
    text = "\\u0020" if text == " " else text
    return text if len(text) <= 80 else text[:79] + "…"


def test_hostile_words_are_found_and_shown(opened):
    it = opened("hostile")
    for word in HOSTILE:
        it.page.fill("[role=combobox]", seen(word).rstrip("…"))
        hit = (
            it.page.locator("#hits [role=option] .cut > bdi")
            .get_by_text(seen(word), exact=True)
            .first
        )
        hit.wait_for()
        assert hit.text_content() == seen(word)
        it.go("word/" + quote(word, safe=""))
        assert it.page.locator("input.ask").input_value().startswith(seen(word).rstrip("…"))
        assert "uses of" in it.text()
    titles = it.page.evaluate("document.title")
    assert "<script>" in titles
    assert it.page.locator("script").count() == 2 + len(it.made.blocks)
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


def test_the_slider_orders_as_the_oracle(opened):
    it = opened("plain")
    it.go("topic/2")
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
    it = opened("plain")
    it.go("map")
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


@pytest.mark.parametrize("kind", ["plain", "hundred"])
def test_names_on_the_map_cover_no_circle(opened, kind):
    it = opened(kind)
    it.go("map")
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
    it = opened("slim")
    curve = it.page.locator("svg[aria-label^='Perplexity against']")
    rings = curve.locator("circle.series")
    assert rings.evaluate_all("(all) => all.map((c) => c.getBBox().width)") == [6, 6]
    assert rings.evaluate_all("(all) => all.map((c) => getComputedStyle(c).fill)") == ["none"] * 2
    assert curve.locator("path.series:not(.level)").count() == 0


def test_a_topic_says_whether_to_trust_it(opened):
    """Found again and at rest, as the report has it; what drifting means is a click away."""
    it = opened("chains")
    topics = it.made.report["topics"]
    drifting = next(t for t in topics if t["trust"]["drift"])
    for topic in (drifting, *topics):
        it.go(f"topic/{topic['id']}")
        told = it.page.locator(".trust").inner_text()
        trust = topic["trust"]
        assert trust["head"] in told
        assert trust["text"] in told
        assert ("drift" in told) == bool(trust["drift"])
        assert (it.page.locator(".trust .sign.good").count() == 1) == trust["good"]
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


def test_predictions_are_the_report_s_and_a_loss_is_hollow(opened):
    """Red with: a bar to the right for what is worse than word frequencies."""
    it = opened("plain")
    it.go("predictions")
    rows = it.page.locator("table.shared tbody tr")
    for row, group in zip(rows.all(), it.made.report["predictions"]["groups"], strict=True):
        text = row.inner_text().replace("\u00a0", " ")
        assert f"{group['from']} – {group['to']}" in text
        assert group["score"] in text
        assert f"{100 * group['mean']:.0f} % (".replace("-", "−") in text
        assert row.locator(".hollow").count() == (group["mean"] < 0)


def test_what_has_no_intervals_is_not_called_sure(opened):
    it = opened("slim")
    it.go("topic/1")
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
    it = opened("plain")
    it.go("words")
    cut = it.page.locator(".lead-topic .cut").evaluate_all(
        "(all) => all.filter((n) => n.scrollWidth > n.clientWidth).map((n) => n.textContent)"
    )
    assert it.page.locator(".lead-topic .cut").count() > 20
    assert cut == []
    it.go("documents")
    assert any(it.made.report["docs"]["held"])
    assert "In italics: held out, not trained on." in it.page.locator(".side").inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_accessible_by_the_rules_of_axe(opened, theme):
    from axe_playwright_python.sync_playwright import Axe

    it = opened("chains", theme=theme)
    wcag = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
    rules = {"runOnly": wcag if theme == "light" else ["color-contrast"]}  # all else is the same
    for address in (
        "overview",
        "topic/4",
        "map",
        "word/ship",
        "words",
        "doc/3",
        "groups/1",
        "chains",
        "predictions",
        "method",
        "pair/1-2",
    ):
        it.go(address)
        it.page.wait_for_timeout(60)
        found = Axe().run(it.page, options=rules).response["violations"]
        assert [(v["id"], v["nodes"][0]["html"]) for v in found] == [], address


def test_long_lists_and_narrow_columns_are_accessible_too(opened):
    """Lists of which a window is shown, and groups with less room than a finger needs."""
    from axe_playwright_python.sync_playwright import Axe

    it = opened("hundred")
    for address, width in (("doc/3", 1440), ("groups/1", 760), ("map", 760)):
        it.page.set_viewport_size({"width": width, "height": 900})
        it.go(address)
        it.page.wait_for_timeout(60)
        rules = {"runOnly": ["aria-required-children", "target-size"]}
        found = Axe().run(it.page, options=rules).response["violations"]
        assert [(v["id"], v["nodes"][0]["html"]) for v in found] == [], address
    it.go("groups/1")
    assert it.page.locator("button.level").count() == 0
    it.page.locator(".groups select").select_option(label="rows by 1860")
    it.page.wait_for_selector(".level.on[title^='1860']")


def test_names_stay_and_can_be_taken_away(opened):
    it = opened("plain")
    it.go("topic/4")
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
    for address in ("overview", "groups/0", "map"):
        it.go(address)
        with it.page.expect_download() as waiting:
            it.page.locator("button:text-is('SVG')").first.click()
        text = Path(waiting.value.path()).read_text(encoding="utf-8")
        assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
        assert not re.search("oklch|var\\(|class=", text)


def test_paper_has_every_topic_in_light_and_in_vectors(opened, tmp_path):
    it = opened("hundred", theme="dark")
    it.go("map")
    it.page.wait_for_selector(".matrix canvas")
    it.page.evaluate("""() => addEventListener("beforeprint", () => {
        const dark = getComputedStyle(document.body).backgroundColor;
        const many = (what) => document.querySelectorAll(what).length;
        window.printed = [many(".paper tbody tr"), many("main canvas"), dark];
    })""")
    it.page.pdf(path=tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().count(b"/Type /Page\n") >= 4
    topics, pictures, paper = it.page.evaluate("window.printed")
    assert (topics, pictures) == (100, 0)
    assert min(map(float, re.findall(r"[\d.]+", paper)[:3])) > 240
    it.page.wait_for_selector(".matrix canvas")


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
    it = opened("plain")
    it.go("groups/0")
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


def test_long_lists_show_a_window(opened):
    it = opened("hundred")
    it.go("doc/390")
    assert it.page.locator(".side-row[aria-current]").get_attribute("data-key") == "390"
    assert it.page.locator(".side-row").count() <= 300
    it.page.fill(".side-head input", "Letter 12,")
    assert it.page.locator(".side-row").count() == 1


def test_a_real_run_on_hostile_documents_is_shown_and_harms_nothing(browser, tmp_path):
    """Titles, texts and columns of JSON lines, read, trained on and reported as a person would."""
    from pysgrld.report.making import report

    rng = np.random.default_rng(0)
    themes = [[f"{theme}{i}" for i in range(30)] for theme in ("north", "south")]
    lines = []
    for i in range(3 * len(HOSTILE)):
        title = HOSTILE[i % len(HOSTILE)]
        words = [*rng.choice(themes[i % 2], 40), title[:50].replace("\0", "0")]
        text = " ".join([*words, "<script>alert(1)</script>"])
        record = {"id": f"<i>{i}", "title": title, "text": text, "__proto__": HOSTILE[i % 5]}
        lines.append(json.dumps(record))
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("\n".join(lines))
    options = {"topics": 2, "iterations": 120, "warm-up": 5, "min-df": 1, "max-df": 1.0}
    options |= {"out": str(tmp_path / "run"), "meta-field": "__proto__", "threads": 1}
    typed = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    done = CliRunner().invoke(main, ["train", "-q", *typed, str(corpus)])
    assert done.exit_code == 0, done.output
    page = tmp_path / "report.html"
    page.write_bytes(report(tmp_path / "run").html)
    context = browser.new_context(offline=True)
    try:
        it = Opened(context.new_page(), page, KINDS["bare"]())
        for address in ("topics", "topic/0", "map", "words", "documents", "groups/0", "method"):
            it.go(address)
            assert len(it.text()) > 60, address
        it.go("documents")
        for shown in ("</script>", "<img src=x onerror=alert(1)>", "__proto__", "\\u202egnp.exe"):
            assert shown in it.text()
        for place in range(6):
            it.go(f"doc/{place}")
            assert "<script>alert(1)</script>" in it.text()
        assert it.said == []
    finally:
        context.close()
