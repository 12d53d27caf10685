"""Who may import whom: the arrows of docs/design.md."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pysgrld

PACKAGE = Path(pysgrld.__file__).parent
#: What a part may never know of.
FORBIDDEN = {
    "corpus": ("pysgrld.samplers", "pysgrld.models", "pysgrld.run", "pysgrld.train"),
    "samplers": ("pysgrld.run", "pysgrld.corpus", "pysgrld.train", "pysgrld.evaluate"),
    "models": ("pysgrld.run", "pysgrld.corpus", "pysgrld.train", "pysgrld.evaluate"),
    "simplex": ("pysgrld.run", "pysgrld.corpus", "pysgrld.train", "pysgrld.models"),
    "run": ("pysgrld.samplers", "pysgrld.models", "pysgrld.corpus", "pysgrld.train"),
    "evaluate": ("pysgrld.run", "pysgrld.train", "pysgrld.samplers"),
}


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("part", FORBIDDEN)
def test_no_part_imports_what_is_downstream_of_it(part):
    files = sorted((PACKAGE / part).rglob("*.py"))
    assert files
    for path in files:
        wrong = [m for m in imports(path) if m.startswith(FORBIDDEN[part])]
        assert not wrong, f"{path.name} imports {wrong}"


def test_click_and_tqdm_are_imported_in_the_command_line_only():
    for path in PACKAGE.rglob("*.py"):
        if "cli" not in path.relative_to(PACKAGE).parts:
            assert not imports(path) & {"click", "tqdm"}, path.name


def test_the_tables_of_options_and_of_samplers_name_the_same_samplers():
    from pysgrld.begin import CHAINS
    from pysgrld.chain import Chain
    from pysgrld.models import MODELS
    from pysgrld.options import ALGORITHMS
    from pysgrld.options import MODELS as MODEL_NAMES
    from pysgrld.samplers import SAMPLERS

    assert list(ALGORITHMS) == list(SAMPLERS)
    assert list(MODEL_NAMES) == list(CHAINS)
    assert list(MODELS) == [name for name, kind in CHAINS.items() if kind is Chain]
