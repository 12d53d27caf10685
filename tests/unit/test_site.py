"""The site's pages: every link leads to a page that is there, and every public name has a place."""

import importlib.util
import re
from pathlib import Path

import pytest

import pysgrld

STAGE = Path(__file__).parents[2] / "docs/site/stage.py"


@pytest.fixture(scope="module")
def stage():
    spec = importlib.util.spec_from_file_location("stage", STAGE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(stage, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "pages"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["stage.py", str(folder)])
        stage.main()
    return folder


def test_links_lead_to_pages_of_the_site(pages):
    """Red with: links of the README as they are in the sources; links out of docs left as links."""
    gone = []
    for page in pages.rglob("*.md"):
        for target in re.findall(r"\]\(([^()\s#]+)(?:#[^()\s]*)?\)", page.read_text()):
            if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists():
                gone.append((page.name, target))
    assert gone == []
    assert "getting-started.md" in (pages / "index.md").read_text()


def test_every_public_name_has_a_page(stage):
    named = {what.rpartition(".")[2] for _, what in stage.API.values()}
    assert {*pysgrld.__all__} - {"__version__"} <= named


def test_every_page_for_users_is_in_the_head_of_the_site(stage, pages):
    named = set(" ".join(stage.PARTS.values()).split())
    there = {page.stem for page in pages.glob("*.md")} - {"index"}
    assert there <= named
    assert all((pages / f"{name}.md").is_file() for name in named)


def test_a_link_to_a_file_of_the_sources_becomes_its_name(stage):
    files = stage.staged()
    source = stage.ROOT / "docs/internals/design.md"
    said = stage.linked(
        "See [a test](../../tests/conftest.py).", source, "internals/design.md", files
    )
    assert said == "See a test (`tests/conftest.py`)."
    said = stage.linked("[Runs](../run-directory.md#files)", source, "internals/design.md", files)
    assert said == "[Runs](../run-directory.md#files)"
