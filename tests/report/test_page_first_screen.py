"""The first screen: the result in words, every document as a dot, the topics."""

from __future__ import annotations

import importlib
import re

import numpy as np
import pytest
from report.made_kinds import KINDS

from pysgrld.report.making import page_of
from pysgrld.report.page_file import Packed

DARK = """() => {
    const canvas = document.querySelector(".dot-stage canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let coloured = 0;
    for (let i = 0; i < data.length; i += 4) {
        const rgb = [data[i], data[i + 1], data[i + 2]];
        coloured += data[i + 3] > 60 && Math.max(...rgb) - Math.min(...rgb) > 30;
    }
    return coloured;
}"""


def drawn(it):
    it.page.wait_for_selector(".dot-stage[data-dots]")
    it.page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    return it.page.evaluate(DARK)


def test_one_chain_says_so_and_several_say_what_came_back(opened):
    """Three states, the same in the list, in the tables and on the page of a topic.

    Red with: green overlaps of topics that a further chain may not find.
    """
    assert "Trained once: whether these topics come back is not known" in opened("plain").text()
    it = opened("chains")
    marks = {"again": "●", "partly": "◐", "alone": "○"}
    states = {t["id"]: t["trust"]["state"] for t in it.made.report["topics"]}
    assert len(set(states.values())) > 1
    numbers = {state: list(states.values()).count(state) for state in marks}
    assert "Trained 4 times: of 20 topics" in it.text()
    told = {
        "again": "came back, and would again in 9 of 10 trainings",
        "partly": "came back, but may not again",
        "alone": "hardly came back: do not rely on them",
    }
    for state, words in told.items():
        assert (f"{numbers[state]} {words}" in it.text()) == (numbers[state] > 0)
    shown = it.page.locator("a.subject").evaluate_all(
        "(all) => all.map((a) => [a.hash, a.querySelector('.back').innerText[0]])"
    )
    assert dict(shown) == {f"#topic/{topic}": marks[state] for topic, state in states.items()}
    it.go("sure")
    shown = it.page.locator("table.topics tbody tr").evaluate_all("""(all) => all.map((row) => [
        Number(row.querySelector(".c-id").innerText), row.querySelector(".pill").innerText[0],
        row.querySelectorAll(".pill.good").length])""")
    assert sorted(shown) == [
        [topic, marks[state], int(state == "again")] for topic, state in sorted(states.items())
    ]
    it.go("chains")
    shown = it.page.locator("table.shared tbody tr").evaluate_all("""(all) => all.map((row) => [
        row.querySelector("a.topic-link").hash, row.querySelectorAll(".pill.good").length])""")
    assert shown
    for link, good in shown:
        assert good == (states[int(link.removeprefix("#topic/"))] == "again")
    for state, topic in {state: topic for topic, state in states.items()}.items():
        it.go(f"topic/{topic}")
        assert (it.page.locator(".trust .sign.good").count() == 1) == (state == "again")
        assert it.page.locator("article .pill.good").count() == 0


def test_the_headline_names_the_first_topics_of_the_list(opened):
    """Red with: topics that are the main topic of many short documents, the smallest of the list."""
    it = opened("plain")
    topics = it.made.report["topics"]
    largest = sorted(topics, key=lambda topic: -topic["weight"][0])[:3]
    heading = it.page.locator("h1").inner_text()
    places = [heading.index(topic["label"].split(" · ")[0]) for topic in largest]
    assert places == sorted(places)
    assert "the largest topics: " in heading
    # The name is a block, so that a comma behind it would begin a line of a phone.
    name = it.page.locator(".lead bdi").first.inner_text()
    assert name == f"{largest[0]['label']},"


def test_a_noun_that_begins_with_a_vowel_has_its_article(browser, made_up, tmp_path):
    """Red with: a article."""
    (_, made), path = made_up("chains"), tmp_path / "page.html"
    path.write_bytes(page_of(made.report | {"noun": ["article", "articles"]}, made.blocks))
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-ready]")
    assert "Each dot is an article." in page.inner_text("main")
    assert page.locator("input[role=combobox]").get_attribute("placeholder").startswith("Find an a")
    page.close()


