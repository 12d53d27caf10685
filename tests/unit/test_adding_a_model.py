"""docs/internals/adding-a-model.md cites the code of the skeleton as it is."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SKELETON = ROOT / "tests" / "skeletons" / "multinomial"
PAGE = (ROOT / "docs/internals/adding-a-model.md").read_text("utf-8")
EXCERPTS = re.findall(r"^```python\n# (\S+)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("name", "excerpt"), EXCERPTS, ids=[name for name, _ in EXCERPTS])
def test_an_excerpt_is_in_the_file_that_it_names(name, excerpt):
    """Red with: a factor without its power in documents.py."""
    folder = SKELETON if (SKELETON / name).exists() else ROOT / "tests"
    assert f"\n{excerpt}" in (folder / name).read_text("utf-8")


def test_every_excerpt_is_looked_at_and_every_file_is_walked_through():
    assert len(EXCERPTS) == PAGE.count("```python") > 10
    files = {path.name for path in SKELETON.glob("*.py")} - {"__init__.py"}
    assert files <= {name for name, _ in EXCERPTS}
