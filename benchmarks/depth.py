"""How deep the modules are: files, functions and imports of pysgrld and cli, and what a command enters.

    python benchmarks/depth.py               a line for each part, then all of it
    python benchmarks/depth.py run ARGS...   how many functions of how many files ``sgmc ARGS...`` enters
    python benchmarks/depth.py value X ARGS...  and which have an argument that holds the number X

An argument holds a number if it is the number, or if a field, an element or an attribute of it holds
it, to four levels; give a number that occurs nowhere else, as in ``value 0.0123457 train t.txt
--step-size 0.0123457``.

A part is a folder or a module right below pysgrld, or cli. Code lines are those without comments,
docstrings and blank lines. An arrow is an import from one part in another; a part stands a floor above
the highest that it imports.
"""

from __future__ import annotations

import ast
import contextlib
import io
import statistics
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
NOTHING = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Module(NamedTuple):
    """A source file: its part of the project, code lines, lengths of functions, and imported parts."""

    part: str
    lines: int
    functions: list[int]
    imports: set[str]


def modules() -> Iterator[Module]:
    for path in sorted([*ROOT.glob("pysgrld/**/*.py"), *ROOT.glob("cli/**/*.py")]):
        place = path.relative_to(ROOT).parts
        if place[:2] == ("pysgrld", "cli"):  # a link to cli/
            continue
        text = path.read_text()
        tree = ast.parse(text)
        code: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type not in NOTHING:
                code.update(range(token.start[0], token.end[0] + 1))
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)) and ast.get_docstring(node):
                code -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
        lengths = [
            len(code & set(range(node.lineno, node.end_lineno + 1)))
            for node in ast.walk(tree)
            if isinstance(node, FUNCTIONS)
        ]
        named = {
            f"{node.module}.{alias.name}".split(".")[1]
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pysgrld")
            for alias in node.names
        }
        part = "cli" if place[0] == "cli" else place[1].removesuffix(".py")
        yield Module(part, len(code), lengths, named - {part})


def table() -> None:
    parts: dict[str, list[Module]] = defaultdict(list)
    for module in modules():
        parts[module.part].append(module)
    print(f"{'part':14} files  lines  functions  for 1,000 lines: functions, files")
    everything = [module for found in parts.values() for module in found]
    for name, found in [*sorted(parts.items()), ("all", everything)]:
        lines, functions = sum(m.lines for m in found), sum(len(m.functions) for m in found)
        each = f"{1000 * functions / lines:8.0f} {1000 * len(found) / lines:8.1f}"
        print(f"{name:14} {len(found):5} {lines:6} {functions:10} {each:>31}")
    lengths = [length for module in everything for length in module.functions]
    arrows = {
        name: {i for m in found for i in m.imports if i in parts} for name, found in parts.items()
    }
    floors: dict[str, int] = {}

    def floor(name: str) -> int:
        if name not in floors:
            floors[name] = 0  # of a circle, which the tests refuse
            floors[name] = 1 + max((floor(below) for below in arrows[name]), default=0)
        return floors[name]

    print(f"median function {statistics.median(lengths):.0f} lines, longest {max(lengths)}")
    drawn = sum(map(len, arrows.values()))
    print(f"{len(parts)} parts on {max(map(floor, parts))} floors, {drawn} arrows")


#: Levels of fields, elements and attributes in which a number is looked for.
LEVELS = 4
#: Calls of a function whose arguments are looked at.
CALLS = 20


def holds(argument: object, value: float, levels: int = LEVELS) -> bool:
    if isinstance(argument, float):
        return argument == value
    if levels == 0 or isinstance(argument, (str, bytes, int, type)):
        return False
    if isinstance(argument, dict):
        parts = argument.values()
    elif isinstance(argument, (tuple, list)):
        parts = argument[:100]
    elif type(argument).__module__.startswith("pysgrld"):
        slots = [n for n in getattr(type(argument), "__slots__", ()) if hasattr(argument, n)]
        parts = [*vars(argument).values()] if hasattr(argument, "__dict__") else []
        parts += [getattr(argument, name) for name in slots]
    else:
        return False
    return any(holds(part, value, levels - 1) for part in parts)


def entered(arguments: list[str], value: float | None = None) -> None:
    seen: set[tuple[str, str]] = set()
    holding: set[tuple[str, str]] = set()
    calls: Counter[tuple[str, str]] = Counter()

    def look(frame, event, _):
        code, place = frame.f_code, frame.f_code.co_filename.rfind("/pysgrld/")
        if (
            event == "call"
            and place >= 0
            and code.co_flags & 2
            and not code.co_name.startswith("<")
        ):
            function = code.co_filename[place:], code.co_qualname
            seen.add(function)
            calls[function] += 1
            if value is not None and function not in holding and calls[function] <= CALLS:
                sys.setprofile(None)
                names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
                if any(holds(frame.f_locals.get(name), value) for name in names):
                    holding.add(function)
                sys.setprofile(look)

    import pysgrld.__main__ as program

    sys.argv = ["sgmc", *arguments]
    sys.setprofile(look)
    with contextlib.suppress(SystemExit):
        program.main()
    sys.setprofile(None)
    print(f"{len(seen)} functions of {len({file for file, _ in seen})} files were entered")
    if value is not None:
        print(
            f"{len(holding)} functions of {len({file for file, _ in holding})} files hold {value:g}:"
        )
        for file, name in sorted(holding):
            print(f"  {file}: {name}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["run", *arguments]:
            entered(arguments)
        case ["value", number, *arguments]:
            entered(arguments, float(number))
        case _:
            table()
