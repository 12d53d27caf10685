"""Pages of runs in a real Chromium: layout and accessibility of all views, opening times, panning.

    python benchmarks/page.py views PAGE... [--widths 320,820] [--axe 320,1440]
    python benchmarks/page.py opening PAGE... [--trials 6]
    python benchmarks/page.py panning PAGE... [--frames 120]

PAGE is an HTML file of `sgmc report`, `compare --html` or `search`. The extra `test` has Playwright
and axe; `CHROMIUM` names the browser.

``views`` opens every view of a page (two topics and documents, a pair, a word, all columns) at eight
widths, and at 200 % zoom, which halves the width. It prints the views that scroll horizontally, are
taller than 4,000 pixels, violate a rule of axe (at three widths; in the dark at the last of them), or
print to the console, and the number of views.

``opening`` prints the milliseconds from navigation to the first content, and until the page and all
dots of its map are drawn, and those of processor time of the page's main thread, which hardly depend
on other work of the machine: median and range of the trials, each in a new browser context.

``panning`` drags the map of documents at three times its size, and prints frames a second by the
clock, and milliseconds of the page's processor time for a frame.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WIDTHS = (320, 390, 640, 820, 1000, 1280, 1440, 1920)
AXE = (320, 820, 1440)
HEIGHT, TALLEST = 900, 4000
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

#: Addresses of all views, computed by the page itself. Pages of two runs and of a search have one view.
ADDRESSES = """async () => {
    if (typeof VIEWS === "undefined") return ["overview"];
    const rest = {
        topic: () => [report.topics[0].id, report.topics.at(-1).id],
        pair: () => report.topics.length > 1 ? [`${report.topics[0].id}-${report.topics[1].id}`] : [],
        word: async () => [encodeURIComponent((await vocabulary()).list[0])],
        doc: () => [0, report.docs.row.length - 1],
        groups: () => report.columns.map((_, i) => i),
    };
    const all = await Promise.all(VIEWS.flatMap(({ pages }) => Object.keys(pages)).map(
        async (page) => rest[page] ? (await rest[page]()).map((at) => `${page}/${at}`) : [page]));
    return [...new Set(all.flat())];
}"""
DRAWN = """() => [...document.querySelectorAll("main .drawn")].every(
    (place) => place.childElementCount || !place.clientWidth)"""
SIZE = """() => {
    const { scrollWidth, scrollHeight } = document.documentElement;
    return [scrollWidth - innerWidth, scrollHeight];
}"""
#: Milliseconds to the first content, as the browser reports it.
FIRST = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
#: Milliseconds until the page is ready and all dots are on the canvas.
READY = """(() => {
    const look = () => {
        const stage = document.querySelector(".dot-stage");
        const isReady = document.body?.dataset.ready && (!stage || stage.dataset.dots);
        if (isReady) window.readyAfter = performance.now();
        else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
})()"""
PAN = """async (frames) => {
    const canvas = document.querySelector(".dot-stage canvas");
    const drag = (type, x, y) => canvas.dispatchEvent(
        new PointerEvent(type, { clientX: x, clientY: y, buttons: 1, bubbles: true }));
    drag("pointerdown", 300, 500);
    const begin = performance.now();
    for (let i = 0; i < frames; i++) {
        await new Promise((done) => requestAnimationFrame(done));
        drag("pointermove", 300 + 90 * Math.sin(i / 9), 500 + 60 * Math.cos(i / 7));
    }
    drag("pointerup", 300, 500);
    return performance.now() - begin;
}"""


def windows(asked: argparse.Namespace) -> Iterator[tuple[str, int, int]]:
    """Yield name, width in CSS pixels and scale of each window, then those of 200 % zoom."""
    for width in asked.widths:
        yield f"{width}", width, 1
    for width in asked.widths:
        if width // 2 >= min(asked.widths) and width // 2 not in asked.widths:
            yield f"{width} at 200 %", width // 2, 2


def load(page: Any, path: Path) -> None:
    """Open the first view of a page, and wait until its figures are drawn."""
    page.goto(f"{path.resolve().as_uri()}#overview")
    page.wait_for_selector("body[data-ready]")
    page.wait_for_function(DRAWN)


def go(page: Any, address: str) -> None:
    """Open another view of the page, and wait until its figures are drawn."""
    page.evaluate("(to) => { location.hash = to; }", address)
    page.wait_for_selector(f"body[data-ready={json.dumps('#' + address)}]")
    page.wait_for_function(DRAWN)


def faults_of(page: Any, logged: list[str], rules: list[str]) -> list[str]:
    """Return the faults of the view that a page shows; `rules` are those of axe."""
    from axe_playwright_python.sync_playwright import Axe

    over, height = page.evaluate(SIZE)
    faults = [f"{over} pixels too wide"] if over > 0 else []
    faults += [f"{height} pixels tall"] if height > TALLEST else []
    if rules:
        page.wait_for_timeout(60)
        options = {"resultTypes": ["violations"], "runOnly": rules}
        for each in Axe().run(page, options=options).response["violations"]:
            faults.append(f"axe: {each['id']}: {each['nodes'][0]['html'][:160]}")
    faults += [f"console: {line}" for line in logged]
    logged.clear()
    return faults


def show_views(browser: Any, asked: argparse.Namespace) -> int:
    """Print the faults of all views of the pages; return their number."""
    n_faults, logged = 0, list[str]()
    light = [
        ("light", *window, WCAG if window[1] in asked.axe else []) for window in windows(asked)
    ]
    dark = [("dark", str(width), width, 1, WCAG) for width in asked.axe[-1:]]
    for path in asked.pages:
        n_views, n_axe, tallest = 0, 0, (0, "")
        for theme, name, width, zoom, rules in light + dark:
            context = browser.new_context(
                viewport={"width": width, "height": HEIGHT},
                device_scale_factor=zoom,
                color_scheme=theme,
                offline=True,
            )
            page = context.new_page()
            page.on("console", lambda message: logged.append(message.text))
            page.on("pageerror", lambda error: logged.append(str(error)))
            load(page, path)
            for address in page.evaluate(ADDRESSES):
                if address != "overview":
                    go(page, address)
                n_views += 1
                n_axe += bool(rules)
                where = f"{path.name} #{address}, {name}, {theme}"
                tallest = max(tallest, (page.evaluate(SIZE)[1], where))
                faults = faults_of(page, logged, rules)
                n_faults += len(faults)
                for fault in faults:
                    print(f"{where}: {fault}", flush=True)
            context.close()
        print(
            f"{path.name}: {n_views} views, {n_axe} by axe; tallest {tallest[0]}: {tallest[1]}",
            flush=True,
        )
    print(f"faults: {n_faults}")
    return n_faults


def processor_of(page: Any) -> Any:
    """Return a session that measures the processor time of a page's main thread."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    return session


def seconds_of(session: Any) -> float:
    """Return the processor seconds of a page's tasks until now."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(m["value"] for m in metrics if m["name"] == "TaskDuration")


def show_opening(browser: Any, asked: argparse.Namespace) -> int:
    """Print size and opening times of each page."""
    for path in asked.pages:
        first, ready, spent = [], [], []
        for _ in range(asked.trials):
            context = browser.new_context(viewport={"width": 1440, "height": HEIGHT})
            page = context.new_page()
            session = processor_of(page)
            page.add_init_script(READY)
            page.goto(path.resolve().as_uri())
            page.wait_for_function("() => window.readyAfter")
            ready.append(page.evaluate("() => window.readyAfter"))
            spent.append(1000 * seconds_of(session))
            first.append(page.wait_for_function(FIRST).json_value())
            context.close()
        times = [
            f"{what} {statistics.median(values):.0f} ms ({min(values):.0f} to {max(values):.0f})"
            for what, values in (("first content", first), ("ready", ready), ("processor", spent))
        ]
        print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB; {'; '.join(times)}", flush=True)
    return 0


def show_panning(browser: Any, asked: argparse.Namespace) -> int:
    """Print frames a second, and processor time of a frame, while the map is dragged."""
    for path in asked.pages:
        page = browser.new_page(viewport={"width": 1440, "height": HEIGHT})
        session = processor_of(page)
        page.goto(path.resolve().as_uri())
        page.wait_for_selector(".dot-stage[data-dots]")
        for _ in range(3):
            page.get_by_role("button", name="larger").click()
        begin = seconds_of(session)
        elapsed = page.evaluate(PAN, asked.frames)
        spent = 1000 * (seconds_of(session) - begin) / asked.frames
        print(
            f"{path.name}: {1000 * asked.frames / elapsed:.0f} frames a second; "
            f"{spent:.1f} ms of processor time a frame"
        )
        page.close()
    return 0


def main() -> None:
    """Run the requested measurement."""
    parser = argparse.ArgumentParser()
    parts = parser.add_subparsers(required=True)
    views, opening, panning = map(parts.add_parser, ("views", "opening", "panning"))
    for part, show in ((views, show_views), (opening, show_opening), (panning, show_panning)):
        part.add_argument("pages", nargs="+", type=Path)
        part.set_defaults(show=show)
    numbers = lambda text: [int(part) for part in text.split(",")]  # noqa: E731
    views.add_argument("--widths", type=numbers, default=list(WIDTHS))
    views.add_argument("--axe", type=numbers, default=list(AXE))
    opening.add_argument("--trials", type=int, default=6)
    panning.add_argument("--frames", type=int, default=120)
    asked = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        faults = asked.show(browser, asked)
        browser.close()
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