def test_topics_groups_and_titles_light_documents_up(opened):
    """Red with: a choice that changes no dot; words of a topic that are put in as one list."""
    it = opened("plain")
    all_dots = drawn(it)
    it.page.hover("a.subject >> nth=2")
    assert 0 < drawn(it) < all_dots
    address = it.page.locator("a.subject >> nth=2").get_attribute("href")
    topic = next(t for t in it.made.report["topics"] if address == f"#topic/{t['id']}")
    assert " ".join(topic["top"]) in it.page.locator(".dot-card .readout").inner_text()
    it.page.mouse.move(5, 5)
    assert drawn(it) == all_dots
    select = it.page.get_by_role("combobox", name="letters on the map")
    select.select_option("2")
    assert 0 < drawn(it) < all_dots
    it.page.get_by_role("combobox", name="letters on the map").select_option("")
    it.page.fill(".search input", "letter 12,")
    assert 0 < drawn(it) < all_dots / 10
    it.page.fill(".search input", "")
    it.page.get_by_role("button", name="larger").click()
    assert drawn(it) != all_dots
    # the browser remarks on this test's own reading of the canvas
    assert [line for line in it.said if "getImageData" not in line] == []


def test_a_map_that_has_been_replaced_is_not_drawn(opened):
    """Red with: a frame that reads the colours of a map that is no longer on the page."""
    it = opened("plain")
    drawn(it)
    it.page.evaluate(
        """() => new Promise((done) => {
            document.querySelector("a.subject").dispatchEvent(new Event("pointerenter"));
            document.querySelector("main").replaceChildren();
            requestAnimationFrame(() => requestAnimationFrame(done));
        })"""
    )
    assert it.said == []


def test_a_dot_tells_of_its_document_and_opens_it(opened):
    it = opened("plain")
    it.page.wait_for_selector(".dot-stage[data-dots]")
    place = it.page.evaluate("""async () => {
        const dots = await dotsOfCorpus(), canvas = document.querySelector(".dot-stage canvas");
        const frame = canvas.getBoundingClientRect();
        const inside = (from, size, u) => from + 20 + u / 65535 * (size - 40);
        return [inside(frame.left, frame.width, dots.x[7]), inside(frame.top, frame.height, dots.y[7])];
    }""")
    it.page.mouse.move(*place)
    it.page.wait_for_function(
        "() => !document.querySelector('.dot-card .readout').textContent.startsWith('Point')"
    )
    title = it.page.locator(".dot-card .readout b").first.inner_text()
    i = it.made.report["docs"]["title"].index(title)
    it.page.mouse.click(*place)
    it.page.wait_for_selector(f'body[data-ready="#doc/{i}"]')


VIEWS = ("overview", "sure", "topic/4", "map", "words", "doc/3", "groups/0", "chains", "method")


@pytest.mark.parametrize(
    "views",
    [
        # by day views at widths at which they differ, and all of them on a phone
        {320: VIEWS, 820: ("sure", "topic/4", "map", "groups/0", "chains"), 1280: ("overview",)},
        pytest.param(
            dict.fromkeys((390, 640, 820, 1000, 1280, 1440, 1920), VIEWS), marks=pytest.mark.nightly
        ),
    ],
    ids=["day", "night"],
)
def test_no_view_is_wide_or_endless(opened, views):
    """With 20 topics, at 200 % zoom too, which halves the width. Red with: names of the table of topics
    in a column without a width, at 820 px; definitions of full height, at 320 px; names of views
    that stay in the row of the title, at 1280 px.
    """
    it = opened("chains", width=min(views))
    for width, addresses in views.items():
        it.page.set_viewport_size({"width": width, "height": 900})
        for address in addresses:
            it.go(address)
            over, height = it.page.evaluate(
                "(({ scrollWidth, scrollHeight }) => [scrollWidth - innerWidth, scrollHeight])"
                "(document.documentElement)"
            )
            assert over <= 0, (address, width)
            assert height <= 4000, (address, width, height)
        cut = it.page.evaluate("nav.scrollWidth - nav.clientWidth")
        assert width < 640 or cut <= 0, width


def test_a_topic_with_long_names_is_not_endless(opened):
    """Red with: five documents at 640 px, as on a wide page: 4,111 pixels."""
    it = opened("hostile", 640, address="topic/0")
    assert it.page.evaluate("document.documentElement.scrollHeight") <= 4000


def test_on_a_phone_the_topics_come_before_the_map(opened):
    it = opened("plain", width=390)
    places = [
        it.page.locator(name).bounding_box()["y"]
        for name in (".glance", ".subjects-card", ".dot-card")
    ]
    assert places == sorted(places)


