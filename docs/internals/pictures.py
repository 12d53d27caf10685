"""Takes the pictures of pages in docs/img, of runs that it trains: in a minute.

    pip install '.[test]'
    python docs/internals/pictures.py [BROWSER]

The browser is a Chromium.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
DATA = HERE.parents[1] / "data"
BIBLE = DATA / "docword.bible.txt.gz"

#: What is typed in an empty folder, so that the pages are there.
COMMANDS = (
    (
        "train",
        "-k",
        20,
        "--chains",
        4,
        BIBLE,
        "--metadata",
        DATA / "chapters.bible.csv",
        "--out",
        "bible",
    ),
    ("report", "bible", "--noun", "chapters", "--title", "King James Bible", "-o", "bible.html"),
    ("train", "-k", 10, BIBLE, "--out", "ten"),
    ("train", "-k", 20, BIBLE, "--out", "twenty"),
    ("compare", "ten", "twenty", "--html", "compare.html"),
)

#: Pictures, and the addresses that they show.
PICTURES = {
    "report-overview": "bible.html#",
    "report-topic": "bible.html#topic/4",
    "report-groups": "bible.html#groups/0",
    "compare-bible": "compare.html#",
}


def main() -> None:
    """Train, write the pages and take their pictures."""
    browser = sys.argv[1] if len(sys.argv) > 1 else shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder:
        for command in COMMANDS:
            subprocess.run(
                [sys.executable, "-m", "pysgrld", *map(str, command)], cwd=folder, check=True
            )
        with sync_playwright() as playwright:
            opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
            for name, address in PICTURES.items():
                page = opened.new_page(viewport={"width": 1440, "height": 900})
                page.goto(f"file://{folder}/{address}")
                page.wait_for_load_state("networkidle")
                page.wait_for_timeout(800)  # figures are drawn a frame after their page stands
                page.screenshot(path=HERE.parent / "img" / f"{name}.png")
            opened.close()


if __name__ == "__main__":
    main()
