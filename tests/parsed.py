"""Python files as syntax trees, which several files of tests look at."""

import ast
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path


@contextmanager
def without_collections() -> Iterator[None]:
    """Make many objects in a third of the time: garbage collection would visit them repeatedly."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@cache
def tree(path: Path) -> ast.Module:
    with without_collections():
        return ast.parse(path.read_text("utf-8"))


@cache
def nodes(path: Path) -> list[ast.AST]:
    with without_collections():
        return list(ast.walk(tree(path)))
