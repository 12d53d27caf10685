"""A report's page opened in a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from report.made import Made

#: Figures are drawn a frame after their page stands: every place that has a width has its drawing.
DRAWN = """() => [...document.querySelectorAll("main .drawn")].every(
    (place) => place.childElementCount || !place.clientWidth)"""


class Opened:
    """A page, with everything that it logged or requested."""

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
        """Open an address, and wait until the page and its figures are drawn."""
        if load:
            self.page.goto(f"{self.path.as_uri()}#{address}")
        else:
            self.page.evaluate("(to) => { location.hash = to; }", address)
        self.page.wait_for_selector(f"body[data-ready={json.dumps('#' + address)}]")
        self.page.wait_for_function(DRAWN)

    def text(self) -> str:
        return self.page.inner_text("main")
