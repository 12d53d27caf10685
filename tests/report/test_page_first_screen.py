"""The first screen: the finding in words, every document as a dot, the topics."""

from __future__ import annotations

import pytest

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
    """Three states, the same in the list, in the table and on the page of a topic."""
    assert "Trained once: whether these topics come back is not known" in opened("plain").text()
    it = opened("chains")
    marks = {"again": "●", "partly": "◐", "alone": "○"}
    states = {t["id"]: t["trust"]["state"] for t in it.made.report["topics"]}
    assert len(set(states.values())) > 1
    back = sum(state != "alone" for state in states.values())
    assert f"Trained 4 times: {back} of the 20 came back" in it.text()
    for row in it.page.locator("a.subject").all():
        topic = int(row.get_attribute("href").removeprefix("#topic/"))
        assert row.locator(".back").inner_text()[0] == marks[states[topic]]
    it.go("sure")
    for row in it.page.locator("table.topics tbody tr").all():
        topic = int(row.locator(".c-id").inner_text())
        assert row.locator(".pill").inner_text()[0] == marks[states[topic]]
        assert (row.locator(".pill.good").count() == 1) == (states[topic] == "again")
    for topic, state in states.items():
        it.go(f"topic/{topic}")
        assert (it.page.locator(".trust .sign.good").count() == 1) == (state == "again")


def test_topics_groups_and_titles_light_documents_up(opened):
    """Red with: a choice that changes no dot."""
    it = opened("plain")
    all_dots = drawn(it)
    it.page.hover("a.subject >> nth=2")
    assert 0 < drawn(it) < all_dots
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


@pytest.mark.parametrize("width", [320, 390, 640, 820, 1000, 1280, 1440, 1920])
def test_no_view_is_wide_or_endless(opened, width):
    """With 20 topics. Red with: names of the table of topics in a column without a width, at 820 px."""
    it = opened("chains", width=width)
    for address in (
        "overview",
        "sure",
        "topic/4",
        "map",
        "words",
        "doc/3",
        "groups/0",
        "chains",
        "method",
    ):
        it.go(address)
        over, height = it.page.evaluate(
            "[document.documentElement.scrollWidth - innerWidth, document.documentElement.scrollHeight]"
        )
        assert over <= 0, address
        assert height <= 4000, (address, height)


def test_on_a_phone_the_topics_come_before_the_map(opened):
    it = opened("plain", width=390)
    places = [
        it.page.locator(name).bounding_box()["y"]
        for name in (".glance", ".subjects-card", ".dot-card")
    ]
    assert places == sorted(places)


def test_a_page_that_has_a_sample_says_so(opened):
    """In the list, in its filter and in the search."""
    it = opened("plain")
    it.go("documents")
    told = f"{len(it.made.report['docs']['row'])} of {it.made.report['docs']['of']:,} letters"
    assert told in it.page.locator(".side > .remark").inner_text()
    it.page.fill(".side-head input", "nothing has this name")
    assert told in it.page.locator(".side-list").inner_text()
    it.page.fill(".search input", "nothing has this name")
    it.page.wait_for_selector("#hits .none")
    assert told in it.page.locator("#hits").inner_text()
