"""Runs the cells of a notebook, and stores their outputs: ``python docs/internals/notebook.py``."""

from __future__ import annotations

import ast
import base64
import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[1] / "first-topics.ipynb"
#: Dots per inch of a stored picture.
_DPI = 70


def run_cells(
    notebook: dict[str, Any], change: Callable[[str], str] = lambda source: source
) -> Iterator[tuple[dict[str, Any], Any]]:
    """Run the code cells in one namespace, and yield each with the value of its last line.

    Parameters
    ----------
    notebook : dict
    change : callable (source)
        Returns the source that is run instead of a cell's.
    """
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            tree = ast.parse(change("".join(cell["source"])))
            shown = tree.body.pop()
            assert isinstance(shown, ast.Expr)
            exec(compile(tree, "cell", "exec"), names)
            yield cell, eval(compile(ast.Expression(shown.value), "cell", "eval"), names)


def output_of(value: Any, count: int) -> dict[str, Any]:
    """Return the value of a cell as a notebook shows it: a picture, HTML, or text."""
    data = {"text/plain": repr(value).splitlines(keepends=True)}
    if hasattr(value, "savefig"):
        picture = io.BytesIO()
        value.savefig(picture, format="png", dpi=_DPI)
        data["image/png"] = base64.b64encode(picture.getvalue()).decode() + "\n"
    elif html := getattr(value, "_repr_html_", lambda: None)():
        data["text/html"] = html.splitlines(keepends=True)
    return {"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data}


def main() -> None:
    """Run the notebook, and write it with its outputs."""
    notebook = json.loads(NOTEBOOK.read_text())
    os.chdir(NOTEBOOK.parent)
    for count, (cell, value) in enumerate(run_cells(notebook), 1):
        cell["execution_count"], cell["outputs"] = count, [output_of(value, count)]
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