def test_names_on_the_map_of_a_phone_are_whole(browser, made_up, tmp_path):
    """Red with: the width of a name as its number of letters times 6.6 pixels."""
    (_, made), path = made_up("chains"), tmp_path / "page.html"
    topics = [topic | {"label": f"Mmmmmmm · Wwwww{topic['id']}"} for topic in made.report["topics"]]
    path.write_bytes(page_of(made.report | {"topics": topics}, made.blocks))
    page = browser.new_page(viewport={"width": 390, "height": 900})
    page.goto(path.as_uri())
    page.wait_for_selector(".dot-names span")
    outside = """() => {
        const stage = document.querySelector(".dot-stage").getBoundingClientRect();
        return [...document.querySelectorAll(".dot-names span")].filter((name) => {
            const { left, right } = name.getBoundingClientRect();
            return left < stage.left || right > stage.right;
        }).length;
    }"""
    assert page.evaluate(outside) == 0
    page.close()


def test_a_page_that_has_a_sample_says_so(opened):
    """In the list, in its filter and in the search."""
    it = opened("plain", address="documents")
    told = f"{len(it.made.report['docs']['row'])} of {it.made.report['docs']['of']:,} letters"
    assert told in it.page.locator(".side > .remark").inner_text()
    it.page.fill(".side-head input", "nothing has this name")
    assert told in it.page.locator(".side-list").inner_text()
    it.page.fill(".search input", "nothing has this name")
    it.page.wait_for_selector("#hits .none")
    assert told in it.page.locator("#hits").inner_text()


def test_a_text_names_the_topics_of_its_words_without_colour(opened):
    """By underline, and by name to the pointer and to arrow keys. Red with: colour alone."""
    it = opened("plain", address="doc/3")
    line = it.page.locator(".reader mark").first.evaluate(
        "(m) => getComputedStyle(m).textDecorationLine"
    )
    assert line == "underline"
    names = {t["id"]: t["label"] for t in it.made.report["topics"]}
    it.page.focus(".reader")
    for _ in range(3):
        it.page.keyboard.press("ArrowRight")
        topic = int(it.page.locator(".reader mark.at").get_attribute("data-topic"))
        assert names[topic] in it.page.locator("article .readout").inner_text()
    it.page.locator(".reader mark >> nth=7").hover()
    topic = int(it.page.locator(".reader mark >> nth=7").get_attribute("data-topic"))
    assert names[topic] in it.page.locator("article .readout").inner_text()
    like = it.page.locator("section:has(h2:text('like this one')) a").first.inner_text()
    thetas = it.page.evaluate("async () => (await contents()).map((c) => c.theta)")
    roots = np.zeros((len(thetas), 20))
    for i, theta in enumerate(thetas):
        for k, share, *_ in theta:
            roots[i, k] = share**0.5
    affinity = roots @ roots[3]
    affinity[3] = -1
    assert like == it.made.report["docs"]["title"][int(affinity.argmax())]


COLOURS = """() => {
    const cells = [...document.querySelectorAll(".field svg path")];
    return [...document.querySelectorAll(".field .written")].map((text) => {
        const { x, y, width, height } = text.getBoundingClientRect();
        const middle = new DOMPoint(x + width / 2, y + height / 2);
        const isUnder = (cell) => cell.isPointInFill(
            middle.matrixTransform(cell.getScreenCTM().inverse()));
        return [text, cells.find(isUnder)].map((node) => getComputedStyle(node).fill);
    });
}"""


def luminance(colour):
    """Return the relative luminance of "rgb(1, 2, 3)" by WCAG 2."""
    rgb = np.array([int(x) / 255 for x in re.findall(r"\d+", colour)[:3]])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("theme", [pytest.param("light", marks=pytest.mark.nightly), "dark"])
def test_figures_in_cells_are_read(opened, theme):
    """Contrast 4.5 in every coloured cell. Red with: a dark grey on tints of middle lightness."""
    it = opened("plain", theme=theme, address="groups/0")
    pairs = it.page.evaluate(COLOURS)
    assert len(pairs) == 100
    for text, cell in pairs:
        dark, light = sorted(map(luminance, (text, cell)))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (text, cell)


def test_uses_are_of_training_documents_and_lines_of_all(opened):
    """Red with: 103 uses in the corpus, next to 110 lines of which some are held out."""
    it = opened("plain", address="word/ship")
    documents = it.made.report["words_of"]
    assert f"uses of “ship” in the {documents:,} training letters" in it.text()
    assert "Passages of the texts on this page, held-out texts included, by the topic" in it.text()


