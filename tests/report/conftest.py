"""A real browser for report pages: made-up reports, opened from files, without a network.

Tests are skipped where Chromium or Playwright is missing; where CHROMIUM names one (.ci/run), it must
be there.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

import pytest
from report.made import Made
from report.made_kinds import KINDS
from report.opened import Opened

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


@pytest.fixture(scope="package")
def browser():
    if MISSING and "CHROMIUM" not in os.environ:
        pytest.skip(f"not installed: {', '.join(MISSING)}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # without the process that others are forked from, pages cost a tenth less
        given = ["--no-sandbox", "--no-zygote"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=given)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="package")
def empty_pages(browser):
    """Pages that tests have left empty. Others take them, because a new one takes half a second."""
    pages = []
    yield pages
    for page in pages:
        page.context.close()


@pytest.fixture
def opened(browser, empty_pages, made_up):
    given = []

    def at(kind: str, width: int = 1440, theme: str = "light", address: str = "overview") -> Opened:
        page = empty_pages.pop() if empty_pages else browser.new_context(offline=True).new_page()
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)
        given.append(Opened(page, *made_up(kind), address))
        return given[-1]

    yield at
    for it in given:
        it.leave()
        empty_pages.append(it.page)
