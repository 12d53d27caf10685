"""The comparison page in a real browser: silent, searchable by words, narrow, accessible."""

from pathlib import Path

import pytest
from report.made import HOSTILE

from pysgrld.report.compare.comparison import ComparedTopics, Comparison, OwnWord, Side, page_of


def hostile(rows=104):
    """Two runs with hostile names and words, and more rows than are shown at first."""

    def side(run):
        names = {k: HOSTILE[k % len(HOSTILE)] + f" {k}" for k in range(rows)}
        path = Path(run)
        return Side(path, "lda", "scir", "topic", 1, rows, 50, 9, 5, 3, False, names, {}, 0.25)

    def row(k):
        own = tuple(OwnWord(word, k % 2 == 0) for word in HOSTILE[::2])
        both, shares = tuple(HOSTILE[1::2]), (0.1, None, 0.5, 0.0)
        if k == 0:
            return ComparedTopics(
                "split", (0,), (0, 1), 0.9, (0.6, 0.3), 0.8, None, *shares, both, own, own
            )
        if k % 40 == 39:
            return ComparedTopics("gone", (k,), (), 0.2, (), 0.1, 3, *shares, (), own, ())
        return ComparedTopics("one to one", (k,), (k,), 0.5, (), 0.6, None, *shares, both, own, own)

    topics = tuple(row(k) for k in range(rows))
    return Comparison(side("<b>left"), side("right\u202e"), 40, topics, None, ("a note <i>",))


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.nightly)])
def test_the_page_is_silent_narrow_and_can_be_searched(browser, tmp_path, theme):
    """Red with: a word as markup; a table that is wider than 400 px; pale ink on a pill of any kind; a
    fixed number of rows at first, which are 6,700 px tall at some widths.
    """
    from axe_playwright_python.sync_playwright import Axe

    path, said = tmp_path / "page.html", []
    path.write_bytes(page_of(hostile()))
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme=theme)
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append("a dialog"))
    page.on("request", lambda request: said.append(request.url))
    page.goto(path.as_uri())
    rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
    articles = page.locator("article")
    first = articles.count()
    assert 8 <= first <= 20
    page.get_by_role("button", name="show more of 104").click()
    assert articles.count() == first + 20
    page.get_by_role("searchbox").fill("&lt;b&gt; 17")
    assert articles.count() == 1
    assert "&lt;b&gt; 17" in articles.inner_text()
    assert Axe().run(page, options=rules).response["violations"] == []
    page.get_by_role("searchbox").fill("no such word")
    assert "No topic has this word or number." in page.inner_text("main")
    page.get_by_role("searchbox").fill("")
    page.locator("select").select_option("split")
    assert articles.count() == 1
    assert "0.60 alone" in articles.inner_text()
    rules = {"runOnly": ["color-contrast"]}  # all else is the same
    assert Axe().run(page, options=rules).response["violations"] == []
    page.locator("select").select_option("gone")
    assert Axe().run(page, options=rules).response["violations"] == []
    for width in (400, 820):
        page.set_viewport_size({"width": width, "height": 900})
        page.reload()
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert articles.count() >= 4
        assert page.evaluate("document.documentElement.scrollHeight") <= 4000
    assert said == 3 * [path.as_uri()]
    context.close()