def test_the_address_keeps_the_view(opened):
    """Red with: a link that opens the usual order of words or all documents; a value that is chosen
    again and thereby left.
    """
    it = opened("plain", address="topic/2")
    it.page.locator("input[type=range]").fill("0.2")
    words = it.page.locator("table.words tbody th").all_inner_texts()
    assert it.page.evaluate("location.hash") == "#topic/2?lambda=0.2"
    it.go("overview")
    for _ in range(2):  # a second choice of the same value keeps it
        it.page.get_by_role("combobox", name="letters on the map").select_option("2")
    it.page.get_by_role("combobox", name="order").select_option("share")
    it.page.wait_for_function("location.hash.includes('share')")
    address = it.page.evaluate("location.href")
    assert "level=2" in address
    assert "lambda=0.2" in address
    other = opened("plain")
    other.page.goto(address.replace("#overview", "#topic/2"))
    other.page.reload()
    other.page.wait_for_selector('body[data-ready="#topic/2"]')
    assert other.page.locator("table.words tbody th").all_inner_texts() == words
    other.go("overview")
    expect = importlib.import_module("playwright.sync_api").expect
    expect(other.page.get_by_role("combobox", name="letters on the map")).to_have_value("2")
    expect(other.page.get_by_role("combobox", name="order")).to_have_value("share")


def test_an_address_keeps_its_choices_while_another_page_is_made(opened):
    """Red with: a page that writes its own choices into an address that has changed meanwhile."""
    it = opened("plain")
    address = "#topic/2?lambda=0.2"
    render = "(to) => { dispatchEvent(new Event('named')); location.hash = to; }"
    it.page.evaluate(render, address)
    it.page.wait_for_selector('body[data-ready="#topic/2"]')
    assert it.page.evaluate("location.hash") == address


def test_heads_of_values_stand_over_their_squares(opened):
    """Also where the squares are wider than their card. Red with: heads as wide as the card."""
    it = opened("plain", address="overview")
    for square in ("18px", "120px"):
        it.page.evaluate(
            f"document.querySelector('.subjects-card').style.setProperty('--square', '{square}')"
        )
        places = [
            it.page.locator(which).evaluate_all(
                "(all) => all.map((one) => one.getBoundingClientRect().x)"
            )
            for which in (".heads span", ".subject >> nth=0 >> .squares i")
        ]
        assert len(places[0]) > 1
        assert np.allclose(*places, atol=1.0), square


def test_layers_are_an_icicle_with_names(opened):
    """Cells of one layer are as wide as their shares. Red with: cells of one width."""
    it = opened("deep", address="layers")
    nodes = it.made.report["layers"]
    cells = it.page.locator(".layer-icicle > .icicle > div")
    wide = cells.evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().width)")
    shares = np.array([node["share"] for node in nodes])
    assert np.allclose(np.array(wide) / sum(wide), shares / shares.sum(), atol=0.01)
    for cell, node in zip(cells.all(), nodes, strict=True):
        assert cell.locator("> span").inner_text() == " · ".join(node["words"][:3])


@pytest.mark.parametrize("width", [390, pytest.param(1280, marks=pytest.mark.nightly)])
def test_an_icicle_stays_in_its_card_without_single_letters(opened, width):
    """Red with: padding that makes narrow boxes wider than their shares; text in boxes of 15 pixels."""
    it = opened("deep", width, address="layers")
    end = it.page.locator(".layer-icicle").evaluate("(one) => one.getBoundingClientRect().right")
    boxes = it.page.locator(".icicle span").evaluate_all("""(all) => all.map((one) => {
        const { right, width } = one.getBoundingClientRect();
        return [right, width, getComputedStyle(one).color];
    })""")
    assert max(right for right, _, _ in boxes) <= end + 1
    narrow = [colour for _, wide, colour in boxes if wide < 40]
    assert narrow
    assert set(narrow) == {"rgba(0, 0, 0, 0)"}


def test_no_name_is_under_the_buttons_of_the_map(opened):
    """Red with: names placed where the buttons are; a third word in a list without room for it."""
    it = opened("plain", 390)
    it.page.wait_for_selector(".dot-stage[data-dots]")
    assert it.page.locator(".subject .cut").first.inner_text().count(" · ") == 1
    overlaps = it.page.evaluate("""async () => {
        const dots = await dotsOfCorpus();
        // a topic whose dots are all behind the buttons
        report.topics.forEach((topic) => { topic.spot = [0.97, 0.01]; });
        document.querySelector(".dot-tools button").click();
        document.querySelector(".dot-tools button:last-child").click();
        await new Promise((done) => setTimeout(done, 300));
        const tools = document.querySelector(".dot-tools").getBoundingClientRect();
        return [...document.querySelectorAll(".dot-names span")].map((name) => {
            const box = name.getBoundingClientRect();
            return box.right > tools.left && box.top < tools.bottom - 4;
        });
    }""")
    assert overlaps
    assert not any(overlaps)


