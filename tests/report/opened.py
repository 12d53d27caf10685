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

    def __init__(self, page: Any, path: Path, made: Made, address: str = "overview") -> None:
        self.page, self.path, self.made = page, path, made
        self.said: list[str] = []
        self.heard = {
            "console": lambda message: self.said.append(message.text),
            "pageerror": lambda error: self.said.append(str(error)),
            "dialog": lambda dialog: (self.said.append("a dialog"), dialog.dismiss()),
            "request": lambda request: self.asked(request.url),
        }
        for event, listener in self.heard.items():
            page.on(event, listener)
        self.go(address, load=True)

    def leave(self) -> None:
        """Make the page an empty one, of which nothing is stored and to which nobody listens."""
        for event, listener in self.heard.items():
            self.page.remove_listener(event, listener)
        self.page.mouse.move(0, 0)
        self.page.evaluate("localStorage.clear()")
        self.page.goto("about:blank")

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
