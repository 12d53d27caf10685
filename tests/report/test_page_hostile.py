"""The report's page with hostile or missing address, names, words or documents."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

import numpy as np
import pytest
from click.testing import CliRunner
from command_words import typed
from report.made import HOSTILE
from report.made_kinds import KINDS
from report.opened import Opened

from pysgrld.cli import main

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


def test_broken_addresses_say_so(opened):
    it = opened("hostile")
    for address in BROKEN:
        it.go(address)
        assert re.search("not here|not among the words", it.text(), re.IGNORECASE), address
    it.go("overview")
    assert it.page.locator("a.subject").count() == 20
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
    """Return how a hostile word must be shown: invisible characters as numbers, cut at 80."""
    text = re.sub(
        "[\x00-\x1f\u200b-\u200f\u2028-\u202e\ufeff]", lambda m: f"\\u{ord(m[0]):04x}", word
    )
    text = "\\u0020" if text == " " else text
    return text if len(text) <= 80 else text[:79] + "…"


@pytest.mark.parametrize(
    "words", [HOSTILE[::2], pytest.param(HOSTILE, marks=pytest.mark.nightly)], ids=["half", "all"]
)
def test_hostile_words_are_found_and_shown(opened, words):
    it = opened("hostile")
    for word in words:
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


def test_a_real_run_on_hostile_documents_is_shown_and_harms_nothing(browser, tmp_path):
    """Titles, texts and columns of JSON lines, read, trained on and reported as by a user."""
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
    options = {"topics": 2, "iterations": 60, "starts": 1, "warm-up": 5, "min-df": 1, "max-df": 1.0}
    options |= {"out": str(tmp_path / "run"), "meta-field": "__proto__", "threads": 1}
    done = CliRunner().invoke(main, ["train", "-q", *typed(options), str(corpus)])
    assert done.exit_code == 0, done.output
    page = tmp_path / "report.html"
    page.write_bytes(report(tmp_path / "run").html)
    context = browser.new_context(offline=True)
    try:
        it = Opened(context.new_page(), page, KINDS["bare"]())
        for address in ("topics", "topic/0", "map", "words", "groups/0", "method"):
            it.go(address)
            assert len(it.text()) > 60, address
        it.go("documents")
        for shown in ("</script>", "<img src=x onerror=alert(1)>", "__proto__", "\\u202egnp.exe"):
            assert shown in it.text()
        for place in range(3):
            it.go(f"doc/{place}")
            assert "<script>alert(1)</script>" in it.text()
        assert it.said == []
    finally:
        context.close()