def test_names_of_slices_are_below_their_points(opened):
    """Red with: names that begin at the point, and a last name at the end of the axis."""
    it = opened("slim", 1280, address="time/0")
    middles = it.page.evaluate("""() => {
        const chart = document.querySelector("main svg");
        const line = chart.querySelector("path.line").getBoundingClientRect();
        const names = report.slices.names.map((name) => [...chart.querySelectorAll("text.tick")]
            .find((one) => one.textContent === name).getBoundingClientRect());
        return [names.map(({ left, right }) => (left + right) / 2), line.left, line.right];
    }""")
    names, first, last = middles
    assert np.allclose([names[0], names[-1]], [first, last], atol=3)


def test_similar_topics_are_named_whole(opened):
    """Red with: two lists side by side, in which names are cut after eight letters."""
    it = opened("plain", 1280, address="topic/0")
    cut = it.page.locator(".near .cut").evaluate_all(
        "(all) => all.map((one) => one.scrollWidth > one.clientWidth)"
    )
    assert len(cut) == 8
    assert not any(cut)


def test_the_lines_of_a_word_fill_a_wide_page(opened):
    """Red with: four lines of a word of one topic, on a page that is otherwise empty."""
    it = opened("plain", 1280)
    word = it.page.evaluate("""async () => {
        const words = await vocabulary(), all = await contents();
        const uses = (word) => new Set(linesOf(word, all).map((line) => line.topic)).size;
        const texts = (word) => new Set(linesOf(word, all).map((line) => line.doc)).size;
        return words.list.find((word) => uses(word) === 1 && texts(word) > 8);
    }""")
    it.go(f"word/{word}")
    assert it.page.locator(".lines .line").count() > 8


def with_many_dots(documents):
    """Make the plain report with the given number of documents on its map."""
    made, rng = KINDS["plain"](), np.random.default_rng(0)
    names = [" ".join(rng.choice(made.words, 3)) for _ in range(documents)]
    topic, spot = rng.integers(0, 20, documents), rng.random((20, 2))
    points = np.clip(spot[topic] + rng.normal(0, 0.06, (documents, 2)), 0, 1)
    mean = rng.beta(3, 3, documents)
    dots = Packed().add("row", "u32", np.ones(documents)).add("topic", "u16", topic)
    for name, values in zip("xy", points.T, strict=True):
        dots.add(name, "u16", values * 65535)
    for name, values in (("mean", mean), ("low", mean - 0.1), ("high", mean + 0.1)):
        dots.add(name, "u8", np.clip(values, 0, 1) * 255)
    dots.add("name", "utf8", "\n".join(names).encode())
    best = Packed().add("level", "u8", topic % 5)
    many = {"documents": documents, "laid_out": documents, "of": documents}
    report = made.report | {"dots": made.report["dots"] | many}
    report["blocks"] = report["blocks"] | {"dots": dots.parts, "best": best.parts}
    return page_of(report, made.blocks | {"dots": dots.packed(), "best": best.packed()})


PAN = """async () => {
    const canvas = document.querySelector(".dot-stage canvas");
    const drag = (type, x, y) => canvas.dispatchEvent(
        new PointerEvent(type, { clientX: x, clientY: y, buttons: 1, bubbles: true }));
    drag("pointerdown", 300, 500);
    for (let i = 0; i < 60; i++) {
        await new Promise((done) => requestAnimationFrame(done));
        drag("pointermove", 300 + 90 * Math.sin(i / 9), 500 + 60 * Math.cos(i / 7));
    }
}"""


@pytest.mark.nightly
def test_a_hundred_thousand_documents_open_and_move_soon(browser, tmp_path):
    """Return the page's processor time, which does not depend on other work of the machine.

    Red with: a path for each dot.
    """
    path = tmp_path / "many.html"
    path.write_bytes(with_many_dots(100_000))
    assert path.stat().st_size < 10_000_000
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def seconds():
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in metrics if one["name"] == "TaskDuration")

    page.goto(path.as_uri())
    page.wait_for_selector(".dot-stage[data-dots='100000']")
    assert seconds() < 1.0
    for _ in range(3):
        page.get_by_role("button", name="larger").click()
    begin = seconds()
    page.evaluate(PAN)
    assert (seconds() - begin) / 60 < 1 / 30
    page.close()
