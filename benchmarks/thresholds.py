"""Change every module-level threshold and default of the package, and list those that no test notices.

A constant is a name in capitals at the top of a module that is a number, or an arithmetic of
numbers. Each is made a fifth larger and a fifth smaller (a whole number by one at least), and each
comparison with it is turned (< for <=, > for >=), in a copy of the package. The tests that run are
those that import its module, or name it.

    python benchmarks/thresholds.py [--only pysgrld/reading] [--minutes 60] [-o thresholds.json]
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
#: Seconds after which tests are said to notice, as they do not end; most files of tests that run.
HANGS, MOST = 240, 6
#: Comparisons, and what each is turned into.
TURNED = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


class Mutant(NamedTuple):
    """A change of one place in one file."""

    path: str
    line: int
    name: str
    what: str
    start: int
    end: int
    text: str


def constants(path: Path) -> dict[str, ast.expr]:
    """Return the module-level names in capitals that are numbers, with their values."""
    found: dict[str, ast.expr] = {}
    for node in ast.parse(path.read_text()).body:
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            both = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            pairs = (
                list(zip(target.elts, node.value.elts, strict=False))
                if both
                else [(target, node.value)]
            )
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            pairs = [(node.target, node.value)]
        for name, value in pairs:
            if (
                isinstance(name, ast.Name)
                and re.fullmatch("_?[A-Z][A-Z0-9_]*", name.id)
                and is_number(value)
            ):
                found[name.id] = value
    return found


def is_number(node: ast.expr) -> bool:
    """Return whether an expression is an arithmetic of numbers."""
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float)
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    return isinstance(node, ast.BinOp) and is_number(node.left) and is_number(node.right)


def mutants(path: Path, root: Path) -> Iterator[Mutant]:
    """Yield the changes of the constants of a module, and of the comparisons with them in it."""
    source = path.read_text()
    ends = [0]
    for line in source.splitlines(keepends=True):
        ends.append(ends[-1] + len(line.encode()))
    known, where = constants(path), str(path.relative_to(root))
    for name, node in known.items():
        value = eval(ast.unparse(node))
        start, end = _span(node, ends)
        for factor in (1.2, 0.8):
            new = value * factor
            if isinstance(value, int):
                new = round(new) if round(new) != value else value + (1 if factor > 1 else -1)
            yield Mutant(where, node.lineno, name, f"{value:g} to {new:g}", start, end, repr(new))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in TURNED:
            sides = node.left, node.comparators[0]
            names = [
                n.id
                for side in sides
                for n in ast.walk(side)
                if isinstance(n, ast.Name) and n.id in known
            ]
            if names:
                (_, left), (right, _) = (_span(side, ends) for side in sides)
                kind = type(node.ops[0])
                between = source.encode()[left:right].decode()
                text = between.replace(_SIGNS[kind], TURNED[kind], 1)
                what = f"{_SIGNS[kind]} to {TURNED[kind]}"
                yield Mutant(where, node.lineno, names[0], what, left, right, text)


def _span(node: ast.expr, ends: list[int]) -> tuple[int, int]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return ends[node.lineno - 1] + node.col_offset, ends[node.end_lineno - 1] + node.end_col_offset


def tests_of(mutant: Mutant, texts: dict[str, str]) -> list[str]:
    """Return the files of tests that name a constant beside its module, or import the module."""
    module = mutant.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    module = f"pysgrld.{module}" if module.startswith("cli") else module
    parent, _, stem = module.rpartition(".")
    imports = re.compile(rf"{re.escape(module)}\b|from {re.escape(parent)} import [^\n]*\b{stem}\b")
    word = re.compile(rf"\b{mutant.name}\b")
    here = [name for name, text in texts.items() if imports.search(text)]
    named = [name for name in here if word.search(texts[name])]
    like = [
        name
        for name in texts
        if f"/test_{parent.rpartition('.')[2]}_{stem}" in name or f"/test_{stem}" in name
    ]
    return list(dict.fromkeys([*named, *like, *here]))[:MOST]


def noticed(mutant: Mutant, copy: Path, tests: list[str]) -> bool:
    """Return whether a test fails in a copy of the package that has the change."""
    path = copy / mutant.path
    good = path.read_bytes()
    path.write_bytes(good[: mutant.start] + mutant.text.encode() + good[mutant.end :])
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-n",
        "0",
        *tests,
    ]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, timeout=HANGS, check=False
        )
        return done.returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_bytes(good)


def main() -> int:
    """Try mutants until the time is over, and print those that no test notices."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="files whose path begins with this")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, default=0, help="of the order in which they are tried")
    parser.add_argument("--list", action="store_true", help="print the mutants, and try none")
    parser.add_argument("-o", "--out", type=Path)
    asked = parser.parse_args()
    until = time.monotonic() + 60 * asked.minutes
    files = sorted([*(ROOT / "pysgrld").rglob("*.py"), *(ROOT / "cli").rglob("*.py")])
    files = [path for path in files if not path.is_symlink() and "pysgrld/cli/" not in str(path)]
    found = [m for path in files for m in mutants(path, ROOT) if m.path.startswith(asked.only)]
    random.Random(asked.seed).shuffle(found)
    if asked.list:
        print(*(f"{m.path}:{m.line} {m.name} {m.what}" for m in found), sep="\n")
        return 0
    texts = {
        str(p.relative_to(ROOT)): p.read_text() for p in sorted((ROOT / "tests").rglob("test_*.py"))
    }
    texts = {name: text for name, text in texts.items() if "/golden/" not in name}
    rows: list[dict[str, object]] = []

    def work(job: int) -> None:
        with tempfile.TemporaryDirectory(prefix="thresholds-") as name:
            copy = Path(name) / "copy"
            skipped = shutil.ignore_patterns(
                ".git", "__pycache__", ".*_cache", "build", "results", "img"
            )
            shutil.copytree(ROOT, copy, symlinks=True, ignore=skipped)
            for at in range(job, len(found), asked.jobs):
                if time.monotonic() > until:
                    return
                tests = tests_of(found[at], texts)
                seen = bool(tests) and noticed(found[at], copy, tests)
                mutant = found[at]
                rows.append(
                    {
                        "place": f"{mutant.path}:{mutant.line}",
                        "name": mutant.name,
                        "what": mutant.what,
                        "tests": len(tests),
                        "noticed": seen,
                    }
                )

    with ThreadPoolExecutor(asked.jobs) as pool:
        list(pool.map(work, range(asked.jobs)))
    missed = [row for row in rows if not row["noticed"]]
    print(f"{len(rows):,} of {len(found):,} changes tried, {len(missed):,} that no test notices")
    for row in sorted(missed, key=lambda row: str(row["place"])):
        print(row["place"], row["name"], row["what"], f"({row['tests']} files of tests)")
    if asked.out:
        asked.out.write_text(json.dumps({"changes": len(found), "tried": rows}, indent=1))
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
